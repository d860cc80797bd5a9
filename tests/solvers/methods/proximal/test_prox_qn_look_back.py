"""Shrinking without looking back: where it ends, what it says of that, and what it leaves as it was."""

import numpy as np
import pytest
from scipy.optimize import minimize

from solverscope import datasets, solvers
from solverscope.solvers import ACTIVE, make_solver, solve


def pictures(ratio):
    """Logistic regression on 64 pixels; X, y and λ for other code too."""
    data = datasets.load("digits", positive="3")
    problem = solvers.make_problem(data, loss="logistic", penalty="l1", lam_ratio=ratio)
    return problem, np.asarray(data.train.X, dtype=float), np.asarray(data.train.y, dtype=float)


def scipys_optimum(X, y, lam):
    """The least mean of log(1 + exp(-y Xw)) + λ‖w‖₁, over w = u - v with u, v ≥ 0."""
    n, d = X.shape

    def f(uv):
        z = -y * (X @ (uv[:d] - uv[d:]))
        g = X.T @ (-y / (1.0 + np.exp(-z))) / n
        return np.logaddexp(0.0, z).mean() + lam * uv.sum(), np.concatenate([g, -g]) + lam

    found = minimize(
        f,
        np.zeros(2 * d),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * (2 * d),
        options={"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return found.fun


@pytest.fixture(scope="module")
def wrong():
    problem, X, y = pictures(0.001)
    never = solve(problem, make_solver("prox-qn", look_back=False), tol=1e-8, probes=[ACTIVE])
    return problem, X, y, never


def test_it_ends_at_the_optimum_of_the_weights_that_are_left_by_other_code(wrong):
    problem, X, y, never = wrong
    left = np.flatnonzero(never.w)
    assert 0 < len(left) <= never.working_set[-1] < problem.size
    assert never.objective[-1] == pytest.approx(scipys_optimum(X[:, left], y, problem.lam), rel=1e-8)
    assert never.objective[-1] > 1.001 * scipys_optimum(X, y, problem.lam)


def test_it_never_says_that_it_converged_where_it_did_not_and_says_how_far_it_is(wrong):
    problem, _, _, never = wrong
    violation = problem.at(never.w).violation()
    assert violation > 1e3 * 1e-8 * problem.violation_at_zero()
    assert never.status == "stalled"
    assert f"on the {never.working_set[-1]} of 64 weights that are left" in never.message
    assert f"over all weights the violation is {violation:.3g}" in never.message
    assert never.result["violation"] == violation
    reached = solve(problem, make_solver("prox-qn"), tol=1e-8).objective[-1]
    assert never.result["dual_gap"] >= never.objective[-1] - reached > 0.0, "what is proved holds"


def test_where_no_guess_was_wrong_it_converges():
    problem, _, _ = pictures(0.02)
    never = solve(problem, make_solver("prox-qn", look_back=False), tol=1e-8)
    assert (never.status, never.epoch.max()) == ("converged", 0)
    assert problem.at(never.w).violation() <= 1e-8 * problem.violation_at_zero()
    assert never.working_set[-1] < problem.size


def test_no_weight_comes_back_and_until_an_epoch_ends_nothing_is_different(wrong):
    problem, _, _, never = wrong
    assert (np.diff(never.working_set) <= 0).all()
    assert never.returned.max() <= 0
    usual = solve(problem, make_solver("prox-qn"), tol=1e-8)
    first = int(np.argmax(usual.epoch >= 1))
    assert first > 3
    np.testing.assert_array_equal(usual.objective[: first + 1], never.objective[: first + 1])
    np.testing.assert_array_equal(usual.working_set[:first], never.working_set[:first])


def test_without_shrinking_there_is_nothing_to_look_back_at():
    problem, _, _ = pictures(0.005)
    plain, never = (
        solve(problem, make_solver("prox-qn", shrinking=False, look_back=look_back), tol=1e-6)
        for look_back in (True, False)
    )
    assert plain.status == never.status == "converged"
    np.testing.assert_array_equal(plain.w, never.w)
