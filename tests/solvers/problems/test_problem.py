import dataclasses
import gc
import weakref

import numpy as np
import pytest
import scipy.sparse as sp

from solverscope import datasets, solvers
from solverscope.solvers.problems import objective
from solverscope.solvers.problems import problem as module
from solverscope.solvers.search.line_search import Armijo
from tests.solvers.helpers import MAKERS, binary, chains, multiclass
from tests.solvers.oracles import Oracle

CASES = [
    ("binary", "l1", True),
    ("binary", "l2", False),
    ("multiclass", "elastic-net", True),
    ("multiclass", "none", False),
    ("sequences", "l1", False),
    ("sequences", "elastic-net", True),
    ("tree", "l1", False),
]
cases = pytest.mark.parametrize(("kind", "penalty", "average"), CASES)


def setting(kind, penalty="l1", average=None, lam=0.3, **options):
    data = MAKERS[kind](**options)
    problem = solvers.make_problem(
        data, penalty=penalty, lam=None if penalty == "none" else lam, average=average
    )
    return problem, Oracle(data, data.loss, penalty, lam, problem.average)


def sparse_point(problem, seed=0, share=0.5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=problem.size) * (rng.random(problem.size) < share)


@cases
def test_objective_gradient_and_violation_agree_with_numpy(kind, penalty, average):
    problem, oracle = setting(kind, penalty, average)
    w = sparse_point(problem)
    point = problem.at(w)
    assert point.objective == pytest.approx(oracle.objective(w), rel=1e-12)
    assert point.objective == point.loss + point.penalty
    np.testing.assert_allclose(point.gradient(), oracle.gradient(w), atol=1e-11)
    assert point.violation() == pytest.approx(oracle.violation(w), rel=1e-10)
    assert problem.violation_at_zero() == pytest.approx(oracle.violation(np.zeros(problem.size)), rel=1e-10)


@cases
def test_gradient_is_the_slope_of_the_objective(kind, penalty, average):
    """Central differences of the solver's own objective, away from kinks."""
    problem, _ = setting(kind, penalty, average)
    w = np.random.default_rng(1).normal(size=problem.size)
    slope = problem.at(w).gradient() + problem.penalty.l1 * np.sign(w)
    h = 1e-6
    for j in np.random.default_rng(2).permutation(problem.size)[:20]:
        e = np.zeros(problem.size)
        e[j] = h
        found = (problem.at(w + e).objective - problem.at(w - e).objective) / (2 * h)
        assert found == pytest.approx(slope[j], rel=1e-5, abs=1e-6)


@cases
def test_gradient_on_a_working_set_is_part_of_the_whole(kind, penalty, average):
    problem, _ = setting(kind, penalty, average)
    w = sparse_point(problem)
    at = np.flatnonzero(np.random.default_rng(3).random(problem.size) < 0.3)
    active = problem.design.working_set(at)
    part = problem.at(w).gradient(active)
    np.testing.assert_allclose(part, problem.at(w).gradient()[at], rtol=1e-12)
    full = problem.at(w).gradient(problem.design.working_set(np.arange(problem.size)))
    np.testing.assert_array_equal(full, problem.at(w).gradient())


def test_the_gradient_is_computed_once_and_the_weights_are_copied():
    problem, _ = setting("binary")
    w = sparse_point(problem)
    point = problem.at(w)
    g = point.gradient()
    touched = problem.design.touched
    w[:] = 7.0
    assert point.gradient() is g
    assert problem.design.touched == touched
    assert not np.any(point.w == 7.0)


def test_the_gradient_at_zero_is_made_once_counts_and_each_point_has_its_own():
    made, _ = setting("binary")
    made.violation_at_zero()
    runs = [made.with_pulse(lambda: None), made.at_lam(0.01).with_pulse(lambda: None)]
    for problem in runs:
        first, before = problem.at(), problem.passes
        found, cost = first.gradient(), problem.passes - before
        assert first.gradient() is found
        before = problem.passes
        np.testing.assert_array_equal(found, problem.at(np.zeros(problem.size)).gradient())
        assert cost == problem.passes - before > 0.0  # it counts, whoever made it
        first.gradient()[:] = np.nan  # a point's gradient is its own


@cases
def test_a_line_and_the_point_it_moves_to_agree_with_fresh_points(kind, penalty, average):
    problem, oracle = setting(kind, penalty, average)
    w, d = sparse_point(problem), sparse_point(problem, seed=5)
    point = problem.at(w)
    line = problem.line(point, d)
    touched = problem.design.touched
    for t in (1.0, 0.25):
        assert line(t) == pytest.approx(oracle.objective(w + t * d), rel=1e-12)
    assert problem.design.touched == touched
    expected, moved = line(0.25), line.move(0.25)
    assert problem.design.touched == touched
    assert moved.objective == pytest.approx(expected, rel=1e-14)
    np.testing.assert_allclose(moved.w, w + 0.25 * d, rtol=1e-15)
    np.testing.assert_allclose(moved.gradient(), oracle.gradient(w + 0.25 * d), atol=1e-11)


def test_a_line_on_a_working_set_leaves_the_other_weights_at_zero():
    problem, oracle = setting("sequences")
    at = np.array([1, 4, 9, problem.size - 2])
    active, w = problem.design.working_set(at), np.zeros(problem.size)
    w[at[:2]] = 1.0
    d = np.array([1.0, -1.0, 0.5, 2.0])
    line = problem.line(problem.at(w), d, active)
    expected = w.copy()
    expected[at] += d
    assert line(1.0) == pytest.approx(oracle.objective(expected), rel=1e-12)
    moved = line.move(1.0)
    np.testing.assert_array_equal(moved.w, expected)
    assert moved.sparsity() == (3, len({1 // 3, 9 // 3}))


@cases
def test_curvature_along_a_line_is_that_of_the_gradient(kind, penalty, average):
    problem, oracle = setting(kind, penalty, average)
    w, d = sparse_point(problem), sparse_point(problem, seed=5)
    h = 1e-5
    expected = (oracle.gradient(w + h * d) - oracle.gradient(w - h * d)) @ d / (2 * h)
    assert problem.line(problem.at(w), d).curvature() == pytest.approx(expected, rel=1e-3)
    assert problem.line(problem.at(w), 0 * d).curvature() == 0.0


def test_a_search_along_a_line_moves_to_the_step_it_accepts_and_tells_its_trials():
    problem, oracle = setting("sequences")
    point, f = problem.at(), problem.at().objective
    g = point.gradient()
    d = -40.0 * problem.penalty.prox(g, 1.0)
    decrease = float(g @ d) + problem.penalty.value(d)
    found = problem.line(point, d).armijo(decrease, Armijo(0.5, 0.1))
    t, phi = found.search.trials[-1]
    assert found.trials == len(found.search.trials) > 1
    assert found.t == t == 0.5 ** (found.trials - 1)
    assert phi == found.point.objective == pytest.approx(oracle.objective(t * d), rel=1e-12)
    assert phi <= found.search.allowed[-1] == pytest.approx(f + 0.1 * t * decrease)
    before, above = found.search.trials[-2][1], found.search.allowed[-2]
    assert before > above
    np.testing.assert_allclose(found.point.w, t * d)


def test_a_search_that_finds_no_step_stays_where_it_began():
    problem, _ = setting("sequences")
    point = problem.at()
    found = problem.line(point, point.gradient()).armijo(-1.0, Armijo(0.5, 0.1))
    assert (found.t, found.point) == (0.0, point)
    assert 30 <= found.trials < 1000, "until a step promises no more than rounding"
    np.testing.assert_array_equal(point.w, 0.0)


def test_scores_are_computed_afresh_before_they_drift(monkeypatch):
    monkeypatch.setattr("solverscope.solvers.problems.line.REFRESH", 5)
    problem, _ = setting("multiclass")
    point, rng, ages = problem.at(), np.random.default_rng(0), []
    for _ in range(12):
        line = problem.line(point, rng.normal(size=problem.size))
        line(1.0)
        point = line.move(1.0)
        ages.append(point.drift.updates)
    assert ages == [1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2]
    np.testing.assert_allclose(point.scores.Z, problem.at(point.w).scores.Z, atol=1e-12)


def test_moving_reuses_scores_where_few_weights_change(monkeypatch):
    monkeypatch.setattr(module, "REFRESH", 4)
    problem, oracle = setting("multiclass")
    point = problem.at(np.ones(problem.size))
    for k in range(10):
        w = point.w.copy()
        w[k] += 1.0
        before = problem.design.touched
        point = problem.moved(point, w)
        touched = problem.design.touched - before
        assert (touched < problem.design.nnz) == (point.drift.updates > 0)
        assert point.objective == pytest.approx(oracle.objective(w), rel=1e-12)
    assert point.drift.updates < 4


def test_passes_count_half_a_product_of_this_copy():
    problem, _ = setting("binary")
    mine, before = problem.with_pulse(lambda: None), problem.passes
    mine.at(np.ones(problem.size)).gradient()
    assert mine.passes == 1.0
    assert problem.passes == before


def test_every_evaluation_calls_the_pulse_of_its_copy():
    problem, _ = setting("sequences")
    beats = []
    mine = problem.with_pulse(lambda: beats.append(1))
    for work in (mine.at, lambda: mine.at().gradient(), mine.pulse):
        beats.clear()
        work()
        assert beats
    beats.clear()
    problem.at()
    assert not beats


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("penalty", ["l1", "elastic-net"])
def test_zero_is_optimal_at_lam_max_and_not_at_99_percent_of_it(kind, penalty):
    problem, _ = setting(kind, penalty)
    data = MAKERS[kind]()
    for share, optimal in ((1.0, True), (0.99, False)):
        oracle = Oracle(data, data.loss, penalty, share * problem.lam_max, problem.average)
        violation = oracle.violation(np.zeros(problem.size))
        assert (violation <= 1e-12 * problem.lam_max) == optimal
        there = problem.at_lam(share * problem.lam_max)
        assert there.violation_at_zero() == pytest.approx(violation, abs=1e-12)
        assert there.lam_max == problem.lam_max


def test_weights_unpack_to_features_and_transitions():
    problem, _ = setting("sequences")
    W, T = problem.unpack(np.arange(float(problem.size)))
    assert (W.shape, T.shape) == ((8, 3), (3, 3))
    assert (W[1, 0], T[1, 2]) == (3.0, 24.0 + 5.0)


def test_transitions_go_from_row_to_column():
    """Labels 0 1 0 1 ...: the gradient at zero asks for 0 → 1 and 1 → 0, also in an uneven sequence."""
    data = chains(n=1, m=2)
    y = np.array([0, 1, 1, 1], dtype=np.int32)
    part = dataclasses.replace(data.train, X=np.zeros((4, 8)), y=y, offsets=np.array([0, 4]))
    problem = solvers.make_problem(dataclasses.replace(data, train=part), lam=1.0)
    _, T = problem.unpack(-problem.at().gradient())
    np.testing.assert_allclose(T, [[-0.75, 0.25], [-0.75, 1.25]], atol=1e-12)


def test_weights_of_the_wrong_length_are_refused():
    problem, _ = setting("binary")
    with pytest.raises(ValueError, match=r"w has shape \(3,\): this problem has 12 weights"):
        problem.at(np.zeros(3))


def test_the_data_are_freed_with_the_last_copy_of_a_problem():
    """No cycle keeps them until Python looks for cycles: X may be as large as memory."""
    problem = solvers.make_problem(binary(), loss="logistic", penalty="l1", lam=0.1)
    copies = [problem.at_lam(0.2), problem.with_pulse(lambda: None)]
    data = weakref.ref(problem.design.columns.values)
    gc.disable()
    try:
        del problem
        assert data() is not None
        copies.clear()
        assert data() is None
    finally:
        gc.enable()


def test_the_key_knows_what_determines_the_optimum():
    data = multiclass()
    changed = [
        (data, {"lam": 0.2}),
        (data, {"penalty": "l2"}),
        (data, {"penalty": "elastic-net"}),
        (data, {"penalty": "elastic-net", "penalty_params": {"rho": 0.7}}),
        (data, {"average": False}),
        (dataclasses.replace(data, seed=1), {}),
        (dataclasses.replace(data, digest="1"), {}),
        (dataclasses.replace(data, options={"degree": 2}), {}),
        (dataclasses.replace(data, id="other"), {}),
    ]
    keys = [solvers.make_problem(d, **{"lam": 0.1, **kwargs}).key for d, kwargs in [(data, {}), *changed]]
    assert len(set(keys)) == len(keys)
    assert solvers.make_problem(data, lam="0.1").key == keys[0]


def test_describe_is_the_problem_record():
    problem, _ = setting("sequences", lam=0.5)
    record = problem.describe()
    assert record["type"] == "problem"
    assert (record["n_samples"], record["n_features"], record["n_outputs"], record["n_params"]) == (
        20,
        8,
        3,
        33,
    )
    assert (record["lam"], record["lam_max"], record["average"]) == (0.5, problem.lam_max, False)
    assert setting("binary", "none")[0].describe()["lam"] is None
    assert "penalty_params" not in record


def test_the_problem_record_has_the_parameters_of_loss_and_penalty_that_are_not_the_defaults():
    data = datasets.load("breast-cancer")
    problem = solvers.make_problem(data, penalty="elastic-net", penalty_params={"rho": 0.9}, lam=0.1)
    assert problem.describe()["penalty_params"] == {"rho": 0.9}
    usual = solvers.make_problem(data, penalty="elastic-net", penalty_params={"rho": 0.5}, lam=0.1)
    assert "penalty_params" not in usual.describe()


@pytest.mark.parametrize("kind", MAKERS)
def test_a_tiny_copy_runs_with_the_same_types(kind):
    problem, _ = setting(kind, storage="sparse")
    tiny = problem.tiny()
    assert 2 <= tiny.loss.n_instances <= module.TINY_INSTANCES
    assert tiny.design.n_outputs == problem.design.n_outputs
    assert tiny.design.values.dtype == problem.design.values.dtype
    assert tiny.design.binary == problem.design.binary
    assert np.isfinite(tiny.at().gradient()).all()


@pytest.mark.parametrize("lengths", [[500, 3, 4], [3, 500], [500]])
def test_a_tiny_copy_exists_where_a_sequence_is_longer_than_a_block(lengths, monkeypatch):
    monkeypatch.setattr("solverscope.solvers.linalg.storage.SLAB_BYTES", 1)
    data = chains()
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    X = np.random.default_rng(0).normal(size=(offsets[-1], 8))
    y = np.arange(offsets[-1]) % 3
    part = dataclasses.replace(data.train, X=X, y=y, offsets=offsets)
    problem = solvers.make_problem(dataclasses.replace(data, train=part), lam_ratio=0.1)
    assert problem.design.block_rows < 500
    tiny = problem.tiny()
    assert tiny.design.n_rows == tiny.loss.offsets[-1] == problem.design.block_rows
    trace = solvers.solve(problem, solvers.make_solver("prox-qn"), max_iter=3)
    assert trace.status == "max-iter"


def test_test_and_training_metrics():
    data = dataclasses.replace(binary(), test=binary(seed=9).train)
    problem = solvers.make_problem(data, lam=0.1)
    w = np.random.default_rng(0).normal(size=12)
    for part, found in (
        (data.train, problem.train_metric(problem.at(w))),
        (data.test, problem.test_metric(w)),
    ):
        assert found == np.mean(np.where(part.X @ w >= 0, 1, -1) == part.y)
    assert problem.has_test
    assert not setting("binary")[0].has_test


@pytest.mark.parametrize("penalty", ["l1", "l2", "elastic-net", "l1-l2", "l1-linf", "none"])
def test_another_penalty_on_the_same_data_is_the_problem_made_with_it(penalty):
    data, lam = multiclass(), None if penalty == "none" else 0.3
    base = solvers.make_problem(data, penalty="sparse-group", lam=0.1)
    made = solvers.make_problem(data, penalty=penalty, lam=lam)
    other = base.with_penalty(made.penalty)
    assert other.design is base.design
    assert other.lam_max == pytest.approx(made.lam_max)
    assert other.violation_at_zero() == pytest.approx(made.violation_at_zero())
    w = sparse_point(base)
    assert other.at(w).objective == pytest.approx(made.at(w).objective)
    assert other.key == made.key != base.key


@pytest.mark.parametrize(
    ("kind", "penalty"), [("multiclass", "l1"), ("multiclass", "l1-l2"), ("sequences", "l1-linf")]
)
def test_what_is_done_in_pieces_is_what_is_done_at_once(kind, penalty, monkeypatch):
    data = MAKERS[kind]()
    problem = solvers.make_problem(data, penalty=penalty, lam=0.3)
    w, other = sparse_point(problem), sparse_point(problem, seed=1)
    g = problem.at(w).gradient()

    def found(problem):
        point, moved = problem.at(w), problem.moved(problem.at(other), w)
        numbers = [point.objective, moved.objective, point.violation(), *point.sparsity()]
        return numbers, problem.prox_step(w, g, 0.7), problem.support(w).coordinates

    whole = found(problem)
    monkeypatch.setattr(objective, "VECTOR_PIECE", 7)
    pulses = []
    pieces = found(problem.with_pulse(lambda: pulses.append(1)))
    assert len(pulses) >= problem.size // 7
    np.testing.assert_allclose(pieces[0], whole[0], rtol=1e-13)
    np.testing.assert_array_equal(pieces[1], whole[1])
    np.testing.assert_array_equal(pieces[2], whole[2])
    np.testing.assert_array_equal(whole[2], np.flatnonzero(w))
    np.testing.assert_array_equal(whole[1], problem.penalty.prox(w - 0.7 * g, 0.7))


def matrix(kind):
    """X with 30 rows: full, or of ones, or sparse with one output, which stays by rows."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((30, 8)) < 0.4, rng.normal(size=(30, 8)), 0.0)
    return {"full": X, "ones": (X != 0.0).astype(float), "sparse": sp.csr_array(X)}[kind]


@pytest.mark.parametrize("kind", ["full", "ones", "sparse"])
def test_features_and_labels_of_a_problem_are_those_given(kind):
    X, y = matrix(kind), np.where(np.arange(30) % 3, 1, -1)
    problem = solvers.make_problem(X, y, loss="logistic", penalty="l1", lam=0.1)
    dense = X.toarray() if sp.issparse(X) else X
    np.testing.assert_array_equal(problem.X.toarray(), dense)
    np.testing.assert_array_equal(problem.y, y)
    indptr, indices, data = problem.csr()
    assert data.size == indices.size == indptr[-1]  # also where all values are one
    assert not any(array.flags.writeable for array in (*problem.csr(), problem.y))
    np.testing.assert_array_equal(sp.csr_array((data, indices, indptr), X.shape).toarray(), dense)


def test_an_intercept_is_the_last_column_and_functions_have_no_labels():
    X, y = matrix("full"), np.arange(30) % 3
    problem = solvers.make_problem(
        X, y, loss="multiclass-logistic", penalty="l1", lam=0.1, intercept=True, sample_weight=y + 0.0
    )
    np.testing.assert_array_equal(problem.X.toarray(), np.column_stack([X, np.ones(30)])[y > 0])
    np.testing.assert_array_equal(problem.y, y[y > 0])
    assert solvers.make_problem(datasets.load("toy-abs"), penalty="none").y is None


def test_entries_that_a_solver_counts_are_passes():
    problem = solvers.make_problem(matrix("full"), np.arange(30.0), loss="squared", penalty="l1", lam=0.1)
    before = problem.passes
    problem.count_entries(3 * problem.X.nnz)
    assert problem.passes - before == 1.5
