"""Users' own tables, CSV and NPZ; plug-ins name these loaders too, with the options that they have."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import scipy.sparse

from ..dataset import Content, Part
from ..entry import Request
from ..errors import DataError
from ..readers import delimited, npz
from ..readers.columns import Column
from .labels import check_classes, encode, numbers_or_texts

CLASSES_LAST = "put the classes in the last column, or name their column with the option label"
LABEL_A_ROW = "give a whole number or a text a row, or rows of 0 and 1"
#: Texts of a column, at most, that may each stand in few rows.
FEW_TEXTS = 20


def csv(request: Request) -> Content:
    """csv:PATH, with its test part in another file if one is named."""
    options, (path, *others) = request.options, request.paths
    drop = tuple(name.strip() for name in (options.get("drop") or "").split(",") if name.strip())
    kind = options.get("kind", "auto")
    given = {"header": options.get("header", "auto"), "drop": drop, "progress": request.progress}
    train = delimited.read(path, label=options.get("label"), **given)
    tables = [train, *(delimited.read(other, **given, like=train) for other in others)]
    labels = [_labels(train, table) for table in tables]
    where = f"{path.name}: {train.layout.name(train.layout.label)}, the column of labels,"
    check_classes(labels[0], kind, where, CLASSES_LAST)
    request.progress("making features", None)
    matrices, names = _features(path, tables)
    return _content(kind, matrices, labels, names)


def _labels(train: delimited.Table, table: delimited.Table) -> np.ndarray:
    """Return the label of each row, by the names of classes that a file gives."""
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
) -> Content:
    """Return the content of matrices and one label a row. Raises DataError where labels do not fit each
    other."""
    if len({part.dtype.kind == "U" for part in labels}) > 1:
        raise DataError(
            "One of training and test part has texts for labels, the other numbers: give both alike."
        )
    if kind == "auto":
        kind = "binary" if len(np.unique(labels[0])) == 2 else "multiclass"
    codes, names = encode(kind, *labels)
    train, test = [*map(Part, matrices, codes), None][:2]
    return Content(train, names, feature_names, test=test, kind=kind, picture_shape=picture_shape)


def _features(
    path: Path, tables: list[delimited.Table]
) -> tuple[list[np.ndarray | scipy.sparse.csr_matrix], tuple[str, ...]]:
    """Return the columns of numbers as they are, and a column of 0 and 1 for each text that training has in a
    column of texts; dense where all are numbers."""
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
    train: delimited.Table, table: delimited.Table, starts: list[int], d: int
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
    """npz:PATH, with its test part in the file or in another one if one is named."""
    kind, (path, *others) = request.options.get("kind", "auto"), request.paths
    train, test, known = npz.read_samples(path, progress=request.progress)
    if others:
        test = npz.read_samples(others[0], progress=request.progress)[0]
        if test.X.shape[1:] != train.X.shape[1:]:
            raise DataError(f"{others[0].name} has samples of another shape than {path.name}.")
    parts = [train] if test is None else [train, test]
    shape = train.X.shape[1:] if train.X.ndim == 3 else None
    matrices = [_rows(part.X) for part in parts]
    names, labels = known.get("feature_names", ()), [_flat(part.y) for part in parts]
    classes = known.get("target_names", ())
    if len(names) != matrices[0].shape[1]:
        names = ()
    if kind == "multilabel" or (kind == "auto" and labels[0].ndim == 2):
        return _multilabel(path, parts, matrices, names, classes)
    for part in labels:
        if part.ndim != 1 or part.dtype.kind not in "biufUS":
            raise DataError(
                f"{path.name}: labels y have the shape {part.shape} and type {part.dtype}; {LABEL_A_ROW}."
            )
        if part.dtype.kind == "f" and not np.isfinite(part).all():
            raise DataError(f"{path.name}: a label in y is NaN or infinite; {LABEL_A_ROW}.")
    labels = [_plain(part) for part in labels]
    check_classes(labels[0], kind, f"{path.name}: y", "give classes")
    if classes and all(np.isin(part, np.arange(len(classes))).all() for part in labels):
        labels = [np.array(classes)[part.astype(int)] for part in labels]
    return _content(kind, matrices, labels, names, picture_shape=shape)


def _rows(X: np.ndarray | scipy.sparse.csr_matrix) -> np.ndarray | scipy.sparse.csr_matrix:
    """Return samples as rows of numbers."""
    return X if scipy.sparse.issparse(X) else np.ascontiguousarray(X.reshape(len(X), -1), np.float64)


def _plain(y: np.ndarray) -> np.ndarray:
    """Return labels as whole or real numbers, or texts."""
    if y.dtype.kind == "S":
        return np.char.decode(y, "latin-1")
    return y.astype({"b": np.int8, "f": np.float64}.get(y.dtype.kind, y.dtype))


def _flat(y: np.ndarray) -> np.ndarray:
    """Return labels, one a row where there is a single column of them."""
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y


def _multilabel(
    path: Path,
    parts: list[npz.Arrays],
    matrices: list[np.ndarray | scipy.sparse.csr_matrix],
    feature_names: tuple[str, ...],
    names: tuple[str, ...],
) -> Content:
    for part in parts:
        if part.y.ndim != 2 or part.y.shape[1] != parts[0].y.shape[1] or not np.isin(part.y, (0, 1)).all():
            raise DataError(f"{path.name}: y is no matrix of 0 and 1 with a column a label; {LABEL_A_ROW}.")
    L = parts[0].y.shape[1]
    names = names if len(names) == L else tuple(str(k + 1) for k in range(L))
    labels = [scipy.sparse.csr_matrix(part.y.astype(np.int8)) for part in parts]
    train, test = [*map(Part, matrices, labels), None][:2]
    return Content(train, names, feature_names, test=test, kind="multilabel")
