"""IDX files: arrays of bytes, the format of the MNIST digits."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ..errors import DataError
from ..store import Progress
from .files import read_bytes

MAX_DIMENSIONS = 8


def read(path: Path, *, progress: Progress | None = None) -> np.ndarray:
    """Return the array in an IDX file, as uint8.

    The header is two zero bytes, the type (8 is uint8), the number of dimensions, and each dimension as a
    big-endian int32. Raises DataError for another type, or if the file's length does not match the header.
    """
    data = read_bytes(path, progress=progress)
    if len(data) < 4 or data[:3] != b"\0\0\x08" or data[3] > MAX_DIMENSIONS or len(data) < 4 + 4 * data[3]:
        raise DataError(
            f"{path.name} does not start like an IDX file of bytes (0, 0, 8, dimensions): get it again."
        )
    start = 4 + 4 * data[3]
    shape = tuple(np.frombuffer(data, ">i4", data[3], 4).tolist())
    if not shape or min(shape) < 0 or math.prod(shape) != len(data) - start:
        raise DataError(
            f"{path.name} says it holds {' x '.join(map(str, shape))} bytes but {len(data) - start:,} "
            "follow: get it again."
        )
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)
