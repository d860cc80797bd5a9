import itertools
import threading

import numpy as np
import pytest
import scipy.sparse

from solverscope.datasets import DataError, Products
from solverscope.datasets.names import LazyNames, pair, with_products


def explicit(base, degree, bias):
    """All columns, written out."""
    columns = [base[:, j] for j in range(base.shape[1])]
    if degree == 2:
        columns += [base[:, i] * base[:, j] for i, j in itertools.combinations(range(base.shape[1]), 2)]
    return np.stack(columns + [np.ones(len(base))] * bias, axis=1)


def assembled(X, step=7):
    """The whole matrix from its blocks of rows."""
    blocks = []
    for lo in range(0, X.shape[0], step):
        hi = min(lo + step, X.shape[0])
        indptr, indices, values = X.csc_rows(lo, hi)
        assert indptr.dtype == np.int64
        assert indices.dtype == np.int32
        assert (values is None) == X.binary
        values = np.ones(len(indices)) if values is None else values
        block = scipy.sparse.csc_matrix((values, indices, indptr), (hi - lo, X.shape[1]))
        assert block.has_sorted_indices
        blocks.append(block)
    return scipy.sparse.vstack(blocks).tocsr()


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize(("degree", "bias"), [(1, False), (1, True), (2, False), (2, True)])
def test_blocks_of_products_are_the_products_written_out(binary, degree, bias):
    rng = np.random.default_rng(0)
    base = (rng.random((30, 9)) < 0.4).astype(float)
    base[5] = 0
    if not binary:
        base *= rng.normal(size=base.shape)
    X = Products(base, degree, bias)
    whole = assembled(X)
    assert X.binary == binary
    assert X.shape == whole.shape
    assert X.nnz == whole.nnz
    np.testing.assert_array_equal(whole.toarray(), explicit(base, degree, bias))


def test_taking_rows_takes_their_products():
    rng = np.random.default_rng(1)
    X = Products(rng.random((12, 6)) < 0.5)
    rows = np.array([7, 2, 2, 11])
    np.testing.assert_array_equal(assembled(X.take(rows)).toarray(), assembled(X).toarray()[rows])


def test_the_ocr_layout_has_8257_columns():
    assert Products(np.eye(128)).shape == (128, 8257)


def test_too_many_features_for_pairs_are_refused():
    with pytest.raises(DataError, match="use degree=1"):
        Products(scipy.sparse.eye(10_000, format="csr"))


def test_blocks_are_made_without_holding_up_other_threads():
    X = Products(np.random.default_rng(2).random((400, 200)) < 0.3)
    expected = X.csc_rows(0, 400)[1]
    found = [None] * 4

    def work(k):
        found[k] = X.csc_rows(0, 400)[1]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(indices, expected) for indices in found)


@pytest.mark.parametrize("d", [2, 3, 10, 128])
def test_pairs_are_numbered_in_lexicographic_order(d):
    assert [pair(p, d) for p in range(d * (d - 1) // 2)] == list(itertools.combinations(range(d), 2))


def test_names_of_products_follow_the_columns():
    names = with_products(LazyNames.numbered(3), 2, True)
    assert list(names) == ["x1", "x2", "x3", "x1 × x2", "x1 × x3", "x2 × x3", "bias"]
    assert names[-1] == "bias"
    assert names[3:5] == ["x1 × x2", "x1 × x3"]
    with pytest.raises(IndexError):
        names[7]
