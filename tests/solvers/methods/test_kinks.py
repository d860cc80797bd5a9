"""The family of Yu et al. on hinge losses: what is proved, where one subgradient is not enough."""

import itertools

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.solvers.curvature.direction import MOST_SUBGRADIENTS
from tests.solvers.convex import Program
from tests.solvers.helpers import binary, multiclass

LAM = 0.05


@pytest.fixture(params=["binary", "multiclass"])
def case(request):
    data, loss = (
        (binary(), "binary-hinge") if request.param == "binary" else (multiclass(), "multiclass-hinge")
    )
    problem = solvers.make_problem(data, loss=loss, penalty="l2", lam=LAM)
    return problem, Program(data, loss, "l2", LAM, True)


@pytest.mark.parametrize("id", ["subgd", "subbfgs", "sublbfgs"])
def test_every_step_goes_down_and_every_direction_descends(id, case):
    problem, _ = case
    found = list(itertools.islice(solvers.make_solver(id).iterate(problem), 40))
    values = [it.objective for it in found]
    assert len(values) > 15
    assert values == sorted(values, reverse=True)
    for it in found[:-1]:
        assert it.live["direction"].sup < 0.0


@pytest.mark.parametrize("id", ["gd", "subgd", "lbfgs", "subbfgs", "sublbfgs"])
def test_the_gap_that_is_reported_holds(id, case):
    problem, program = case
    least = program.least()
    gaps = []
    for it in itertools.islice(solvers.make_solver(id).iterate(problem), 60):
        assert it.objective - least <= it.dual_gap + 1e-8
        gaps.append(it.objective - it.dual_gap)
    assert min(np.diff(gaps), default=0.0) >= -1e-12


@pytest.mark.parametrize(
    ("data", "loss", "lam", "rounds", "last"),
    [
        # sublbfgs and inexact L-BFGS differ by rounding there: of six orders of rows and columns, L-BFGS is
        # below in five after 200 iterates and in three after 50
        ("breast-cancer", "binary-hinge", 1e-3, 200, ["subgd", "gd"]),
        ("digits", "multiclass-hinge", 1e-2, 60, ["inexact", "subgd", "gd"]),
    ],
)
def test_on_real_data_curvature_of_sublbfgs_beats_gd_subgd_and_inexact_lbfgs(data, loss, lam, rounds, last):
    """Figures 4 and 5, in iterates. GD steps with length 1 from w = 0 and goes on by random subgradients with
    exact searches; L-BFGS has the inexact search of footnote 1."""
    problem = solvers.make_problem(datasets.load(data), loss=loss, penalty="l2", lam=lam)
    racers = {id: solvers.make_solver(id) for id in ("sublbfgs", "subgd", "gd")}
    racers["inexact"] = solvers.make_solver("lbfgs", preset="paper")
    traces = {name: solvers.solve(problem, solver, max_iter=rounds) for name, solver in racers.items()}
    least = {name: trace.objective.min() for name, trace in traces.items()}
    assert sorted(["sublbfgs", *last], key=least.__getitem__) == ["sublbfgs", *last], least
    assert least["inexact"] < least["subgd"]
    for name in ("gd", "inexact"):
        assert (traces[name].step[1], traces[name].ls_kind[1]) == (1.0, "none"), name
    assert set(traces["gd"].ls_kind[2:]) <= {"exact"}
    assert set(traces["inexact"].ls_kind[2:]) <= {"wolfe"}


def test_a_tolerance_ends_a_run_by_the_gap_that_its_iterates_carry():
    problem = solvers.make_problem(binary(n=200), loss="binary-hinge", penalty="l2", lam=1.0)
    trace = solvers.solve(problem, solvers.make_solver("subbfgs"), tol=0.1, max_iter=500)
    assert trace.status == "converged"
    assert trace.dual_gap[-1] <= 0.1 * trace.objective[-1]
    assert np.all(trace.dual_gap[:-1] > 0.1 * trace.objective[:-1])


def test_at_zero_a_loose_tolerance_takes_no_direction_step_and_a_tight_one_hundreds():
    data = datasets.load("digits")
    problem = solvers.make_problem(data, loss="multiclass-hinge", penalty="l2", lam=1e-3)
    loose, tight = (
        next(iter(solvers.make_solver("sublbfgs", epsilon_start=e).iterate(problem))).inner_iterations
        for e in (1.0, 1e-5)
    )
    assert loose == 0
    assert tight > 100


def test_the_qp_finds_the_direction_at_zero_in_fewer_steps_and_counts_what_they_cost():
    """Of one sample, all labels but one tie there; the model's minimum is the same however it is found."""
    problem = solvers.make_problem(datasets.load("digits"), loss="multiclass-hinge", penalty="l2", lam=1e-3)
    plain, exact = (
        next(iter(solvers.make_solver("sublbfgs", epsilon_start=1e-4, finding=finding).iterate(problem)))
        for finding in ("algorithm-2", "qp")
    )
    assert exact.inner_iterations < 0.5 * plain.inner_iterations
    assert exact.qp_iterations > exact.inner_iterations
    assert plain.qp_iterations == -1
    assert exact.direction.model == pytest.approx(plain.direction.model, abs=1e-4)
    g, top = problem.at().gradient(), exact.direction.sup
    assert g @ exact.direction.p <= top < 0.0


@pytest.mark.parametrize("id", ["subgd", "subbfgs", "sublbfgs"])
def test_directions_by_the_qp_lead_down_to_within_the_proved_gap(id, case):
    problem, program = case
    least, values, solver = program.least(), [], solvers.make_solver(id, finding="qp")
    for it in itertools.islice(solver.iterate(problem), 60):
        values.append(it.objective)
        assert it.objective - least <= it.dual_gap + 1e-8
        assert it.qp_iterations >= it.inner_iterations
    assert len(values) > 15
    assert values == sorted(values, reverse=True)
    assert values[-1] <= (1.02 if id != "subgd" else 1.2) * least


def test_a_solver_that_keeps_subgradients_for_the_qp_says_so_to_memory():
    for id in ("sublbfgs", "owl-qn-star"):
        plain, exact = (solvers.make_solver(id, finding=f).dense_vectors for f in ("algorithm-2", "qp"))
        assert exact == plain + MOST_SUBGRADIENTS


def test_random_subgradients_are_seeded():
    problem = solvers.make_problem(multiclass(), loss="multiclass-hinge", penalty="l2", lam=LAM)

    def run(seed):
        return solvers.solve(problem, solvers.make_solver("gd", seed=seed), max_iter=10).objective

    np.testing.assert_array_equal(run(3), run(3))
    assert np.any(run(3) != run(4))


def test_the_unit_step_from_a_kink_may_rise_and_the_run_goes_on():
    problem = solvers.make_problem(multiclass(), loss="multiclass-hinge", penalty="l2", lam=1e-3)
    searched = solvers.solve(problem, solvers.make_solver("lbfgs"), max_iter=40)
    assert (searched.status, len(searched)) == ("stalled", 1)
    assert "is no descent direction at this kink" in searched.message
    forced = solvers.solve(problem, solvers.make_solver("lbfgs", first_step="unit"), max_iter=40)
    assert forced.ls_kind[1] == "none"
    assert forced.step[1] == 1.0
    assert len(forced) > 7
    assert forced.objective[-1] < forced.objective[0]


@pytest.mark.slow
def test_on_leukemia_lbfgs_breaks_at_a_kink_and_sublbfgs_goes_on(load_real):
    """Figure 4, left; `solverscope paper yu2010 figure-4` does it for more λ."""
    problem = solvers.make_problem(load_real("leukemia"), loss="binary-hinge", penalty="l2", lam=1e-4)
    broken = solvers.solve(problem, solvers.make_solver("lbfgs", line_search="exact"), max_iter=50)
    assert broken.status == "stalled"
    assert "is no descent direction at this kink" in broken.message
    assert broken.result["iterations"] <= 5
    best = broken.result["objective"] / 5.0
    going_on = solvers.solve(problem, solvers.make_solver("sublbfgs"), gap=0.0, f_star=best, max_seconds=20)
    assert going_on.objective[-1] <= best


def test_pairs_are_given_the_curvature_that_is_asked_for():
    problem = solvers.make_problem(binary(), loss="binary-hinge", penalty="l2", lam=LAM)
    for it in itertools.islice(solvers.make_solver("sublbfgs", h=0.5, memory=20).iterate(problem), 15):
        pairs = it.memory
        ratios = np.diag(pairs.SY) / pairs.YY
        assert np.all(ratios >= 0.5 * (1.0 - 1e-9))
    assert len(pairs) > 5


def scaled(seed, scales=(1e8, 1e-8, 1.0, 1.0, 1e4, 1e-4), n=40):
    """A binary hinge on columns of such sizes, which a linear rule tells apart for every other seed."""
    rng = np.random.default_rng(seed)
    X, noise = rng.normal(size=(n, len(scales))), (seed % 2) * rng.normal(size=n)
    return X * np.array(scales), np.where(X[:, 2] + noise > 0.0, 1, -1)


@pytest.mark.quick("subgd-3", "sublbfgs-0", "lbfgs-0")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("solver", ["gd", "subgd", "lbfgs", "sublbfgs"])
def test_scores_that_come_back_from_far_away_are_those_of_w(solver, seed):
    """After a first step of length 1 they are 1e16, and cancel; f is looked at in long doubles."""
    X, y = scaled(seed)
    problem = solvers.make_problem(X, y, loss="binary-hinge", penalty="l2", lam=1e-2)
    params = {"first_step": "unit"} if solver in ("gd", "lbfgs") else {}
    for it in itertools.islice(solvers.make_solver(solver, **params).iterate(problem), 40):
        w, wide = it.w.astype(np.longdouble), X.astype(np.longdouble)
        lack = 1.0 - y * (wide @ w)
        f = np.maximum(lack, 0.0).mean() + 0.005 * w @ w
        # what rounding does to scores that are computed from w
        noise = 1e-12 * (np.abs(X) @ np.abs(it.w)).max()
        assert abs(it.objective - f) <= noise + 1e-12 * f
        tied = problem.loss.ties(it.point.scores)
        assert np.abs(lack[tied]).max(initial=0.0) <= 2.1e-10 + noise


def test_a_point_that_many_tiny_steps_lead_off_the_margin_does_not_count_as_on_it():
    """Each goes 5e-11 along a weight, to the margin of a point with this weight alone, and a last point has
    all weights: less than what counts as on its margin, but 2e-9 in all."""
    steps, size = 40, 5e-11
    X = np.vstack([np.ones(steps + 1), np.eye(steps, steps + 1, 1) / size, np.zeros(steps + 1)])
    y = np.append(np.ones(steps + 1), -1.0)
    problem = solvers.make_problem(X, y, loss="binary-hinge", penalty="l2", lam=1e-9)
    point = problem.at(np.eye(steps + 1)[0])
    assert problem.loss.ties(point.scores).tolist() == [0]
    for j in range(1, steps + 1):
        found = problem.line(point, np.eye(steps + 1)[j]).exact()
        assert found.t == pytest.approx(size)
        point = found.point
        off = X @ point.w - y
        assert np.abs(off[problem.loss.ties(point.scores)]).max() <= 2.1e-10
    assert off[0] > 1e-9
