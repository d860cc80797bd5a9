"""The family of Yu et al. on smooth losses: against SciPy and the textbook."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize

from solverscope import solvers
from tests.solvers.helpers import MAKERS, binary, multiclass
from tests.solvers.oracles import Oracle

FAMILY = ("gd", "subgd", "bfgs", "lbfgs", "subbfgs", "sublbfgs")


def steps(id, problem, most, **params):
    """Copies of what a solver yields."""
    found = []
    for it in itertools.islice(solvers.make_solver(id, **params).iterate(problem), most):
        found.append((it, it.w.copy(), it.gradient.copy()))
    return found


def by_scipy(problem):
    """The minimum of the same objective by L-BFGS-B."""

    def f(w):
        point = problem.at(w)
        return point.objective, point.gradient()

    options = {"maxcor": 15, "maxiter": 5000, "ftol": 0.0, "gtol": 1e-11, "maxfun": 20_000}
    return scipy.optimize.minimize(
        f, np.zeros(problem.size), jac=True, method="L-BFGS-B", options=options
    ).fun


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("id", ["lbfgs", "bfgs"])
def test_the_minimum_of_a_smooth_loss_is_that_of_scipy(id, kind):
    data = MAKERS[kind]()
    loss = next(c for c in solvers.losses_for(kind) if solvers.Trait.SMOOTH in solvers.LOSSES[c].traits)
    problem = solvers.make_problem(data, loss=loss, penalty="l2", average=True, lam=1e-2)
    trace = solvers.solve(problem, solvers.make_solver(id), tol=1e-9, max_iter=2000)
    assert trace.status == "converged"
    assert trace.objective[-1] == pytest.approx(by_scipy(problem), rel=1e-8)
    formula = Oracle(data, loss, "l2", 1e-2, True)
    assert formula.violation(trace.w) <= 1e-6 * formula.violation(np.zeros(problem.size))


@pytest.mark.parametrize("search", ["wolfe", "ils"])
def test_accepted_steps_satisfy_the_wolfe_conditions(search):
    problem = solvers.make_problem(binary(), penalty="l2", lam=1e-3)
    found = steps("lbfgs", problem, 25, line_search=search, c1=0.1, c2=0.5)
    for (before, w, g), (it, w_new, g_new) in itertools.pairwise(found):
        s = w_new - w
        assert it.ls_kind == "wolfe"
        assert it.objective <= before.objective + 0.1 * (g @ s) + 1e-13 * before.objective
        assert g_new @ s >= 0.5 * (g @ s)
        np.testing.assert_allclose(s, it.step * before.live["direction"].p, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("id", FAMILY)
def test_an_exact_step_ends_where_the_slope_is_zero(id):
    problem = solvers.make_problem(multiclass(), loss="multiclass-logistic", penalty="l2", lam=1e-2)
    found = steps(id, problem, 8, line_search="exact")
    for (_, w, g), (it, w_new, g_new) in itertools.pairwise(found):
        assert it.ls_kind == "exact"
        assert abs(g_new @ (w_new - w)) <= 1e-6 * abs(g @ (w_new - w))


@pytest.mark.parametrize(("full", "limited"), [("bfgs", "lbfgs"), ("subbfgs", "sublbfgs")])
def test_without_scaling_limited_memory_is_the_full_matrix_while_all_pairs_are_kept(full, limited):
    loss = "logistic" if full == "bfgs" else "binary-hinge"
    problem = solvers.make_problem(binary(), loss=loss, penalty="l2", lam=1e-1)
    # exact steps end on kinks, where rounding chooses the subgradient
    plain = {"line_search": "wolfe", "scaled": False}
    of_full = plain if full == "bfgs" else {"line_search": "wolfe"}
    one, other = steps(full, problem, 8, **of_full), steps(limited, problem, 8, **plain)
    for (_, w, _), (_, w_limited, _) in zip(one, other, strict=True):
        np.testing.assert_allclose(w, w_limited, rtol=1e-9, atol=1e-12)
    last = other[-1][0]
    assert (last.memory_pairs, last.gamma) == (7, 1.0)


@pytest.mark.parametrize("id", ["subbfgs", "sublbfgs"])
def test_pairs_that_would_take_the_matrix_beyond_H_are_skipped_and_the_optimum_stays(id):
    problem = solvers.make_problem(binary(), loss="binary-hinge", penalty="l2", lam=1e-1)
    free = solvers.solve(problem, solvers.make_solver(id), max_iter=200)
    bound = solvers.solve(problem, solvers.make_solver(id, H=2.0), max_iter=200)
    skipped = [n for n, events in enumerate(bound.events) if "curvature-skipped" in events]
    assert skipped
    assert not any("curvature-skipped" in events for events in free.events)
    assert bound.objective[-1] == pytest.approx(free.objective[-1], rel=1e-3)


@pytest.mark.parametrize(("plain", "sub"), [("gd", "subgd"), ("lbfgs", "sublbfgs")])
def test_where_f_is_smooth_direction_finding_changes_nothing(plain, sub):
    problem = solvers.make_problem(binary(), penalty="l2", lam=1e-2)
    one, other = (steps(id, problem, 10, line_search="exact") for id in (plain, sub))
    for (_, w, _), (it, w_sub, _) in zip(one, other, strict=True):
        np.testing.assert_allclose(w, w_sub, rtol=1e-9, atol=1e-12)
        assert it.inner_iterations == 0


def test_the_gap_is_proved_by_the_ridge_and_never_rises():
    problem = solvers.make_problem(binary(), penalty="l2", lam=1e-2)
    best, found = by_scipy(problem), steps("lbfgs", problem, 30)
    bounds = [it.objective - it.dual_gap for it, _, _ in found]
    assert all(bound <= best * (1.0 + 1e-12) for bound in bounds)
    assert min(np.diff(bounds)) >= -1e-15
    lows = [it.objective - g @ g / (2.0 * 1e-2) for it, _, g in found]
    np.testing.assert_allclose(bounds, np.maximum.accumulate(lows), rtol=1e-10)
    assert found[-1][0].dual_gap < 1e-6


def test_the_record_tells_pairs_scaling_and_curvature():
    problem = solvers.make_problem(binary(), penalty="l2", lam=1e-2)
    found = steps("lbfgs", problem, 9, memory=3)
    assert [it.memory_pairs for it, _, _ in found] == [0, 1, 2, 3, 3, 3, 3, 3, 3]
    for (_, w, g), (it, w_new, g_new) in itertools.pairwise(found):
        s, y = w_new - w, g_new - g
        assert it.curvature == pytest.approx(s @ y)
        assert it.gamma == pytest.approx(y @ y / (s @ y))


def test_a_matrix_too_large_for_memory_is_refused_in_a_sentence(monkeypatch):
    problem = solvers.make_problem(binary(d=40), penalty="l2", lam=1e-2)
    assert solvers.make_solver("bfgs").refuses(problem) is None
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=20_000))
    for id, other in (("bfgs", "lbfgs"), ("subbfgs", "sublbfgs")):
        sentence = solvers.make_solver(id).refuses(problem)
        assert sentence.startswith(f"{id} keeps a matrix of 40 x 40 entries")
        assert f"take {other}" in sentence
    assert solvers.make_solver("lbfgs").refuses(problem) is None


def test_what_fits_is_derived():
    for id in FAMILY:
        assert solvers.why_not_solver(id, "logistic", "none") is None
        assert solvers.why_not_solver(id, "binary-hinge", "l2") is None
        assert solvers.why_not_solver(id, "logistic", "l1") == "needs a smooth penalty"
        assert "needs a smooth penalty" in solvers.why_not_solver(id, "logistic", "elastic-net")
