import io
import zipfile

import numpy as np
import pytest
import scipy.sparse

from solverscope.datasets import DataError
from solverscope.datasets.readers import files, npz


def test_arrays_by_name(tmp_path):
    path = tmp_path / "file.npz"
    a, b = np.arange(6).reshape(2, 3), np.asfortranarray(np.eye(3)[:2])
    np.savez_compressed(path, a=a, b=b, names=np.array(["x", "yz"]))
    for found, true in zip(npz.read(path, "a", "b", "names"), (a, b, ["x", "yz"]), strict=True):
        np.testing.assert_array_equal(found, true)


def test_pickled_objects_are_never_read(tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    path = tmp_path / "file.npz"
    np.savez(path, a=np.array([Trap()], dtype=object))
    with pytest.raises(DataError, match="holds Python objects, which are not read"):
        npz.read(path, "a")
    assert not (tmp_path / "sprung").exists()


def test_a_header_that_promises_too_much_is_refused(tmp_path):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)})
    path = tmp_path / "file.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", stream.getvalue() + bytes(80))
    with pytest.raises(DataError, match="damaged"):
        npz.read(path, "a")


def test_a_missing_array_and_a_missing_file_are_refused(tmp_path):
    path = tmp_path / "file.npz"
    np.savez(path, a=np.ones(2))
    with pytest.raises(DataError, match="no array 'b'"):
        npz.read(path, "b")
    with pytest.raises(DataError, match="There is no file"):
        npz.read(tmp_path / "nothing.npz", "a")
    path.write_bytes(b"not a zip file")
    with pytest.raises(DataError, match="no NPZ file"):
        npz.read(path, "a")


def test_a_sparse_matrix_round_trip(tmp_path):
    X = scipy.sparse.random(20, 30, 0.2, format="csr", random_state=0)
    path = tmp_path / "file.npz"
    np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape)
    assert (npz.read_csr(path) != X).nnz == 0
    assert npz.read_csr(path, ones=True).sum() == X.nnz


@pytest.mark.parametrize(
    "changes",
    [
        {"indices": np.array([0, 9])},
        {"indices": np.array([-1, 1])},
        {"indptr": np.array([0, 2, 1])},
        {"indptr": np.array([0, 1, 3])},
        {"shape": np.array([3, 4])},
        {"shape": np.array([2])},
        {"data": np.array(["a", "b"])},
        {"data": np.ones(3)},
    ],
)
def test_arrays_that_make_no_matrix_are_refused(tmp_path, changes):
    good = {
        "data": np.ones(2),
        "indices": np.array([0, 3]),
        "indptr": np.array([0, 1, 2]),
        "shape": np.array([2, 4]),
    }
    path = tmp_path / "file.npz"
    np.savez(path, **{**good, **changes})
    with pytest.raises(DataError, match="do not make a CSR matrix"):
        npz.read_csr(path)


def test_an_archive_with_a_name_that_is_no_utf8_is_refused(tmp_path):
    path = tmp_path / "bad.npz"
    np.savez(path, data=np.ones(3))
    whole = bytearray(path.read_bytes())
    entry = whole.index(b"PK\x01\x02")
    whole[entry + 8 + 1] |= 0x08  # says that the name is UTF-8
    whole[entry + 46] = 0xFF
    path.write_bytes(whole)
    with pytest.raises(DataError, match="damaged"):
        npz.read(path, "data")
    with pytest.raises(DataError, match="damaged"):
        files.read_bytes(path.rename(tmp_path / "bad.zip"))
