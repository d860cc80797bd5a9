"""Dual coordinate descent: its dual, its subproblem, its shrinking."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from solverscope import solvers
from solverscope.solvers.methods.coordinate.dual_kernels import project, project_pairs, shuffle
from solverscope.solvers.probes.subsets import known_members
from tests.solvers.convex import Program
from tests.solvers.helpers import Data, Part, binary, dense_of, multiclass, multilabel

LAM = 0.01


def solved(data, loss, tol=1e-10, **params):
    problem = solvers.make_problem(data, loss=loss, penalty="l2", lam=LAM)
    return problem, solvers.solve(
        problem, solvers.make_solver("dual-cd", **params), tol=tol, max_seconds=20.0
    )


@pytest.mark.parametrize("storage", ["dense", "binary", "lazy"])
def test_the_gap_is_that_of_the_dual_computed_from_its_definition(storage):
    """β is 0 beyond the margin and 1 in error; on it, what least squares find from w in [0, 1]."""
    data = binary(storage=storage)
    _, trace = solved(data, "binary-hinge")
    X, y = dense_of(data.train.X), data.train.y.astype(float)
    rows = X * y[:, None]
    n = y.size
    margins = rows @ trace.w
    beta = (margins < 1.0).astype(float)
    free = np.abs(margins - 1.0) < 1e-5
    rest = trace.w - rows[~free].T @ beta[~free] / (LAM * n)
    beta[free] = scipy.optimize.lsq_linear(rows[free].T / (LAM * n), rest, bounds=(0.0, 1.0), tol=1e-14).x
    w = rows.T @ beta / (LAM * n)
    dual = beta.mean() - 0.5 * LAM * w @ w
    assert trace.result["objective"] - dual <= 1e-6 * trace.result["objective"]
    assert trace.result["dual_gap"] <= 1e-10 * trace.result["objective"]
    assert trace.status == "converged"


def test_the_bound_rises_and_never_exceeds_the_minimum():
    data = binary(n=200, seed=3)
    _, trace = solved(data, "binary-hinge")
    bound = trace.objective - trace.dual_gap
    least = Program(data, "binary-hinge", "l2", LAM, True).least()
    assert np.diff(bound).min() >= -1e-14
    assert bound.max() <= least * (1.0 + 1e-8)
    assert trace.objective.min() >= least * (1.0 - 1e-8)


def test_shrinking_leaves_variables_out_and_brings_all_back():
    data = binary(n=2000, d=20, seed=1)
    problem, trace = solved(data, "binary-hinge")
    _, plain = solved(data, "binary-hinge", shrinking=False)
    assert trace.working_set.min() < 0.2 * problem.loss.n_instances
    begins = ["epoch-start" in words for words in trace.events]
    assert sum(begins) == trace.epoch.max() + 1 >= 2
    assert set(plain.working_set) == {problem.loss.n_instances}
    assert plain.epoch.max() == 0
    assert trace.result["objective"] == pytest.approx(plain.result["objective"], rel=1e-9)


@pytest.mark.parametrize("n", [2, 50, 203])
def test_neighbours_together_are_all_visited_once_a_pass(n, monkeypatch):
    """Rows that share no feature: one pass over all solves for each variable."""
    monkeypatch.setattr("solverscope.solvers.methods.coordinate.dual_cd.CACHE_BYTES", 0)
    monkeypatch.setattr("solverscope.solvers.methods.coordinate.dual_cd.GROUP_BYTES", 100)
    y = np.where(np.arange(n) % 2, 1, -1)
    problem = solvers.make_problem(np.eye(n), y, loss="binary-hinge", penalty="l2", lam=0.1 / n)
    for seed in range(5):
        trace = solvers.solve(problem, solvers.make_solver("dual-cd", seed=seed), tol=1e-12, max_iter=1)
        np.testing.assert_allclose(trace.w, y, rtol=1e-12)
        assert trace.passes[-1] == 1.0  # each row is read and its step written, once


def test_neighbours_together_reach_the_same_optimum_by_other_iterates(monkeypatch):
    monkeypatch.setattr("solverscope.solvers.methods.coordinate.dual_cd.CACHE_BYTES", 0)
    data = binary(n=400, seed=2)
    _, together = solved(data, "binary-hinge")
    _, apart = solved(data, "binary-hinge", neighbours=False)
    assert together.objective[1] != apart.objective[1]
    assert together.result["objective"] == pytest.approx(apart.result["objective"], rel=1e-9)
    assert together.result["dual_gap"] <= 1e-10 * together.result["objective"]


@pytest.mark.parametrize("storage", ["dense", "sparse", "binary"])
def test_rows_that_are_read_ahead_change_no_iterate(storage, monkeypatch):
    data = binary(n=203, storage=storage, seed=2)
    _, ahead = solved(data, "binary-hinge")
    monkeypatch.setattr("solverscope.solvers.methods.coordinate.dual_cd.PREFETCHED", 0)
    _, apart = solved(data, "binary-hinge")
    np.testing.assert_array_equal(ahead.objective, apart.objective)
    np.testing.assert_array_equal(ahead.passes, apart.passes)


def test_a_start_near_the_optimum_is_used():
    data = binary(n=500, d=20, seed=2)
    problem, trace = solved(data, "binary-hinge")
    again = solvers.solve(problem, solvers.make_solver("dual-cd"), tol=1e-10, w0=trace.w)
    assert again.objective[0] < 0.5 * (trace.objective[0] + trace.result["objective"])
    assert again.result["objective"] == pytest.approx(trace.result["objective"], rel=1e-9)


def test_samples_without_features_are_lost_and_disturb_nothing():
    data = binary(n=40)
    data.train.X[:5] = 0.0
    _, trace = solved(data, "binary-hinge")
    assert trace.result["objective"] == pytest.approx(
        Program(data, "binary-hinge", "l2", LAM, True).least(), rel=1e-8
    )


def test_the_sum_over_samples_is_solved_as_well():
    data = binary()
    problem = solvers.make_problem(data, loss="binary-hinge", penalty="l2", lam=1.0, average=False)
    trace = solvers.solve(problem, solvers.make_solver("dual-cd"), tol=1e-9)
    assert trace.result["objective"] == pytest.approx(
        Program(data, "binary-hinge", "l2", 1.0, False).least(), rel=1e-8
    )


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.lists(st.floats(-3, 3), min_size=2, max_size=8),
    st.integers(0, 2**31),
    st.floats(0.01, 100.0),
)
def test_the_subproblem_is_solved_exactly(a, seed, curvature):
    """No q of the simplex is better, vertices and random ones; q is in the simplex."""
    rng, m = np.random.default_rng(seed), len(a)
    a, p = np.array(a), rng.dirichlet(np.ones(m))
    ordered, q = np.empty(m), np.empty(m)
    project(p, a, m, curvature, ordered, q)
    assert q.min() >= 0.0
    assert q.sum() == pytest.approx(1.0, abs=1e-9)

    def value(q):
        return a @ q - 0.5 * curvature * np.sum((q - p) ** 2)

    others = [*np.eye(m), *rng.dirichlet(np.ones(m), 20), *(0.99 * q + 0.01 * np.eye(m))]
    assert max(map(value, others)) <= value(q) + 1e-9 * (1.0 + abs(value(q)))


@pytest.mark.parametrize(
    ("curvature", "answer"),
    [
        (1e-300, [0.0, 1.0, 0.0, 0.0]),
        (1e-20, [0.0, 1.0, 0.0, 0.0]),
        (1e-8, [0.0, 0.55005, 0.44995, 0.0]),
        (1e20, [0.4, 0.3, 0.2, 0.1]),
    ],
)
def test_the_subproblem_is_solved_where_the_curvature_is_next_to_nothing_or_huge(curvature, answer):
    """Next to none all weight goes to the largest a, and with a huge one none moves; the sum stays 1."""
    a, p = np.array([0.1, 0.3, 0.3 - 1e-12, -2.0]), np.array([0.4, 0.3, 0.2, 0.1])
    ordered, q = np.empty(4), np.empty(4)
    project(p, a, 4, curvature, ordered, q)
    assert q.sum() == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(q, answer, atol=1e-8)


@pytest.mark.quick("1e-08", "1e-06-1.0", "0.0001", "1000000.0")
@pytest.mark.parametrize(
    ("scale", "lam"), [(1e-8, 1.0), (1e-6, 1.0), (1e-4, 1e4), (1e8, 1e-6), (1.0, 1e6), (1.0, 1e-6)]
)
def test_the_bound_holds_where_features_are_tiny_or_huge(scale, lam):
    """With features of 1e-8 the minimum is 1 up to 1e-16, at w next to 0: no f is above it by much."""
    rng = np.random.default_rng(2)
    centers, y = 2.0 * rng.normal(size=(4, 5)), np.arange(60) % 4
    X = (centers[y] + rng.normal(size=(60, 5))) * scale
    problem = solvers.make_problem(X, y, loss="multiclass-hinge", penalty="l2", lam=lam)
    trace = solvers.solve(problem, solvers.make_solver("dual-cd"), tol=1e-6, max_iter=2000)
    # an equal problem with features of unit size: W -> scale W, λ -> λ/scale²
    alike = Data("multiclass", Part(X / scale, y), 4, "multiclass-hinge")
    program = Program(alike, "multiclass-hinge", "l2", lam / scale**2, True)
    least = min(program.least(), 1.0)
    assert (trace.objective - trace.dual_gap).max() <= least * (1.0 + 1e-8)
    assert trace.result["objective"] - trace.result["dual_gap"] <= least * (1.0 + 1e-8)
    assert trace.result["status"] == "converged" or lam < 1e-4
    if trace.result["status"] == "converged":
        assert trace.result["objective"] <= least * (1.0 + 1e-5)


def test_orders_are_permutations_drawn_alike():
    """Each number is first about as often as any other, and the state goes on."""
    state, first = np.array([7], dtype=np.uint64), np.zeros(10)
    for _ in range(5000):
        order = np.arange(10)
        shuffle(order, state)
        assert sorted(order) == list(range(10))
        first[order[0]] += 1
    assert np.abs(first - 500).max() < 5 * np.sqrt(500)


@pytest.mark.parametrize("storage", ["dense", "binary"])
def test_several_labels_have_simplices_for_dual_variables(storage):
    """The bound is D of p in the simplices, computed here; shrinking leaves pairs of sample and label out."""
    data = multiclass(n=200, storage=storage, seed=5)
    problem, trace = solved(data, "multiclass-hinge")
    least = Program(data, "multiclass-hinge", "l2", LAM, True).least()
    assert trace.status == "converged"
    assert trace.result["objective"] == pytest.approx(least, rel=1e-8)
    bound = trace.objective - trace.dual_gap
    assert np.diff(bound).min() >= -1e-14
    assert bound.max() <= least * (1.0 + 1e-8)
    assert trace.working_set.max() == 200 * problem.loss.n_outputs
    assert trace.working_set.min() <= 0.8 * trace.working_set.max()


def test_costs_of_labels_enter_the_dual():
    """With Δ twice as large, and λ half as large, w is twice as large: f, too."""
    data = multiclass(seed=6)
    one, two = (
        solvers.make_problem(
            data, loss="multiclass-hinge", penalty="l2", lam=lam, loss_params={"label_loss": delta}
        )
        for lam, delta in ((0.02, 1), (0.01, 2))
    )
    solver = solvers.make_solver("dual-cd")
    f, g = (solvers.solve(p, solver, tol=1e-10).result["objective"] for p in (one, two))
    assert g == pytest.approx(2.0 * f, rel=1e-8)


def test_costs_are_by_true_label_first():
    """The bound holds, and is reached, where Δ is not symmetric."""
    data, delta = multiclass(m=3, seed=7), np.array([[0.0, 1.0, 3.0], [2.0, 0.0, 1.0], [0.5, 4.0, 0.0]])
    params = {"label_loss": ";".join(",".join(map(str, row)) for row in delta)}
    problem = solvers.make_problem(data, loss="multiclass-hinge", penalty="l2", lam=LAM, loss_params=params)
    trace = solvers.solve(problem, solvers.make_solver("dual-cd"), tol=1e-9, max_seconds=10.0)
    assert trace.status == "converged"
    Z = dense_of(data.train.X) @ problem.unpack(trace.w)[0]
    y = data.train.y
    loss = (Z + delta.T[y] - Z[np.arange(y.size), y][:, None]).max(axis=1).mean()
    assert trace.result["objective"] == pytest.approx(loss + 0.5 * LAM * trace.w @ trace.w, rel=1e-12)


def pairs_used(z, others, p, delta, curvature):
    """What :func:`project_pairs` writes."""
    out, top = np.empty(z.size), np.array([z[:others].max(), z[others:].max()])
    project_pairs(p, z, others, z.size, top, delta + top.sum(), curvature, np.empty((2, z.size)), out)
    return out


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(0, 2**31),
    st.floats(0.01, 100.0),
    st.floats(-4.0, 4.0),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_the_subproblem_of_pairs_meets_its_conditions(n_others, n_own, seed, curvature, shift, used):
    """Of what lies on either side the entries in use have the highest gradient, θ and φ; θ + φ + Δ is 0, at
    least 0 where σ = 1, and at most 0 where σ = 0."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n_others + n_own) + shift
    p = used * np.append(rng.dirichlet(np.ones(n_others)), rng.dirichlet(np.ones(n_own)))
    q = pairs_used(z, n_others, p, 1.0, curvature)
    gradient = z - curvature * (q - p)
    sides = [(q[:n_others], gradient[:n_others]), (q[n_others:], gradient[n_others:])]
    sizes = [values.sum() for values, _ in sides]
    assert q.min() >= 0.0
    assert sizes[0] == pytest.approx(sizes[1], abs=1e-12)
    assert sizes[0] <= 1.0 + 1e-12
    near = 1e-9 * (1.0 + curvature)
    for values, slopes in sides:
        if sizes[0] > 1e-9:
            lowest = slopes[values > 1e-9].min()
            assert slopes.max() <= lowest + near
    height = 1.0 + sum(slopes.max() for _, slopes in sides)
    assert height >= -near or sizes[0] < 1e-9
    assert height <= near or sizes[0] > 1.0 - 1e-9


def test_the_subproblem_of_pairs_is_solved_where_the_curvature_is_next_to_nothing_or_huge():
    z, p = np.array([0.3, 0.3 - 1e-12, -2.0, 0.1, -1.0]), np.array([0.2, 0.1, 0.1, 0.3, 0.1])
    for curvature in (0.0, 1e-300, 1e-20):
        np.testing.assert_array_equal(pairs_used(z, 3, p, 1.0, curvature), [1.0, 0.0, 0.0, 1.0, 0.0])
        np.testing.assert_array_equal(pairs_used(z - 5.0, 3, p, 1.0, curvature), np.zeros(5))
    np.testing.assert_allclose(pairs_used(z, 3, p, 1.0, 1e20), p, atol=1e-15)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("lam", [1.0, 0.01])
def test_pairs_of_several_labels_a_sample_have_a_dual(storage, lam):
    """Samples with no label, or all of them, are among them; another program finds the same minimum."""
    data = multilabel(n=60, m=5, storage=storage, seed=3)
    problem = solvers.make_problem(data, loss="multilabel-hinge", penalty="l2", lam=lam)
    trace = solvers.solve(problem, solvers.make_solver("dual-cd"), tol=1e-10, max_seconds=20.0)
    least = Program(data, "multilabel-hinge", "l2", lam, True).least()
    assert trace.status == "converged"
    assert trace.result["objective"] == pytest.approx(least, rel=1e-8)
    bound = trace.objective - trace.dual_gap
    assert np.diff(bound).min() >= -1e-14
    assert bound.max() <= least * (1.0 + 1e-8)
    assert trace.working_set.min() < trace.working_set.max() == 60 * 5
    bundle = solvers.solve(problem, solvers.make_solver("ls-bmrm"), tol=1e-9, max_seconds=20.0)
    assert bundle.result["objective"] == pytest.approx(trace.result["objective"], rel=1e-8)
    again = solvers.solve(problem, solvers.make_solver("dual-cd"), tol=1e-10, w0=trace.w)
    assert (again.objective - again.dual_gap)[0] >= -1e-14, "no worse than from 0"
    assert again.result["objective"] == pytest.approx(least, rel=1e-8)


def test_pairs_with_several_label_losses_are_refused_in_a_sentence():
    params = {"label_loss": "0,1,2;1,0,1;2,1,0"}
    given = {"loss": "multilabel-hinge", "penalty": "l2", "lam": LAM}
    problem = solvers.make_problem(multilabel(m=3), **given, loss_params=params)
    assert "one label_loss for all: give a number" in solvers.make_solver("dual-cd").refuses(problem)
    doubled = solvers.make_problem(multilabel(m=3), **given, loss_params={"label_loss": 2})
    trace = solvers.solve(doubled, solvers.make_solver("dual-cd"), tol=1e-9, max_seconds=20.0)
    assert trace.status == "converged"


def test_slack_rescaling_is_refused_in_a_sentence():
    problem = solvers.make_problem(
        multiclass(), loss="multiclass-hinge", penalty="l2", lam=LAM, loss_params={"rescale": "slack"}
    )
    assert "rescale=margin" in solvers.make_solver("dual-cd").refuses(problem)


@pytest.mark.parametrize(("make", "loss"), [(binary, "binary-hinge"), (multiclass, "multiclass-hinge")])
def test_a_probe_sees_which_dual_variables_were_visited_and_are_inside_their_bounds(make, loss):
    data = make(n=600, seed=1)
    problem = solvers.make_problem(data, loss=loss, penalty="l2", lam=LAM)
    trace = solvers.solve(problem, solvers.make_solver("dual-cd"), tol=1e-6, probes=(solvers.ACTIVE,))
    entries = trace.probes.entries("active")
    assert [k for k, _ in entries] == list(range(len(trace)))
    assert {str(seen["of"]) for _, seen in entries} == {"dual variables"}
    n_duals = 600 * problem.loss.n_outputs
    for k, seen in entries:
        assert seen["size"] == n_duals
        assert seen["inside_count"] == trace.working_set[k]
    last = {key.removeprefix("support_"): kept for key, kept in entries[-1][1].items()}
    support = known_members(last)
    # those inside their bounds are on the margin, or tie with the worst label
    Z = dense_of(data.train.X) @ problem.unpack(trace.w)[0]
    if loss == "binary-hinge":
        away = np.abs(1.0 - data.train.y * Z[:, 0])[support]
    else:
        cost = Z + 1.0 - np.eye(problem.loss.n_outputs)[data.train.y]
        away = (cost.max(axis=1, keepdims=True) - cost).ravel()[support]
    assert 0 < support.size < n_duals
    assert away.max() < 1e-2


def test_variables_left_out_by_mistake_are_counted_when_they_return():
    data = binary(n=2000, d=20, seed=1)
    _, hasty = solved(data, "binary-hinge", tol=1e-8, slack=0.01)
    _, careful = solved(data, "binary-hinge", tol=1e-8, slack=1.0)
    begins = np.array(["epoch-start" in words for words in hasty.events])
    assert np.all((hasty.returned >= 0) == (begins & (hasty.iteration > 0)))
    assert hasty.returned.max() > careful.returned.max()
    assert hasty.result["objective"] == pytest.approx(careful.result["objective"], rel=1e-7)


def test_less_slack_takes_fewer_passes_to_a_small_gap():
    data = binary(n=5000, d=30, seed=2)
    problem = solvers.make_problem(data, loss="binary-hinge", penalty="l2", lam=1e-3)
    passes = [
        solvers.solve(problem, solvers.make_solver("dual-cd", slack=slack), tol=1e-4).result["passes"]
        for slack in (1.0, 0.3)
    ]
    assert passes[1] < passes[0]


@pytest.mark.parametrize(("size", "lam"), [(1e3, 1e-2), (1.0, 1e-8)])
def test_a_run_that_a_limit_ends_hints_at_samples_that_are_long_beside_lambda(size, lam):
    rng = np.random.default_rng(0)
    X, y = size * rng.normal(size=(60, 4)), np.where(rng.normal(size=60) > 0, 1, -1)
    problem = solvers.make_problem(X, y, loss="binary-hinge", penalty="l2", lam=lam)
    trace = solvers.solve(problem, solvers.make_solver("dual-cd"), tol=1e-9, max_iter=3)
    curvature = np.median((X**2).sum(axis=1)) / (60 * lam)
    assert trace.status == "max-iter"
    assert trace.message.startswith("3 iterations done; ‖x‖² is large relative to λ")
    assert f"{curvature:.2g}" in trace.message
    assert trace.message.endswith("scale the features, or take a larger λ")


def test_a_run_that_a_limit_ends_says_no_more_where_samples_are_short():
    problem = solvers.make_problem(binary(), loss="binary-hinge", penalty="l2", lam=1.0)
    trace = solvers.solve(problem, solvers.make_solver("dual-cd"), tol=0.0, max_iter=2)
    assert trace.message == "2 iterations done"
