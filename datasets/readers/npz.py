"""NPZ: named NumPy arrays, read without pickles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse

from ..errors import DataError, short
from ..store import open_regular
from .files import DAMAGED


def read(path: Path, *names: str) -> tuple[np.ndarray, ...]:
    """Return the arrays called `names`.

    Raises DataError for a damaged file, a missing array and arrays of Python objects.
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
    except (*DAMAGED, OSError, MemoryError, NotImplementedError, RuntimeError, TypeError) as error:
        raise DataError(f"{path.name} is damaged or no NPZ file ({short(error)}): get it again.") from None


def read_labels(path: Path, name: str, n_classes: int) -> np.ndarray:
    """Return the array as (n,) int32 codes 0 .. n_classes - 1. Raises DataError for anything else."""
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
    """Return the array as texts. Raises DataError for anything else."""
    (texts,) = read(path, name)
    if texts.ndim != 1 or texts.dtype.kind != "U":
        raise DataError(f"{path.name}: {name} should be a row of texts; get the file again.")
    return tuple(texts.tolist())


def read_csr(path: Path, prefix: str = "", *, ones: bool = False) -> scipy.sparse.csr_matrix:
    """Return the CSR matrix kept as data (unless all are `ones`), indices, indptr and shape, names with a
    prefix.

    Raises DataError where these do not make a matrix.
    """
    kept = ("indices", "indptr", "shape") if ones else ("indices", "indptr", "shape", "data")
    indices, indptr, shape, *data = read(path, *(prefix + name for name in kept))
    try:
        values = data[0].astype(np.float64) if data else np.ones(len(indices))
        X = scipy.sparse.csr_matrix((values, indices.astype(np.int32), indptr.astype(np.int64)), tuple(shape))
        X.check_format(full_check=True)
    except (ValueError, TypeError, OverflowError):
        raise DataError(
            f"{path.name}: {', '.join(prefix + name for name in kept)} do not make a CSR matrix: get the "
            "file again."
        ) from None
    X.sum_duplicates()
    return X
