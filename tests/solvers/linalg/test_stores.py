"""Stores of X without a design: what they hold, and what they make when it is asked for."""

import numpy as np
import pytest
import scipy.sparse as sp

from solverscope.solvers.compute.team import no_pulse
from solverscope.solvers.linalg import storage, stores
from solverscope.solvers.linalg.arrays import digest_of
from solverscope.solvers.linalg.derived import Derived
from solverscope.solvers.linalg.stores import AllColumns, PickedColumns, store_of
from tests.solvers.helpers import matrix

EDGES = np.array([0, 40, 90, 120])


@pytest.fixture(params=["sparse", "binary"])
def X(request):
    return sp.csr_array(matrix(120, 30, request.param, seed=3))


def both(X):
    """The same X in either store."""
    nnz, binary = storage.content(X)
    return AllColumns(storage.turned(X, EDGES, nnz, binary), EDGES), PickedColumns(X, EDGES, binary)


def columns_as_array(store, columns):
    """Columns side by side, (n, columns)."""
    out = np.zeros((EDGES[-1], columns.starts.shape[1] - 1))
    for b, starts in enumerate(columns.starts):
        for q in range(out.shape[1]):
            entries = slice(starts[q], starts[q + 1])
            out[EDGES[b] + columns.rows[entries], q] = 1.0 if store.binary else columns.values[entries]
    return out


def test_both_stores_hold_the_same_matrix(X):
    for store in both(X):
        derived = Derived()
        dense = X.toarray()
        np.testing.assert_array_equal(store.column_nnz, (dense != 0).sum(axis=0))
        np.testing.assert_array_equal(columns_as_array(store, store.all_columns(derived)), dense)
        np.testing.assert_allclose(store.column_squares(derived), (dense**2).sum(axis=0), rtol=1e-14)
        np.testing.assert_array_equal(store.first_rows(7).toarray(), dense[:7])
        rows = np.array([0, 39, 40, 119])
        np.testing.assert_array_equal(store.take(rows, no_pulse).toarray(), dense[rows])
        np.testing.assert_array_equal(store.by_rows(derived).some(rows, 30).toarray(), dense[rows])


def test_columns_are_picked_until_all_cost_less(X, monkeypatch):
    _, store = both(X)
    derived = Derived()
    columns, places = store.columns_of(np.array([5, 2]), derived)
    dense = X.toarray()
    np.testing.assert_array_equal(columns_as_array(store, columns)[:, places], dense[:, [5, 2]])
    assert store.times == 1
    store.columns_of(np.array([2, 5]), derived)
    assert store.times == 1, "they are there"
    assert "columns" not in derived
    monkeypatch.setattr(stores, "MOST_PICKS", 1)
    columns, places = store.columns_of(np.array([9]), derived)
    assert "columns" in derived
    assert places.tolist() == [9]
    np.testing.assert_array_equal(columns_as_array(store, columns), dense)


def test_a_share_of_the_entries_that_is_large_makes_all_columns(X):
    _, store = both(X)
    store.columns_of(np.arange(10), Derived())
    assert store.times == 0


def test_the_likeliest_columns_come_along(X):
    _, store = both(X)
    gradient = np.zeros(30)
    gradient[17] = -1.0
    store.expect(gradient)
    store.columns_of(np.array([4]), Derived())
    assert store.place[4] == 0
    if store.column_nnz[17] <= store.column_nnz[4]:
        assert store.place[17] == 1


def test_only_a_large_sparse_matrix_with_one_output_is_picked_from(X, monkeypatch):
    nnz, binary = storage.content(X)
    assert isinstance(store_of(X, EDGES, nnz, binary, 1, 0), AllColumns)
    monkeypatch.setattr(stores, "PICKED_FROM", nnz)
    assert isinstance(store_of(X, EDGES, nnz, binary, 1, 0), PickedColumns)
    assert isinstance(store_of(X, EDGES, nnz, binary, 2, 0), AllColumns)
    assert isinstance(store_of(X, EDGES, nnz, binary, 1, 4), AllColumns)


def test_a_constant_is_the_last_feature_in_either_store(X):
    nnz, binary = storage.content(X)
    dense = np.hstack([X.toarray(), np.ones((120, 1))])
    rows, few = np.array([0, 39, 40, 119]), np.array([4, 30])
    picked = PickedColumns(X, EDGES, binary, constant=True)
    for store in (AllColumns(storage.turned(X, EDGES, nnz, binary, constant=True), EDGES), picked):
        derived = Derived()
        columns, places = store.columns_of(few, derived)
        np.testing.assert_array_equal(columns_as_array(store, columns)[:, places], dense[:, few])
        np.testing.assert_array_equal(columns_as_array(store, store.all_columns(derived)), dense)
        np.testing.assert_array_equal(store.column_nnz, (dense != 0).sum(axis=0))
        np.testing.assert_allclose(store.column_squares(derived), (dense**2).sum(axis=0), rtol=1e-14)
        np.testing.assert_array_equal(store.first_rows(7).toarray(), dense[:7])
        np.testing.assert_array_equal(store.take(rows, no_pulse).toarray(), dense[rows])
        np.testing.assert_array_equal(store.by_rows(derived).some(rows, 31).toarray(), dense[rows])
    assert picked.times == 1, "the constant was there"


def test_a_constant_is_known_from_an_empty_column(X):
    wider = sp.csr_array((X.data, X.indices, X.indptr), shape=(120, 31))
    _, binary = storage.content(X)
    constant, empty = PickedColumns(X, EDGES, binary, constant=True), PickedColumns(wider, EDGES, binary)
    assert digest_of(*constant.arrays) != digest_of(*empty.arrays)
