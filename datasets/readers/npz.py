"""NPZ: named NumPy arrays, read without pickles and within limits."""

from __future__ import annotations

import io
import os
import struct
import tokenize
import zipfile
from pathlib import Path

import numpy as np
import scipy.sparse

from ..errors import DataError, short
from ..limits import MAX_FEATURES, MAX_SMALL_BYTES
from ..store import open_regular
from .files import DAMAGED


def read(path: Path, *names: str, limit: int = MAX_SMALL_BYTES) -> tuple[np.ndarray, ...]:
    """Return the arrays called `names`.

    Raises DataError for a damaged file, a missing array, arrays of Python objects and more than `limit`
    bytes.
    """
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            sizes = {info.filename: info.file_size for info in archive.infolist()}
            for name in names:
                if f"{name}.npy" not in sizes:
                    raise DataError(f"{path.name} has no array {name!r}: it should hold {', '.join(names)}.")
            size = os.fstat(file.fileno()).st_size
            if any(archive.getinfo(f"{name}.npy").compress_size > size for name in names):
                # as much memory would be taken before it is seen that the file ends
                raise DataError(f"{path.name} is damaged (arrays longer than the file): get it again.")
            total = sum(sizes[f"{name}.npy"] for name in names)
            if total > limit:
                raise DataError(
                    f"{path.name} holds {total:,} bytes when decompressed, more than {limit:,}: make it "
                    "smaller."
                )
            return tuple(_array(path, name, archive.read(f"{name}.npy")) for name in names)
    except FileNotFoundError:
        raise DataError(f"There is no file {path}: check its name.") from None
    except DataError:
        raise
    except (*DAMAGED, OSError, NotImplementedError, RuntimeError) as error:
        raise DataError(f"{path.name} is damaged or no NPZ file ({short(error)}): get it again.") from None


def _array(path: Path, name: str, data: bytes) -> np.ndarray:
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        header = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = header(stream)
        # what the header promises has to be there before any memory is taken for it
        if dtype.hasobject or int(np.prod(shape, dtype=object)) * dtype.itemsize != len(data) - stream.tell():
            raise ValueError("objects, or a size that does not fit the header")
        array = np.frombuffer(data, dtype, offset=stream.tell())
        return array.reshape(shape, order="F" if fortran else "C")
    except (ValueError, OverflowError, TypeError, SyntaxError, struct.error, tokenize.TokenError) as error:
        raise DataError(
            f"{path.name}: array {name!r} cannot be read ({short(error)}): get the file again."
        ) from None


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
    values = data[0] if data else np.ones(len(indices))
    integers = all(array.ndim == 1 and array.dtype.kind in "iu" for array in (indices, indptr, shape))
    if integers and len(shape) == 2 and len(indptr) == shape[0] + 1 and 0 < shape[1] <= MAX_FEATURES:
        indptr = indptr.astype(np.int64)
        whole = indptr[0] == 0 and indptr[-1] == len(indices) == len(values) and (np.diff(indptr) >= 0).all()
        if (
            whole
            and (not len(indices) or (indices.min() >= 0 and indices.max() < shape[1]))
            and values.dtype.kind in "iuf"
        ):
            X = scipy.sparse.csr_matrix(
                (values.astype(np.float64), indices.astype(np.int32), indptr), tuple(shape)
            )
            X.sum_duplicates()
            return X
    raise DataError(
        f"{path.name}: {', '.join(prefix + name for name in kept)} do not make a CSR matrix: get the "
        "file again."
    )
