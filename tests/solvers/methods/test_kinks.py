"""The family of Yu et al. on hinge losses: what is proved, where one subgradient is not enough."""

import itertools

import numpy as np
import pytest

import datasets
import solvers
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
    assert "leads nowhere down from this kink" in searched.message
    forced = solvers.solve(problem, solvers.make_solver("lbfgs", first_step="unit"), max_iter=40)
    assert forced.ls_kind[1] == "none"
    assert forced.step[1] == 1.0
    assert len(forced) > 7
    assert forced.objective[-1] < forced.objective[0]


def test_on_leukemia_lbfgs_breaks_at_a_kink_and_sublbfgs_goes_on():
    """Figure 4, left; tests/benchmarks/test_yu.py does it for more λ."""
    problem = solvers.make_problem(datasets.load("leukemia"), loss="binary-hinge", penalty="l2", lam=1e-4)
    broken = solvers.solve(problem, solvers.make_solver("lbfgs", line_search="exact"), max_iter=50)
    assert broken.status == "stalled"
    assert "leads nowhere down from this kink" in broken.message
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
