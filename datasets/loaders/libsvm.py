"""Sets and users' own files in the svmlight format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse

from ..dataset import Content, Part
from ..entry import Request
from ..errors import DataError
from ..limits import MAX_FEATURES
from ..names import Names
from ..readers import svmlight
from ..store import sha256
from .labels import encode, indicator


def own(request: Request) -> Content:
    """svmlight:PATH, with its test part in another file if one is named."""
    options = request.options
    paths = [Path(name) for name in (*request.paths, options["test"]) if name]
    first = None if options["first_index"] == "auto" else int(options["first_index"])
    return content(request, paths, options["kind"], first_index=first, n_features=options["n_features"])


def content(
    request: Request,
    paths: list[Path],
    kind: str = "auto",
    *,
    first_index: int | None = 1,
    n_features: int = 0,
) -> Content:
    """The content of a training file and perhaps a test file.

    `kind` "auto": multilabel where a row has no or several labels, binary with two labels, multiclass
    otherwise;
    `first_index` None: 0 if that index occurs, else 1; `n_features` 0: as many as occur.
    Raises DataError for files that do not fit the kind or each other.
    """
    files = [svmlight.read(path, progress=request.progress) for path in paths]
    kind = _kind(paths, files, kind)
    if first_index is None:
        first_index = 0 if any(rows.X.nnz and rows.X.indices.min() == 0 for rows in files) else 1
    found = max(max(rows.X.shape[1] for rows in files) - first_index, 0)
    if n_features and found > n_features:
        raise DataError(
            f"{paths[0].name} has {found:,} features, not {n_features:,}: give n_features={found}."
        )
    matrices = [
        _columns(path, rows, first_index, n_features or found)
        for path, rows in zip(paths, files, strict=True)
    ]
    if kind == "multilabel":
        codes, test_codes, names = encode(kind, *(rows.labels for rows in files))
        both = [codes] if test_codes is None else [codes, test_codes]
        labels = [indicator(code, rows.offsets, len(names)) for code, rows in zip(both, files, strict=True)]
    else:
        *labels, names = encode(kind, *(rows.labels for rows in files))
    parts = [Part(X, y) for X, y in zip(matrices, labels, strict=False)]
    return Content(
        parts[0],
        names,
        Names.numbered(n_features or found, first=first_index),
        sha256(*paths),
        test=parts[1] if len(parts) == 2 else None,
        kind=kind,
        source=str(paths[0]) if request.paths else None,
    )


def _kind(paths: list[Path], files: list[svmlight.Rows], kind: str) -> str:
    single = all((np.diff(rows.offsets) == 1).all() for rows in files)
    if kind == "auto":
        kind = (
            "multilabel" if not single else "binary" if len(np.unique(files[0].labels)) == 2 else "multiclass"
        )
    for path, rows in zip(paths, files, strict=True):
        odd = np.flatnonzero(np.diff(rows.offsets) != 1)
        if len(odd) and kind != "multilabel":
            line = rows.lines[odd[0]]
            raise DataError(
                f"{path.name}, line {line}: {kind} data have one label a line; use kind=multilabel."
            )
        broken = np.flatnonzero(rows.labels != np.round(rows.labels))
        if len(broken) and kind != "binary":
            line = rows.lines[np.searchsorted(rows.offsets, broken[0], side="right") - 1]
            raise DataError(
                f"{path.name}, line {line}: the label of a class is a whole number; this one is not."
            )
    return kind


def _columns(path: Path, rows: svmlight.Rows, first_index: int, n_features: int) -> scipy.sparse.csr_matrix:
    X = rows.X
    if X.nnz and X.indices.min() < first_index:
        raise DataError(f"{path.name} has a feature 0, but features are counted from 1: use first_index=0.")
    if n_features > MAX_FEATURES:
        raise DataError(
            f"{path.name} would have {n_features:,} features; at most {MAX_FEATURES:,} are possible."
        )
    return scipy.sparse.csr_matrix((X.data, X.indices - first_index, X.indptr), (X.shape[0], n_features))
