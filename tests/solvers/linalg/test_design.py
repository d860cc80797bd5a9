import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from solverscope.solvers.compute.team import Team
from solverscope.solvers.linalg import design as module
from solverscope.solvers.linalg import stores
from solverscope.solvers.linalg.design import Design
from solverscope.solvers.linalg.scores import Scores
from tests.solvers.helpers import STORAGES, dense_of, matrix

N, D, M = 300, 11, 5


@pytest.fixture
def small_blocks(monkeypatch):
    """128 rows a block, the least there is, and kernel calls of a few columns."""
    monkeypatch.setattr("solverscope.solvers.linalg.storage.SLAB_BYTES", 1)
    monkeypatch.setattr(module, "ENTRIES_PER_CALL", 200)


@pytest.fixture
def wide_blocks(small_blocks, monkeypatch):
    """Blocks whose scores are taken not to fit the cache, and kernel calls of a few rows."""
    monkeypatch.setattr(module, "SLAB_BYTES", 1)
    monkeypatch.setattr(module, "NEAR_BYTES", 1)
    monkeypatch.setattr("solverscope.solvers.linalg.by_rows.ENTRIES_PER_CALL", 200)


@pytest.fixture
def picked(small_blocks, monkeypatch):
    """A sparse X with one output is by rows, its columns picked when they are asked for."""
    monkeypatch.setattr(stores, "PICKED_FROM", 1)
    monkeypatch.setattr("solverscope.solvers.linalg.by_rows.ENTRIES_PER_CALL", 200)


def flat(X, m, n_tail):
    """A of f(w) = L(A w) as one dense matrix over (scores row by row, tail)."""
    return np.block(
        [
            [np.kron(dense_of(X), np.eye(m)), np.zeros((X.shape[0] * m, n_tail))],
            [np.zeros((n_tail, X.shape[1] * m)), np.eye(n_tail)],
        ]
    )


def flat_scores(scores):
    return np.concatenate([scores.Z.ravel(), scores.tail])


def working_sets(design, rng):
    """None, all, few (one output at a time), many (all outputs of a feature at once), only tail, nothing."""
    few = np.flatnonzero(rng.random(design.size) < 0.15)
    many = np.flatnonzero(rng.random(design.size) < 0.8)
    tail = np.arange(design.size - design.n_tail, design.size)
    return [None, *(design.working_set(c) for c in (None, few, many, tail, np.arange(0)))]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(("m", "n_tail"), [(1, 0), (1, 2), (M, 0), (M, M * M)])
@pytest.mark.parametrize("blocks", ["small_blocks", "wide_blocks", "picked"])
def test_products_agree_with_a_dense_matrix_on_every_working_set(storage, m, n_tail, blocks, request):
    request.getfixturevalue(blocks)
    X, rng = matrix(N, D, storage), np.random.default_rng(1)
    design, A = Design(X, m, n_tail), flat(X, m, n_tail)
    assert design.n_blocks == 3
    assert design.binary == ("binary" in storage)
    by_rows = blocks == "picked" and (m, n_tail) == (1, 0) and storage in ("sparse", "binary")
    assert (design.stored.rows is not None) == by_rows
    residual = Scores(rng.normal(size=(N, m)), rng.normal(size=n_tail))
    for active in working_sets(design, rng):
        at = np.arange(design.size) if active is None else active.coordinates
        v = rng.normal(size=at.size)
        np.testing.assert_allclose(flat_scores(design.scores(v, active)), A[:, at] @ v, atol=1e-12)
        np.testing.assert_allclose(
            design.adjoint(residual, active), A[:, at].T @ flat_scores(residual), atol=1e-12
        )


def test_both_kernel_routes_are_taken(small_blocks, monkeypatch):
    design, taken = Design(matrix(N, D), M), []
    for name in ("scores_by_rows", "scores_by_output"):
        kernel = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *a, name=name, kernel=kernel: (taken.append(name), kernel(*a))
        )
    whole_rows, one_output = design.working_set(np.arange(2 * M)), design.working_set(np.arange(D) * M)
    for active, route in ((whole_rows, "scores_by_rows"), (one_output, "scores_by_output")):
        taken.clear()
        design.scores(np.ones(len(active)), active)
        assert set(taken) == {route}


@pytest.mark.parametrize("storage", ["sparse", "binary"])
def test_in_wide_blocks_products_for_most_outputs_go_along_rows(storage, wide_blocks):
    """Rows made for a set serve those left of it, until half of their entries is not needed; scores are those
    of columns bit by bit."""
    rng = np.random.default_rng(5)
    design, narrow = Design(matrix(N, 60, storage), M, M * M), Design(matrix(N, 60, storage), M, M * M)
    narrow.block_rows = 0
    G = Scores(rng.normal(size=(N, M)), rng.normal(size=M * M))
    alone = design.working_set(np.arange(60) * M)
    design.adjoint(G, alone)
    assert alone.lineage.rows is None
    most = design.working_set(np.flatnonzero(rng.random(design.size) < 0.95))
    v = rng.normal(size=len(most)) * (rng.random(len(most)) < 0.9)
    for share, anew in ((1.0, True), (0.8, False), (0.3, True), (1.0, True)):
        held, features = most.lineage.rows, int(60 * share)
        members = np.searchsorted(most.coordinates, features * M)
        active = most.restrict((np.arange(len(most)) < members) | (most.coordinates >= 60 * M))
        at = active.overlap(most)[1]
        plain = narrow.working_set(active.coordinates)
        for Z in (design.scores(v[at], active), design.scores(v[at], active)):
            assert np.array_equal(flat_scores(Z), flat_scores(narrow.scores(v[at], plain)))
        np.testing.assert_allclose(design.adjoint(G, active), narrow.adjoint(G, plain), atol=1e-12)
        assert plain.lineage.rows is None
        assert (most.lineage.rows is not held) == anew
    sparse = np.where(np.arange(len(most)) < 3, 1.0, 0.0)
    alone = design.working_set(most.coordinates)
    assert np.array_equal(flat_scores(design.scores(sparse, alone)), flat_scores(narrow.scores(sparse, most)))
    assert alone.lineage.rows is None  # columns of three weights cost less


@pytest.mark.parametrize("storage", ["sparse", "binary"])
def test_columns_that_are_picked_give_the_products_of_all_columns_bit_by_bit(storage, picked, monkeypatch):
    """Those asked for are there, with the likeliest of the others; all are made for a set that lacks a sixth
    of the entries, and after ``MOST_PICKS`` times."""
    rng = np.random.default_rng(6)
    X = matrix(N, 60, storage)
    design, G = Design(X, 1), Scores(rng.normal(size=(N, 1)), np.zeros(0))
    with monkeypatch.context() as plain:
        plain.setattr(stores, "PICKED_FROM", np.inf)
        whole = Design(X, 1)
    assert design.column_nnz.tolist() == whole.column_nnz.tolist()
    np.testing.assert_allclose(design.column_squares(), whole.column_squares(), rtol=1e-14)
    every = design.working_set()
    squares = [d.adjoint_of_squares(G, every) for d in (design, whole)]
    np.testing.assert_allclose(*squares, atol=1e-12)
    np.testing.assert_allclose(design.squared_sums(G.Z)[:, 0], squares[0], rtol=1e-14)
    gradient = design.adjoint(G)
    likely = np.zeros(60)
    likely[[41, 42, 43]] = 2.0, -3.0, 1.0
    design.expect(likely)
    asked = []
    for features in ([7, 11], [7, 42], [3, 11, 20], [50]):
        active = design.working_set(np.array(features))
        v = rng.normal(size=active.n_body)
        fresh = whole.working_set(active.coordinates)
        assert np.array_equal(design.scores(v, active).Z, whole.scores(v, fresh).Z)
        assert np.array_equal(design.adjoint(G, active), whole.adjoint(G, fresh))
        squares = [d.adjoint_of_squares(G, s) for d, s in ((design, active), (whole, fresh))]
        np.testing.assert_array_equal(*squares)
        asked += features
        there = np.flatnonzero(design.stored.place >= 0)
        assert set(asked) | {42} <= set(there)
        assert 50 in asked or there.size < 12
    assert design.stored.times == 3
    pulses = []
    few = design.attached(lambda: pulses.append(None))
    few.columns_of(np.array([7]))
    assert len(few.derived.names) == 3
    few.adjoint_of_squares(G, few.working_set(np.array([7])))
    assert len(pulses) > few.n_blocks  # the columns are copied block by block, and the product has its own
    assert "columns" not in design.derived
    monkeypatch.setattr(stores, "MOST_PICKS", 3)
    assert few.columns_of(np.array([59]))[0] is design.columns
    columns, places = design.columns_of(np.arange(40))
    assert [*map(np.array_equal, columns, whole.columns)] == [True, True, True]
    assert places.tolist() == [*range(40)]
    assert np.array_equal(design.adjoint(G), gradient)  # whoever asked for columns meanwhile
    np.testing.assert_allclose(gradient, whole.adjoint(G), atol=1e-12)
    assert design.columns_of(np.array([7]))[0] is columns  # no others are needed then
    monkeypatch.setattr(stores, "MOST_PICKS", 8)
    another = Design(X, 1)
    assert another.columns_of(np.arange(30))[0] is another.columns
    assert another.stored.times == 0


def test_rows_and_digests_do_not_ask_for_columns(picked):
    X = matrix(N, D, "sparse", density=0.2)
    design = Design(X, 1)
    assert design.digest() == Design(X, 1).digest() != Design(2.0 * X, 1).digest()
    np.testing.assert_array_equal(design.first_rows(5).toarray(), dense_of(X)[:5])
    np.testing.assert_array_equal(design.by_rows().some(np.arange(N), D).toarray(), dense_of(X))
    some = np.array([0, 3, 130, N - 1])
    np.testing.assert_array_equal(design.take(some).first_rows(4).toarray(), dense_of(X)[some])
    assert design.stored.times == 0
    assert "columns" not in design.derived


@pytest.mark.parametrize("storage", STORAGES)
def test_columns_side_by_side_serve_the_sets_that_are_left_of_a_set(storage, small_blocks):
    """Products on a shrinking set, from the second gradient on with copied columns, those of a fresh set."""
    rng = np.random.default_rng(4)
    design = Design(matrix(N, 60, storage), M, M * M)
    residual = Scores(rng.normal(size=(N, M)), rng.normal(size=M * M))
    one_output = np.arange(60) * M + rng.integers(0, M, 60)
    active = design.working_set(np.append(one_output, 60 * M + np.arange(7)))
    bases = []
    for _ in range(6):
        fresh = design.working_set(active.coordinates)
        np.testing.assert_allclose(
            design.adjoint(residual, active), design.adjoint(residual, fresh), rtol=1e-13
        )
        v = rng.normal(size=len(active)) * (rng.random(len(active)) < 0.7)
        np.testing.assert_allclose(
            flat_scores(design.scores(v, active)), flat_scores(design.scores(v, fresh)), atol=1e-13
        )
        assert fresh.lineage.columns is None
        bases.append(active.lineage.base)
        active = active.restrict(rng.random(len(active)) < 0.75)
    assert bases[0] is None
    assert bases[1] is not None
    assert bases[2] is bases[1]  # most of its columns are still needed
    assert bases[-1] is not bases[1]  # less than half of them


@pytest.mark.parametrize("storage", STORAGES)
def test_columns_of_a_narrower_set_do_not_serve_the_wider_one_before_it(storage, small_blocks):
    rng = np.random.default_rng(4)
    design = Design(matrix(N, 60, storage), M, 0)
    residual = Scores(rng.normal(size=(N, M)), np.zeros(0))
    wide = design.working_set(np.arange(60) * M + rng.integers(0, M, 60))
    narrow = wide.restrict(rng.random(60) < 0.3)
    for _ in range(3):
        design.adjoint(residual, narrow)
    assert narrow.lineage.base is narrow
    v, fresh = rng.normal(size=60), design.working_set(wide.coordinates)
    np.testing.assert_allclose(design.scores(v, wide).Z, design.scores(v, fresh).Z, rtol=1e-13, atol=1e-13)
    assert design.adjoint(residual, wide) == pytest.approx(design.adjoint(residual, fresh), rel=1e-13)


def test_columns_are_copied_within_a_bound_alone(small_blocks, monkeypatch):
    design = Design(matrix(N, D), M)
    residual = Scores(np.ones((N, M)), np.zeros(0))
    active = design.working_set(np.arange(D) * M)
    monkeypatch.setattr(module, "GATHERED_BYTES", 10 * design.nnz - 1)
    for _ in range(3):
        design.adjoint(residual, active)
    assert active.lineage.columns is None
    monkeypatch.setattr(module, "GATHERED_BYTES", 10 * design.nnz)
    design.adjoint(residual, active)
    assert active.lineage.columns.rows.size == active.lineage.entries == design.nnz


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    n=st.integers(1, 200),
    d=st.integers(1, 9),
    m=st.integers(1, 6),
    tail=st.booleans(),
    storage=st.sampled_from(STORAGES),
    share=st.floats(0.0, 1.0),
    seed=st.integers(0, 2**31),
)
def test_adjoint_identity(n, d, m, tail, storage, share, seed):
    """<A v, G> = <v, Aᵀ G> for any shape, storage and working set."""
    rng = np.random.default_rng(seed)
    design = Design(matrix(n, d, storage, seed=seed), m, m * m if tail else 0)
    active = design.working_set(np.flatnonzero(rng.random(design.size) <= share))
    v = rng.normal(size=len(active))
    G = Scores(rng.normal(size=(n, m)), rng.normal(size=design.n_tail))
    left = flat_scores(design.scores(v, active)) @ flat_scores(G)
    right = v @ design.adjoint(G, active)
    assert left == pytest.approx(right, rel=1e-10, abs=1e-10)


def test_zeros_in_a_vector_and_in_a_matrix_touch_nothing(small_blocks):
    X = matrix(N, D)
    design = Design(X, M)
    counts = np.count_nonzero(X, axis=0)
    assert design.nnz == counts.sum()
    v = np.zeros(design.size)
    design.scores(v)
    assert design.touched == 0
    v[2 * M + 1] = v[2 * M + 3] = v[4 * M] = 1.0
    design.scores(v)
    assert design.touched == counts[2] + counts[4]
    design.adjoint(Scores(np.ones((N, M)), np.zeros(0)), design.working_set(np.array([3 * M + 1])))
    assert design.touched == counts[2] + counts[4] + counts[3]
    design.adjoint(Scores(np.ones((N, M)), np.zeros(0)))
    assert design.touched == counts[2] + counts[4] + counts[3] + design.nnz


@pytest.mark.parametrize(
    "form", ["csr", "csc", "coo", "wide indices", "dense", "fortran", "full", "whole", "boolean"]
)
def test_columns_are_those_of_scipy_whatever_the_form_of_the_matrix(form, small_blocks, monkeypatch):
    monkeypatch.setattr(
        "solverscope.solvers.linalg.storage.CAST_ENTRIES", 5 * D
    )  # five rows of a dense matrix at a time
    X = matrix(N, D, "sparse", seed=3)
    if form == "full":
        X = sp.csr_array(dense_of(X) + 10.0)
    if form in ("whole", "boolean"):
        X = X.astype(bool if form == "boolean" else np.int8)
    if form == "wide indices":
        X = sp.csr_array(X)
        X.indptr, X.indices = X.indptr.astype(np.int64), X.indices.astype(np.int64)
    made = {"csc": sp.csc_array, "coo": sp.coo_array, "fortran": lambda X: np.asfortranarray(dense_of(X))}
    given = made[form](X) if form in made else X if form in ("csr", "wide indices") else X.toarray()
    design, dense = Design(given, 1), dense_of(X).astype(float)
    assert (design.nnz, design.binary) == (np.count_nonzero(dense), bool(np.isin(dense, (0, 1)).all()))
    for b in range(design.n_blocks):
        lo, hi = design.edges[b : b + 2]
        expected = sp.csc_array(dense[lo:hi])
        at = slice(design.starts[b, 0], design.starts[b, -1])
        np.testing.assert_array_equal(design.starts[b] - design.starts[b, 0], expected.indptr)
        np.testing.assert_array_equal(design.rows[at], expected.indices)
        np.testing.assert_array_equal(
            np.ones(expected.nnz) if design.binary else design.values[at], expected.data
        )


def test_explicit_zeros_and_duplicates_of_a_sparse_matrix_do_not_matter():
    X = sp.coo_array(([1.0, 1.0, 0.0, 1.0], ([0, 0, 1, 2], [1, 1, 0, 2])), shape=(3, 3))
    design = Design(X, 1)
    assert not design.binary
    assert design.nnz == 2
    np.testing.assert_array_equal(design.scores(np.array([5.0, 1.0, 3.0])).Z[:, 0], [2.0, 0.0, 3.0])


def test_the_matrix_handed_in_stays_as_it_was():
    X = sp.csr_matrix((np.ones(3), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    Design(X, 1)
    assert (X.data.tolist(), X.indices.tolist()) == ([1.0, 1.0, 1.0], [2, 0, 2])


@pytest.mark.parametrize("storage", ["sparse", "binary"])
@pytest.mark.parametrize("blocks", ["small_blocks", "wide_blocks"])
def test_two_threads_give_the_products_of_one_bit_by_bit_and_their_time_is_counted(storage, blocks, request):
    request.getfixturevalue(blocks)
    X, rng = matrix(1000, 40, storage), np.random.default_rng(2)
    team = Team(2)
    one, two = Design(X, M, M * M), Design(X, M, M * M, team)
    G = Scores(rng.normal(size=(1000, M)), rng.normal(size=M * M))
    few, most = (np.flatnonzero(rng.random(one.size) < share) for share in (0.1, 0.95))
    for coordinates in (None, few, most):
        v = rng.normal(size=one.size if coordinates is None else coordinates.size)
        sets = [d.working_set(coordinates) for d in (one, two)]
        assert np.array_equal(flat_scores(one.scores(v, sets[0])), flat_scores(two.scores(v, sets[1])))
        assert np.array_equal(one.adjoint(G, sets[0]), two.adjoint(G, sets[1]))
    assert team.cpu_seconds > 0.0


@pytest.mark.parametrize("storage", ["sparse", "binary"])
def test_gradients_along_rows_are_those_of_one_thread_bit_by_bit(storage, picked):
    X, rng = matrix(1000, 40, storage), np.random.default_rng(2)
    G = Scores(rng.normal(size=(1000, 1)), np.zeros(0))
    one, two = Design(X, 1).adjoint(G), Design(X, 1, team=Team(2)).adjoint(G)
    assert np.array_equal(one, two)


def test_the_pulse_comes_between_blocks_and_between_pieces_of_them(small_blocks):
    design, beats = Design(matrix(N, D), M), []
    attached = design.attached(lambda: beats.append(1))
    attached.adjoint(Scores(np.ones((N, M)), np.zeros(0)))
    pieces = -(-design.nnz * M // (module.ENTRIES_PER_CALL * design.n_blocks))
    assert pieces > 1
    assert len(beats) == pieces * (design.n_blocks + 1)
    assert (attached.touched, design.touched) == (design.nnz, 0)


def test_a_pulse_that_raises_leaves_the_product(small_blocks):
    class Stop(Exception):
        pass

    def raise_stop():
        raise Stop

    for team in (Team(), Team(2)):
        design = Design(matrix(N, D), M, team=team).attached(raise_stop)
        with pytest.raises(Stop):
            design.scores(np.ones(design.size))


def test_head_keeps_the_features_of_the_first_rows(small_blocks):
    X = matrix(N, D, "sparse", density=0.2)
    head = Design(X, 2, 4).head(3)
    occurring = dense_of(X)[:3].any(axis=0)
    assert (head.n_rows, head.n_features, head.n_outputs, head.n_tail) == (3, occurring.sum(), 2, 4)
    v = np.arange(1.0, head.size + 1)
    W = v[:-4].reshape(-1, 2)
    np.testing.assert_allclose(head.scores(v).Z, dense_of(X)[:3, occurring] @ W)


def test_more_rows_than_sixteen_bits_count():
    rng = np.random.default_rng(3)
    X = np.zeros((70_000, 1))
    X[rng.permutation(70_000)[:30_000]] = 2.0
    design = Design(X, 1)
    assert design.n_blocks > 1
    np.testing.assert_array_equal(design.scores(np.array([3.0])).Z, 3 * X)
    assert design.adjoint(Scores(np.ones((70_000, 1)), np.zeros(0)))[0] == 60_000.0


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("blocks", ["small_blocks", "picked"])
def test_a_constant_is_one_more_feature(storage, blocks, request):
    request.getfixturevalue(blocks)
    X, rng = matrix(N, D, storage), np.random.default_rng(4)
    design, A = Design(X, 1, constant=True), np.hstack([dense_of(X), np.ones((N, 1))])
    assert (design.shape, design.nnz) == (A.shape, np.count_nonzero(A))
    assert design.digest() != Design(X, 1).digest()
    G, v = rng.normal(size=(N, 1)), rng.normal(size=D + 1)
    for at in (np.arange(D + 1), np.array([D]), np.array([2, D])):
        active = design.working_set(at)
        scores, sums = design.scores(v[at], active).Z[:, 0], design.adjoint(Scores(G, np.zeros(0)), active)
        np.testing.assert_allclose(scores, A[:, at] @ v[at], atol=1e-12)
        np.testing.assert_allclose(sums, A[:, at].T @ G[:, 0], atol=1e-12)
    np.testing.assert_allclose(design.squared_sums(G), (A * A).T @ G, atol=1e-12)
    assert design.head(3).n_features <= D + 1
    np.testing.assert_allclose(design.take(np.arange(9)).scores(v).Z[:, 0], A[:9] @ v, atol=1e-12)


@pytest.mark.parametrize("blocks", ["small_blocks", "wide_blocks"])
def test_full_columns_are_those_of_any_matrix(blocks, request):
    request.getfixturevalue(blocks)
    rng = np.random.default_rng(6)
    X, G, v = rng.normal(size=(N, D)), rng.normal(size=(N, 1)), rng.normal(size=D)
    design = Design(X, 1)
    np.testing.assert_allclose(design.scores(v).Z[:, 0], X @ v, atol=1e-12)
    np.testing.assert_allclose(design.adjoint(Scores(G, np.zeros(0))), X.T @ G[:, 0], atol=1e-12)
    np.testing.assert_allclose(design.column_squares(), (X * X).sum(axis=0), rtol=1e-14)
