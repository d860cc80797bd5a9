"""Data sets and users' own files in the svmlight format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse

from ..dataset import Content, Part
from ..entry import Request
from ..errors import DataError
from ..kinds import NUMERIC
from ..names import LazyNames
from ..readers import svmlight
from ..readers.files import numbered_lines
from .labels import encode, indicator, kind_of

#: Columns that are kept though they may be empty; a weight of a feature that never occurs stays zero.
MANY = 1_000_000


def own(request: Request) -> Content:
    """Load a user's own file, svmlight:PATH, and a test part from a second file if there is one."""
    options = request.options
    first = None if options["first_index"] == "auto" else int(options["first_index"])
    return content(request, options["kind"], first_index=first, n_features=options["n_features"])


def usps(request: Request) -> Content:
    """Load handwritten digits of 16 x 16 pixels; label k in the file is the digit k - 1."""
    loaded = content(request, "multiclass")
    if loaded.train.X.shape[1] != 256 or loaded.label_names != tuple(str(k) for k in range(1, 11)):
        raise DataError(
            f"{request.paths[0].name}: usps has 256 features and the labels 1 to 10; this file has others."
        )
    names = tuple("0123456789")
    return replace(loaded, label_names=names, feature_names=(), picture_shape=(16, 16))


def content(request: Request, kind: str, *, first_index: int | None = 1, n_features: int = 0) -> Content:
    """Load a training file and, if there is one, a test file.

    If `kind` is "auto", labels are multilabel if a row has none or several, and judged by their values
    otherwise. If `first_index` is None, it is 0 if index 0 occurs, else 1. If `n_features` is 0, it is found
    from the largest index; if there would be more than MANY, only features that occur get a column. Raises
    DataError if a file does not suit the kind or the other file.
    """
    paths = request.paths
    files = [svmlight.read(path, progress=request.progress) for path in paths]
    kind = _kind(paths, files, kind)
    if first_index is None:
        first_index = 0 if any(rows.X.nnz and rows.X.indices.min() == 0 for rows in files) else 1
    found = max(max(rows.X.shape[1] for rows in files) - first_index, 0)
    if n_features and found > n_features:
        raise DataError(
            f"{paths[0].name} has {found:,} features, not {n_features:,}: give n_features={found}."
        )
    d, names_of_features = n_features or found, LazyNames.numbered(n_features or found, first=first_index)
    matrices = [_columns(path, rows.X, first_index, d) for path, rows in zip(paths, files, strict=True)]
    if d > MANY and not n_features:
        matrices, names_of_features = _occurring(matrices, first_index)
    labels, names = encode(kind, *(rows.labels for rows in files))
    if kind == "multilabel":
        labels = [indicator(code, rows.offsets, len(names)) for code, rows in zip(labels, files, strict=True)]
    train, test = [*map(Part, matrices, labels), None][:2]
    return Content(train, names, names_of_features, test=test, kind=kind)


def _kind(paths: Sequence[Path], files: list[svmlight.Samples], kind: str) -> str:
    single = all((np.diff(rows.offsets) == 1).all() for rows in files)
    if kind == "auto":
        kind = kind_of(kind, files[0].labels, paths[0].name, "give numbers") if single else "multilabel"
    for path, rows in zip(paths, files, strict=True):
        if kind != "multilabel":
            rows.check_single(path, f"{kind} data have one label a line; use kind=multilabel")
        broken = np.flatnonzero(rows.labels != np.round(rows.labels))
        if len(broken) and kind not in ("binary", *NUMERIC):
            line = rows.lines[np.searchsorted(rows.offsets, broken[0], side="right") - 1]
            raise DataError(
                f"{path.name}, line {line}: the label of a class is a whole number; this one is not. "
                "Numeric targets have kind=regression."
            )
    return kind


def _columns(path: Path, X: scipy.sparse.csr_matrix, first_index: int, d: int) -> scipy.sparse.csr_matrix:
    """Return the matrix with d columns, numbered from 0 instead of first_index."""
    if X.nnz and X.indices.min() < first_index:
        raise DataError(f"{path.name} has a feature 0, but features are counted from 1: use first_index=0.")
    return scipy.sparse.csr_matrix((X.data, X.indices - first_index, X.indptr), (X.shape[0], d))


def _occurring(
    matrices: list[scipy.sparse.csr_matrix], first_index: int
) -> tuple[list[scipy.sparse.csr_matrix], LazyNames]:
    """Return the matrices without columns that are empty in all of them, and the names of the columns."""
    used = np.unique(np.concatenate([X.indices for X in matrices]))
    narrow = [
        scipy.sparse.csr_matrix((X.data, np.searchsorted(used, X.indices), X.indptr), (X.shape[0], len(used)))
        for X in matrices
    ]
    return narrow, LazyNames(len(used), lambda i: f"x{used[i] + first_index}")


#: Sets of two classes, of several, and of numeric targets.
binary, multiclass = partial(content, kind="binary"), partial(content, kind="multiclass")
regression = partial(content, kind="regression")


def rcv1(request: Request) -> Content:
    """Load RCV1: binary or multiclass from LIBSVM's files, multilabel from the files of Lewis et al. 2004."""
    task = request.options["task"]
    if task != "multilabel":
        return content(request, task)
    topics, train, *test = request.paths
    of_document, names = _topics(topics, request)
    parts = [_vectors(path, of_document, len(names), topics, request) for path in (train, *test)]
    d = max(max(part.X.shape[1] for part in parts) - 1, 0)
    parts = [Part(_columns(train, part.X, 1, d), part.y) for part in parts]
    pooled = None
    if len(parts) > 1:
        X = scipy.sparse.vstack([part.X for part in parts[1:]], format="csr")
        pooled = Part(X, scipy.sparse.vstack([part.y for part in parts[1:]], format="csr"))
    return Content(parts[0], names, LazyNames.numbered(d, "word "), test=pooled)


def _topics(path: Path, request: Request) -> tuple[dict[int, list[int]], tuple[str, ...]]:
    """Return the topics of each document by its number, as codes, and the names of the topics.

    Each line of the file consists of a topic, a document's number and 1.
    """
    codes: dict[bytes, int] = {}
    of_document: dict[int, list[int]] = {}
    for line, row in numbered_lines(path, progress=request.progress):
        fields = row.split()
        if len(fields) != 3 or not fields[1].isdigit() or len(fields[1]) > 18:
            raise DataError(f"{path.name}, line {line}: a line is a topic, a document's number and 1.")
        of_document.setdefault(int(fields[1]), []).append(codes.setdefault(fields[0], len(codes)))
    return of_document, tuple(name.decode("latin-1") for name in codes)


def _vectors(
    path: Path, of_document: dict[int, list[int]], n_topics: int, topics: Path, request: Request
) -> Part:
    rows = svmlight.read(path, progress=request.progress)
    rows.check_single(path, "a line is a document's number and word:value ...")
    codes, counts = [], []
    for number, line in zip(rows.labels.tolist(), rows.lines.tolist(), strict=True):
        if number not in of_document:
            raise DataError(f"{path.name}, line {line}: {topics.name} has no topic of document {number:.0f}.")
        codes += of_document[number]
        counts.append(len(of_document[number]))
    return Part(rows.X, indicator(np.array(codes), np.concatenate([[0], np.cumsum(counts)]), n_topics))
