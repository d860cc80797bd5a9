import struct

import numpy as np
import pytest

from solverscope.datasets import DataError
from solverscope.datasets.readers import idx


def idx_bytes(shape, data, kind=8):
    return bytes([0, 0, kind, len(shape)]) + struct.pack(f">{len(shape)}i", *shape) + data


def test_an_array_of_bytes(written):
    path = written(idx_bytes((2, 3), bytes(range(6))))
    np.testing.assert_array_equal(idx.read(path), [[0, 1, 2], [3, 4, 5]])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0\x08",
        b"\0\0\x08\x02\0\0\0\1",
        idx_bytes((2, 3), bytes(5)),
        idx_bytes((2, 3), bytes(7)),
        idx_bytes((2**30, 2**30), bytes(6)),
        idx_bytes((-2, -3), bytes(6)),
        idx_bytes((1,), bytes(4), kind=13),
        idx_bytes((), b""),
    ],
)
def test_a_file_that_does_not_fit_its_header_is_refused(written, data):
    with pytest.raises(DataError, match="file-idx"):
        idx.read(written(data, "file-idx"))
