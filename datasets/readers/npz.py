"""NPZ files: named NumPy arrays, read without pickle."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse

from ..errors import DataError, short
from ..limits import MAX_BYTES
from ..store import Progress, open_regular
from .files import UNREADABLE

SAMPLE_ARRAYS, LABEL_ARRAYS = ("X", "x", "data"), ("y", "Y", "target", "labels", "label")
"""Names of the arrays of samples and of labels."""
PART_ENDINGS = ("_train", "_test")
"""Endings of the names of two parts."""
CSR = ("data", "indices", "indptr", "shape")
"""Names of the arrays of SciPy's save_npz."""
NPZ_FORMAT = "save samples X and labels y by numpy.savez"
MAX_INDEX = np.iinfo(np.int32).max
ZIP = b"PK\x03\x04"


@dataclass(frozen=True)
class Arrays:
    """A part of a file: samples X, (n, ...) or sparse, labels y, (n,) or (n, L), and sample weights, (n,)."""

    X: np.ndarray | scipy.sparse.csr_matrix
    y: np.ndarray
    weights: np.ndarray | None = None


def is_archive(path: Path) -> bool:
    """Return whether a file is an NPZ file, by its suffix or, if it is a zip archive, by the names of its
    entries."""
    if path.suffix.lower() == ".npz":
        return True
    try:
        with open_regular(path) as file:
            if file.read(len(ZIP)) != ZIP:
                return False
            names = zipfile.ZipFile(file).namelist()
    except UNREADABLE:
        return False
    return bool(names) and all(name.endswith(".npy") for name in names)


def read_samples(
    path: Path, *, limit: int = MAX_BYTES, progress: Progress | None = None, weights: str | None = None
) -> tuple[Arrays, Arrays | None, Mapping[str, tuple[str, ...]]]:
    """Return the training part, the test part or None, and the names of features and classes in a file.

    Samples are an array, or a sparse matrix written by SciPy's save_npz to which labels were added. Names are
    in arrays feature_names and target_names. ``weights`` names the array of sample weights; _train and _test
    are appended to it as to X and y. Other arrays are not read. Raises DataError if there are no samples or
    labels, if the file exceeds ``limit`` bytes when decompressed, or if an array is not numeric.
    """
    if progress:
        progress(f"reading {path.name}", None)
    names = names_of_arrays(path, limit)
    in_train, in_test = PART_ENDINGS
    both = [key for key in _pairs(names, in_test) if key]
    train = next(iter(_pairs(names, in_train) or _pairs(names, "")), None)
    sparse = set(CSR) <= set(names)
    if sparse:
        labels = next((name for name in LABEL_ARRAYS if name in names), None)
        train = ("", labels) if labels else None
    if train is None:
        some = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        raise DataError(f"{path.name} holds {some or 'nothing'}, not samples X and labels y: {NPZ_FORMAT}.")
    part = _part(path, *train, weights)
    test = _part(path, *both[0], weights) if both and not sparse else None
    if test is not None and test.X.shape[1:] != part.X.shape[1:]:
        raise DataError(
            f"{path.name}: {both[0][0]} has samples of shape {test.X.shape[1:]}, {train[0]} of "
            f"{part.X.shape[1:]}; give both as many features."
        )
    known = {}
    for key in ("feature_names", "target_names"):
        if key in names and (texts := read(path, key)[0]).ndim == 1 and texts.dtype.kind in "biufU":
            known[key] = tuple(map(str, texts.tolist()))
    return part, test, known


def names_of_arrays(path: Path, limit: int = MAX_BYTES) -> Sequence[str]:
    """Return the names of the arrays in a file. Raises DataError if they exceed ``limit`` bytes."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
    except FileNotFoundError:
        raise DataError(f"There is no file {path}: check its name.") from None
    except UNREADABLE as error:
        raise DataError(f"{path.name} is damaged or no NPZ file ({short(error)}): get it again.") from None
    if sum(member.file_size for member in members) > limit:
        raise DataError(f"{path.name} holds more than {limit:,} bytes when decompressed: split it.")
    return [member.filename.removesuffix(".npy") for member in members]


def _pairs(names: Sequence[str], suffix: str) -> list[tuple[str, str]]:
    """Return the names of the arrays of samples and labels of a part, or an empty list if one is missing."""
    samples, labels = ([name + suffix for name in some] for some in (SAMPLE_ARRAYS, LABEL_ARRAYS))
    found = [name for name in samples if name in names], [name for name in labels if name in names]
    return [(found[0][0], found[1][0])] if all(found) else []


def _part(path: Path, samples: str, labels: str, weights: str | None) -> Arrays:
    (y,) = read(path, labels)
    X = read_sparse(path) if not samples else read(path, samples)[0]
    if not samples:
        samples = "the matrix"
    _check_real(path, samples, X)
    if X.ndim < 2 or y.ndim < 1 or len(y) != X.shape[0]:
        raise DataError(
            f"{path.name}: {samples} has the shape {X.shape} and {labels} {y.shape}; give a row a sample, "
            "and a label for each."
        )
    if weights is None:
        return Arrays(X, y)
    name = weights + next((end for end in PART_ENDINGS if labels.endswith(end)), "")
    if name not in (names := names_of_arrays(path)):
        raise DataError(f"{path.name} has no array of weights {name[:40]!r}: it has {', '.join(names[:20])}.")
    (own,) = read(path, name)
    _check_real(path, name, own)
    if own.size != X.shape[0]:
        raise DataError(
            f"{path.name}: {name} has the shape {own.shape}; give a weight for each of {X.shape[0]:,} rows."
        )
    return Arrays(X, y, own.ravel())


def read(path: Path, *names: str) -> tuple[np.ndarray, ...]:
    """Return the arrays called `names`.

    Raises DataError if the file is damaged, an array is missing or an array consists of Python objects.
    """
    try:
        with open_regular(path) as file, np.load(file, allow_pickle=False) as archive:
            if missing := [name for name in names if name not in archive]:
                raise DataError(
                    f"{path.name} has no array {missing[0]!r}: it should hold {', '.join(names)}."
                )
            return tuple(archive[name] for name in names)
    except FileNotFoundError:
        raise DataError(f"There is no file {path}: check its name.") from None
    except DataError:
        raise
    # a single array, no archive, is no context
    except (*UNREADABLE, MemoryError, TypeError) as error:
        if str(error).startswith("Object arrays"):
            raise DataError(
                f"{path.name} holds Python objects, which are not read: save arrays of numbers or of texts."
            ) from None
        raise DataError(f"{path.name} is damaged or no NPZ file ({short(error)}): get it again.") from None


def read_labels(path: Path, name: str, n_classes: int) -> np.ndarray:
    """Return an array of integer codes from 0 to n_classes - 1 as (n,) int32. Raises DataError if
    it is not."""
    (codes,) = read(path, name)
    if (
        codes.ndim != 1
        or codes.dtype.kind not in "iu"
        or (len(codes) and not 0 <= codes.min() <= codes.max() < n_classes)
    ):
        raise DataError(
            f"{path.name}: {name} should be a row of whole numbers from 0 to {n_classes - 1}; get it again."
        )
    return codes.astype(np.int32)


def read_names(path: Path, name: str) -> tuple[str, ...]:
    """Return a one-dimensional array of strings as a tuple. Raises DataError if it is anything else."""
    (texts,) = read(path, name)
    if texts.ndim != 1 or texts.dtype.kind != "U":
        raise DataError(f"{path.name}: {name} should be a row of texts; get the file again.")
    return tuple(texts.tolist())


def read_sparse(path: Path) -> scipy.sparse.csr_matrix:
    """Return a CSR or CSC matrix that SciPy's save_npz wrote. Raises DataError if it is anything else."""
    form = "csr"  # whose arrays were saved by name
    if "format" in names_of_arrays(path):
        form = b"".join(read(path, "format")[0].astype("S").ravel()[:1]).decode("latin-1")
    if form not in ("csr", "csc"):
        raise DataError(f"{path.name} has a matrix in the form {form[:20]!r}: convert it by tocsr() first.")
    data, indices, indptr, shape = read(path, *CSR)
    _check_real(path, "the matrix", data)
    return _matrix(path, CSR, form, data, indices, indptr, shape)


def read_csr(path: Path, prefix: str = "", *, ones: bool = False) -> scipy.sparse.csr_matrix:
    """Return the CSR matrix stored as arrays indices, indptr, shape and data, whose names start with
    ``prefix``.

    With `ones` there is no data, as all entries are 1. Raises DataError if the arrays are not a valid matrix.
    """
    kept = ("indices", "indptr", "shape") if ones else ("indices", "indptr", "shape", "data")
    indices, indptr, shape, *data = read(path, *(prefix + name for name in kept))
    names = [prefix + name for name in kept]
    return _matrix(path, names, "csr", data[0] if data else None, indices, indptr, shape)


def _check_real(path: Path, name: str, values: np.ndarray | scipy.sparse.csr_matrix) -> None:
    if values.dtype.kind not in "biuf":
        raise DataError(f"{path.name}: {name} has entries of type {values.dtype}; give real numbers.")


def _matrix(
    path: Path,
    names: Sequence[str],
    form: str,
    data: np.ndarray | None,
    indices: np.ndarray,
    indptr: np.ndarray,
    shape: np.ndarray,
) -> scipy.sparse.csr_matrix:
    """Return the matrix with these arrays; its entries are 1 if ``data`` is None.

    Raises DataError if the arrays are not a valid matrix.
    """
    kind = {"csr": scipy.sparse.csr_matrix, "csc": scipy.sparse.csc_matrix}[form]
    try:
        whole = {array.dtype.kind for array in (indices, indptr, shape)} <= {"i", "u"}
        if not whole or indices.max(initial=0) > MAX_INDEX:
            raise ValueError
        values = np.ones(len(indices)) if data is None else data.astype(np.float64)
        X = kind((values, indices.astype(np.int32), indptr.astype(np.int64)), tuple(shape))
        X.check_format(full_check=True)
    except (ValueError, TypeError, OverflowError):
        raise DataError(
            f"{path.name}: {', '.join(names)} do not make a {form.upper()} matrix: get the file again."
        ) from None
    X = X.tocsr()
    X.sum_duplicates()
    return X
