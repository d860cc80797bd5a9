"""Users' own tables, CSV and NPZ. Plug-ins may use these loaders, too, with the options that they declare."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import scipy.sparse

from ..dataset import Content, Part
from ..entry import Request
from ..errors import DataError
from ..kinds import NUMERIC
from ..readers import delimited, npz
from ..readers.columns import Column
from .labels import encode, kind_of, numbers_or_texts

CLASSES_LAST = "put the classes in the last column, or name their column with the option label"
LABEL_A_ROW = "give a whole number or a text a row, or rows of 0 and 1"
#: Texts of a column, at most, that may each stand in few rows.
FEW_TEXTS = 20


def csv(request: Request) -> Content:
    """Load a user's own file, csv:PATH, and a test part from a second file if there is one."""
    options, (path, *others) = request.options, request.paths
    drop, targets = _names(options.get("drop")), _names(options.get("target"))
    weighing = options.get("weights")
    if targets and options.get("label"):
        raise DataError("Options label and target both name a column: give label for classes, else target.")
    first, more = (targets[0], targets[1:]) if targets else (options.get("label"), [])
    given = {"header": options.get("header", "auto"), "drop": drop, "progress": request.progress}
    train = delimited.read(path, label=first, **given)
    tables = [train, *(delimited.read(other, **given, like=train) for other in others)]
    labels = [_labels(train, table) for table in tables]
    where = f"{path.name}: {train.layout.name(train.layout.label)}, the column of labels,"
    kind = "regression" if targets else options.get("kind", "auto")
    kind = kind_of(kind, labels[0], where, CLASSES_LAST)
    request.progress("making features", None)
    own = (_name(train.layout, train.layout.label),) if kind in NUMERIC else ()
    for name in more:
        place, tables, columns = _taken(path, tables, name, "the targets of a regression")
        labels = [np.column_stack(pair) for pair in zip(labels, columns, strict=True)]
        kind, own = "multitask", (*own, place)
    weights = None
    if weighing:
        if _place(path, train.layout, weighing) == train.layout.label:
            raise DataError(
                f"{path.name}: {weighing} cannot be the column of weights and that of labels: name that of "
                "labels by the option label or target."
            )
        _, tables, weights = _taken(path, tables, weighing, "sample weights")
    matrices, names = _features(path, tables)
    content = _content(kind, matrices, labels, names, weights=weights)
    return replace(content, label_names=own or content.label_names)


def _names(given: str | None) -> list[str]:
    """Split the value of an option that lists names, NAME,NAME."""
    return [name.strip() for name in (given or "").split(",") if name.strip()]


def _name(layout: delimited.TableLayout, place: int) -> str:
    return layout.names[place] if layout.names else f"x{place + 1}"


def _place(path: Path, layout: delimited.TableLayout, called: str) -> int:
    return delimited.column_called(path, called, layout.names, layout.width)


def _taken(
    path: Path, tables: list[delimited.DelimitedTable], called: str, what: str
) -> tuple[str, list[delimited.DelimitedTable], list[np.ndarray]]:
    """Remove a numeric column from all tables; return its name, the remaining tables, and the column of each.

    Raises DataError if the column is not a numeric column of features. ``what`` describes it in the message.
    """
    layout = tables[0].layout
    name = _name(layout, _place(path, layout, called))
    rest, found = [], []
    for table in tables:
        if name not in table.names:
            raise DataError(f"{path.name}: column {name} is named twice, or left out by the option drop.")
        k = table.names.index(name)
        names, columns = list(table.names), list(table.columns)
        column = columns.pop(k)
        del names[k]
        if not isinstance(column, np.ndarray):
            raise DataError(f"{path.name}: {name} holds texts: {what} are numbers.")
        rest.append(replace(table, names=tuple(names), columns=columns))
        found.append(column)
    return name, rest, found


def _labels(train: delimited.DelimitedTable, table: delimited.DelimitedTable) -> np.ndarray:
    """Return the label of each row, as the name of its class if the file lists such names."""
    classes, values = train.layout.classes, table.labels.values
    if classes and all(value.isdecimal() and int(value) < len(classes) for value in values):
        values = [classes[int(value)] for value in values]
    texts = numbers_or_texts(train.labels.values).dtype.kind == "U"
    return (np.array(values) if texts else numbers_or_texts(values))[table.labels.codes]


def _content(
    kind: str,
    matrices: list[np.ndarray | scipy.sparse.csr_matrix],
    labels: list[np.ndarray],
    feature_names: tuple[str, ...] = (),
    *,
    picture_shape: tuple[int, int] | None = None,
    weights: list[np.ndarray] | None = None,
) -> Content:
    """Return the content of matrices with one label per row, and with sample weights if there are any.

    Raises DataError if one part has strings as labels and the other numbers.
    """
    if len({part.dtype.kind == "U" for part in labels}) > 1:
        raise DataError(
            "One of training and test part has texts for labels, the other numbers: give both alike."
        )
    codes, names = encode(kind, *labels)
    train, test = _parts(matrices, codes, weights)
    return Content(train, names, feature_names, test=test, kind=kind, picture_shape=picture_shape)


def _parts(matrices: list[Any], labels: list[Any], weights: list[np.ndarray] | None) -> list[Any]:
    """Return the training part, and the test part or None."""
    of_parts = weights or [None] * len(labels)
    parts = [Part(X, y, None, own) for X, y, own in zip(matrices, labels, of_parts, strict=True)]
    return [*parts, None][:2]


def _features(
    path: Path, tables: list[delimited.DelimitedTable]
) -> tuple[list[np.ndarray | scipy.sparse.csr_matrix], tuple[str, ...]]:
    """Return the features of each table, and their names.

    A column of strings becomes an indicator column for each string that occurs in training. The matrices are
    dense if all columns are numeric.
    """
    train = tables[0]
    if not train.columns:
        raise DataError(f"{path.name} has no column besides the one of labels: give features.")
    if all(isinstance(column, np.ndarray) for column in train.columns):
        return [np.stack(cast(list[np.ndarray], table.columns), axis=1) for table in tables], train.names
    names, starts = list[str](), list[int]()
    for name, column in zip(train.names, train.columns, strict=True):
        starts.append(len(names))
        if isinstance(column, np.ndarray):
            names.append(name)
            continue
        found, n = len(column.values), len(column.codes)
        if found > FEW_TEXTS and 2 * found > n:
            raise DataError(
                f"{path.name}: column {name} has {found:,} different texts in {n:,} rows; delete it, or "
                "leave it out with the option drop."
            )
        names += [f"{name}={value}" for value in column.values]
    return [_one_hot(train, table, starts, len(names)) for table in tables], tuple(names)


def _one_hot(
    train: delimited.DelimitedTable, table: delimited.DelimitedTable, starts: list[int], d: int
) -> scipy.sparse.csr_matrix:
    n = len(table.labels.codes)
    places, values = np.empty((n, len(starts)), np.int32), np.ones((n, len(starts)))
    for c, (start, known, column) in enumerate(zip(starts, train.columns, table.columns, strict=True)):
        if isinstance(column, Column):
            assert isinstance(known, Column)  # both parts have one layout
            numbers = {value: start + k for k, value in enumerate(known.values)}
            places[:, c] = np.array([numbers.get(value, -1) for value in column.values], np.int32)[
                column.codes
            ]
        else:
            places[:, c], values[:, c] = start, column
    there = (places >= 0) & (values != 0)
    indptr = np.concatenate([[0], np.cumsum(there.sum(1))])
    # places grow with the columns, so rows are sorted
    return scipy.sparse.csr_matrix((values[there], places[there], indptr), (n, d))


def arrays(request: Request) -> Content:
    """Load a user's own file, npz:PATH; the test part is in the same file or a second one, if
    there is one."""
    kind, (path, *others) = request.options.get("kind", "auto"), request.paths
    given = {"progress": request.progress, "weights": request.options.get("weights")}
    train, test, known = npz.read_samples(path, **given)
    if others:
        test = npz.read_samples(others[0], **given)[0]
        if test.X.shape[1:] != train.X.shape[1:]:
            raise DataError(f"{others[0].name} has samples of another shape than {path.name}.")
    parts = [train] if test is None else [train, test]
    weights = [part.weights for part in parts if part.weights is not None] or None
    shape = train.X.shape[1:] if train.X.ndim == 3 else None
    matrices = [_rows(part.X) for part in parts]
    labels = [part.y[:, 0] if part.y.shape[1:] == (1,) else part.y for part in parts]
    names, classes = known.get("feature_names", ()), known.get("target_names", ())
    if len(names) != matrices[0].shape[1]:
        names = ()
    targets = kind == "regression"
    if kind == "auto" and labels[0].ndim == 2:  # rather than 0 and 1 for each label
        targets = any(not np.isin(y, (0, 1)).all() for y in labels)
    if targets and labels[0].ndim == 2:
        return _multitask(path, matrices, labels, names, classes, weights)
    if kind == "multilabel" or (kind == "auto" and labels[0].ndim == 2):
        return _multilabel(path, parts, matrices, names, classes, weights)
    for part in labels:
        if part.ndim != 1 or part.dtype.kind not in "biufUS":
            raise DataError(
                f"{path.name}: labels y have the shape {part.shape} and type {part.dtype}; {LABEL_A_ROW}."
            )
        if part.dtype.kind == "f" and not np.isfinite(part).all():
            raise DataError(f"{path.name}: a label in y is NaN or infinite; {LABEL_A_ROW}.")
    labels = [_plain(part) for part in labels]
    kind = kind_of(kind, labels[0], f"{path.name}: y", "give classes")
    numbered = classes and all(np.isin(part, np.arange(len(classes))).all() for part in labels)
    if kind not in NUMERIC and numbered:
        labels = [np.array(classes)[part.astype(int)] for part in labels]
    return _content(kind, matrices, labels, names, picture_shape=shape, weights=weights)


def _rows(X: np.ndarray | scipy.sparse.csr_matrix) -> np.ndarray | scipy.sparse.csr_matrix:
    """Flatten each sample to a row of numbers."""
    return X if scipy.sparse.issparse(X) else np.ascontiguousarray(X.reshape(len(X), -1), np.float64)


def _plain(y: np.ndarray) -> np.ndarray:
    """Return labels as integers, real numbers or strings."""
    if y.dtype.kind == "S":
        return np.char.decode(y, "latin-1")
    return y.astype({"b": np.int8, "f": np.float64}.get(y.dtype.kind, y.dtype))


def _multitask(
    path: Path,
    matrices: list[np.ndarray | scipy.sparse.csr_matrix],
    labels: list[np.ndarray],
    feature_names: tuple[str, ...],
    names: tuple[str, ...],
    weights: list[np.ndarray] | None,
) -> Content:
    k = labels[0].shape[1]
    for part in labels:
        if part.ndim != 2 or part.shape[1] != k or part.dtype.kind not in "biuf":
            raise DataError(f"{path.name}: y has the shape {part.shape}; give a column of numbers a target.")
    targets = [np.ascontiguousarray(part, dtype=np.float64) for part in labels]
    train, test = _parts(matrices, targets, weights)
    names = names if len(names) == k else tuple(f"y{c + 1}" for c in range(k))
    return Content(train, names, feature_names, test=test, kind="multitask")


def _multilabel(
    path: Path,
    parts: list[npz.Arrays],
    matrices: list[np.ndarray | scipy.sparse.csr_matrix],
    feature_names: tuple[str, ...],
    names: tuple[str, ...],
    weights: list[np.ndarray] | None,
) -> Content:
    for part in parts:
        if part.y.ndim != 2 or part.y.shape[1] != parts[0].y.shape[1] or not np.isin(part.y, (0, 1)).all():
            raise DataError(f"{path.name}: y is no matrix of 0 and 1 with a column a label; {LABEL_A_ROW}.")
    L = parts[0].y.shape[1]
    names = names if len(names) == L else tuple(str(k + 1) for k in range(L))
    labels = [scipy.sparse.csr_matrix(part.y.astype(np.int8)) for part in parts]
    train, test = _parts(matrices, labels, weights)
    return Content(train, names, feature_names, test=test, kind="multilabel")
