"""Bundle methods: their cuts lie below f, their gaps are proved, and they agree with other programs."""

import cvxpy as cp
import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.solvers.curvature.cuts import Cuts
from solverscope.solvers.methods.descent.bundle import cut
from tests.solvers.convex import Program
from tests.solvers.helpers import binary, chains, dense_of, multiclass, multilabel, problem_of

LAM = 0.01
IDS = ["bmrm", "ls-bmrm", "ocas", "level-bundle"]


def hinge(data, loss="binary-hinge", lam=LAM):
    return problem_of(data, loss, "l2", lam=lam, average=True)


@pytest.mark.parametrize("id", IDS)
def test_the_bound_never_falls_nor_exceeds_the_minimum(id):
    data = binary(n=200, d=15, seed=1)
    trace = solvers.solve(hinge(data), solvers.make_solver(id), tol=1e-7, max_seconds=20)
    least = Program(data, "binary-hinge", "l2", LAM, True).least()
    bound = trace.objective - trace.dual_gap
    assert trace.status == "converged"
    assert np.diff(bound).min() >= -1e-12
    assert np.diff(trace.objective).max() <= 0.0
    assert bound.max() <= least * (1 + 1e-8)
    assert trace.objective.min() >= least * (1 - 1e-8)
    assert trace.dual_gap[-1] <= 1e-7 * trace.objective[-1]


def test_cuts_lie_below_the_loss_and_touch_it():
    data, rng = binary(), np.random.default_rng(0)
    problem = hinge(data)
    points = [problem.at(w) for w in rng.normal(size=(20, problem.size))]
    for point in points:
        a, b = cut(point)
        assert a @ point.w + b == pytest.approx(point.loss, rel=1e-12)
        for other in points:
            assert a @ other.w + b <= other.loss + 1e-12


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_projection_is_the_nearest_point_at_which_the_model_is_at_the_level(share):
    data, rng = binary(), np.random.default_rng(2)
    problem, cuts = hinge(data), Cuts(LAM)
    points = [problem.at(w) for w in rng.normal(size=(12, problem.size))]
    for point in points:
        cuts.add(*cut(point))
    _, bound, _ = cuts.minimize()
    for point in points:
        level = bound + share * (point.objective - bound)
        found = cuts.projection(point.w, level)
        w = cp.Variable(problem.size)
        model = 0.5 * LAM * cp.sum_squares(w) + cp.max(np.array(cuts.A) @ w + cuts.b)
        at_most = cp.Problem(cp.Minimize(cp.norm(w - point.w)), [model <= level])
        theirs = at_most.solve(solver=cp.CLARABEL)
        w.value = found
        assert level - 0.1 * (level - bound) * (1 + 1e-6) <= model.value <= level * (1 + 1e-9)
        lower = cp.Problem(cp.Minimize(cp.norm(w - point.w)), [model <= model.value])
        assert theirs * (1 - 1e-6) <= np.linalg.norm(found - point.w)
        assert np.linalg.norm(found - point.w) == pytest.approx(lower.solve(solver=cp.CLARABEL), rel=1e-4)


def test_levels_take_fewer_cuts_than_minima_of_the_model_where_these_jump():
    """λ is small, and the first minima of the model are far away."""
    data = binary(n=200, d=15, seed=1)
    problem = hinge(data, lam=1e-4)
    iterates = {}
    for id in ("bmrm", "level-bundle"):
        trace = solvers.solve(problem, solvers.make_solver(id), tol=1e-4, max_iter=2000)
        assert trace.status == "converged"
        iterates[id] = len(trace)
    assert iterates["level-bundle"] < iterates["bmrm"]


def test_ocas_and_ls_bmrm_go_through_the_same_points():
    problem = hinge(binary())
    one, other = (
        solvers.solve(problem, solvers.make_solver(id), tol=0.0, max_iter=30) for id in ("ocas", "ls-bmrm")
    )
    np.testing.assert_array_equal(one.objective, other.objective)
    np.testing.assert_array_equal(one.w, other.w)


def test_ocas_is_for_one_score_a_sample():
    assert "ocas" in solvers.compatible("binary-hinge", "l2")
    assert "ocas" not in solvers.compatible("multiclass-logistic", "l2")
    assert (
        solvers.why_not_solver("ocas", "multiclass-logistic", "l2") == "needs a loss of one score per sample"
    )
    assert "bmrm" not in solvers.compatible("binary-hinge", "l1")


@pytest.mark.quick("0,1,2,3")
@pytest.mark.parametrize("delta", ["0.5", "0,1,2,3;1,0,1,2;2,1,0,1;1,1,4,0"])
def test_slack_rescaled_pairs_of_labels_are_solved_to_the_minimum_of_another_program(delta):
    """Each search is exact: its breakpoints are those of lines with slopes of several sizes."""
    data, lam = multilabel(), 0.05
    X, has = dense_of(data.train.X), data.train.y.toarray() != 0
    problem = solvers.make_problem(
        data,
        loss="multilabel-hinge",
        penalty="l2",
        lam=lam,
        loss_params={"label_loss": delta, "rescale": "slack"},
    )
    trace = solvers.solve(problem, solvers.make_solver("ls-bmrm"), tol=1e-7, max_seconds=20)
    rows = [[float(x) for x in row.split(",")] for row in delta.split(";")]
    costs, W = np.broadcast_to(rows, (4, 4)), cp.Variable((X.shape[1], 4))
    Z, losses = X @ W, []
    for i, own in enumerate(has):
        pairs = [(q, r) for q in np.flatnonzero(~own) for r in np.flatnonzero(own)]
        lines = [costs[q, r] * (1.0 + Z[i, q] - Z[i, r]) for q, r in pairs]
        losses += [cp.max(cp.hstack([0.0, *lines]))] if pairs else []
    f = cp.sum(cp.hstack(losses)) / len(has) + 0.5 * lam * cp.sum_squares(W)
    least = cp.Problem(cp.Minimize(f)).solve(solver=cp.CLARABEL)
    assert trace.status == "converged"
    assert trace.objective[-1] == pytest.approx(least, rel=1e-6)
    assert (trace.objective - trace.dual_gap).max() <= least * (1 + 1e-7)


@pytest.mark.parametrize(
    ("make", "loss"),
    [(binary, "logistic"), (multiclass, "multiclass-logistic"), (chains, "chain-crf")],
    ids=["logistic", "softmax", "crf"],
)
def test_smooth_losses_are_cut_as_well(make, loss):
    problem = hinge(make(), loss, lam=0.1)
    best = solvers.solve(problem, solvers.make_solver("prox-qn"), tol=1e-10).result["objective"]
    for id in ("bmrm", "ls-bmrm"):
        trace = solvers.solve(
            problem, solvers.make_solver(id), tol=0.0, gap=1e-6, f_star=best, max_seconds=20
        )
        assert trace.status == "converged"
        bound = (trace.objective - trace.dual_gap).max()
        assert best * (1 - 1e-4) <= bound <= best * (1 + 1e-9)


def test_a_tiny_ridge_and_many_cuts_end_no_run():
    """λ = 1e-6: cuts are dropped, quadratic programs are nearly singular, and the gap still falls."""
    problem = hinge(binary(n=80, d=20, seed=4), lam=1e-6)
    trace = solvers.solve(problem, solvers.make_solver("ls-bmrm", max_cuts=30), tol=1e-3, max_iter=400)
    assert trace.status in ("converged", "max-iter", "stalled")
    assert trace.inner_iterations.max() <= 100
    assert trace.dual_gap[-1] < 0.5 * trace.dual_gap[1]


def test_a_small_minimum_is_reached_though_the_quadratic_programs_are_large():
    """Separable, with rows of length 100: f* is 3e-6 of f(0), and the entries of Q/λ are 1e5."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) % 2, 1, -1).astype(np.int8)
    X = 5.0 * rng.normal(size=(40, 400)) + 2.0 * y[:, None]
    problem = solvers.make_problem(X, y, loss="binary-hinge", penalty="l2", lam=LAM)
    trace = solvers.solve(problem, solvers.make_solver("ocas"), tol=1e-4, max_seconds=20)
    assert trace.status == "converged", trace.message
    assert trace.result["objective"] < 1e-5


@pytest.mark.quick("0.1", "1e-05")
@pytest.mark.parametrize("lam", [1e-1, 1e-3, 1e-5, 1e-6])
def test_raw_features_are_solved_to_a_proved_gap(lam):
    """breast-cancer as it is: features from 1e-3 to 4e3, entries of Q/λ up to 1e13."""
    data = datasets.load("breast-cancer", scale="none")
    problem, program = hinge(data, lam=lam), Program(data, "binary-hinge", "l2", lam, True)
    least = program.least()
    for id in IDS:
        trace = solvers.solve(problem, solvers.make_solver(id), tol=1e-5, max_iter=1000)
        assert trace.status == "converged", trace.message
        assert program.objective(trace.w) == pytest.approx(least, rel=1e-5)
        assert (trace.objective - trace.dual_gap).max() <= least * (1 + 1e-7)


def test_where_rounding_ends_a_run_its_message_says_so_and_its_gap_is_true():
    data = datasets.load("breast-cancer", scale="none")
    problem = hinge(data, lam=1e-6)
    trace = solvers.solve(problem, solvers.make_solver("ls-bmrm"), tol=0.0, max_iter=1000)
    least = Program(data, "binary-hinge", "l2", 1e-6, True).least()
    assert trace.status == "stalled"
    assert trace.message.startswith("rounding hides the next cut: the model is minimized to ")
    assert trace.objective[-1] - trace.dual_gap[-1] <= least * (1 + 1e-7)
    assert trace.dual_gap[-1] <= 1e-6 * least


def test_cuts_of_large_scores_have_an_exact_height():
    """The cut at w where scores are 1e11: its height is the share of samples on the wrong side."""
    data = datasets.load("breast-cancer", scale="none")
    problem = hinge(data)
    point = problem.at(np.full(problem.size, 1e8))
    a, b = cut(point)
    assert b == pytest.approx(np.mean(data.train.y < 0), rel=1e-14)
    assert a @ point.w + b == pytest.approx(point.loss, rel=1e-12)


def test_a_warm_start_by_sublbfgs_hands_over_its_point_and_cuts():
    """The iterates are those of subL-BFGS first; the bound neither falls nor exceeds the minimum, and the
    first model of cutting planes is no worse than what was proved before."""
    data = binary(n=200, d=15, seed=1)
    problem, solver = hinge(data), solvers.make_solver("ls-bmrm", warm="sublbfgs")
    trace = solvers.solve(problem, solver, tol=1e-7, max_seconds=20)
    alone = solvers.solve(problem, solvers.make_solver("sublbfgs", stagnation=0.0), max_iter=len(trace))
    warm = int(np.sum(np.array(trace.phase) == "warm"))
    assert list(trace.phase) == ["warm"] * warm + ["cuts"] * (len(trace) - warm)
    assert 5 < warm < len(trace) - 1
    np.testing.assert_array_equal(trace.objective[:warm], alone.objective[:warm])
    assert trace.objective[warm] == trace.objective[warm - 1]
    assert trace.inner_iterations[warm] > 0.5 * warm
    bound = trace.objective - trace.dual_gap
    least = Program(data, "binary-hinge", "l2", LAM, True).least()
    assert trace.status == "converged"
    assert np.diff(bound).min() >= -1e-12
    assert bound.max() <= least * (1 + 1e-8)
    assert np.diff(trace.objective).max() <= 1e-15


def test_collected_cuts_lie_below_the_loss():
    problem, rng = hinge(multiclass(), "multiclass-hinge"), np.random.default_rng(0)
    solver = solvers.make_solver("ls-bmrm", warm="sublbfgs")
    it = next(it for it in solver.iterate(problem) if it.phase == "cuts")
    points = [it.point, *(problem.at(w) for w in rng.normal(size=(10, problem.size)))]
    assert len(it.cuts) > 3
    for point in points:
        assert max(a @ point.w + b for a, b in zip(it.cuts.A, it.cuts.b, strict=True)) <= point.loss + 1e-12


def test_smooth_losses_are_handed_over_as_well():
    problem = hinge(binary(), "logistic", lam=1e-3)
    solver = solvers.make_solver("ls-bmrm", warm="sublbfgs", switch=1.0)
    trace = solvers.solve(problem, solver, tol=1e-7, max_iter=100)
    warm = list(trace.phase).count("warm")
    assert 5 <= warm < len(trace)
    assert trace.objective[-1] < trace.objective[warm]
    assert trace.dual_gap[-1] < 0.5 * trace.dual_gap[warm]
