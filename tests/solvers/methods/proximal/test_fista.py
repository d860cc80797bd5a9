"""FISTA and SpaRSA: what their steps promise, recomputed from their iterates."""

import itertools

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.problems.certificates.certificate import duality_gap
from solverscope.solvers.problems.lipschitz import overall_constant
from tests.solvers.helpers import MAKERS
from tests.solvers.oracles import Oracle

CASES = [
    ("multiclass", "multiclass-squared-hinge", "l1-l2"),
    ("multilabel", "multilabel-squared-hinge", "sparse-group"),
    ("binary", "logistic", "elastic-net"),
    ("sequences", "chain-crf", "l1-linf"),
]


@pytest.fixture(params=CASES, ids="/".join)
def case(request):
    kind, loss, penalty = request.param
    data = MAKERS[kind]()
    problem = solvers.make_problem(data, loss=loss, penalty=penalty, lam_ratio=0.1)
    return problem, Oracle(data, loss, penalty, problem.lam, problem.average)


def iterates(solver, problem, n, **params):
    found = itertools.islice(solvers.make_solver(solver, **params).iterate(problem), n)
    return [(it, it.w.copy()) for it in found]


def reference(problem, oracle, steps):
    """x_1, x_2, ... of Beck and Teboulle's recursion with the steps given, from plain gradients."""
    x = y = np.zeros(problem.size)
    t = 1.0
    for step in steps:
        new = problem.penalty.prox(y - step * oracle.gradient(y), step)
        following = (1 + np.sqrt(1 + 4 * t * t)) / 2
        y = new + (t - 1) / following * (new - x)
        x, t = new, following
        yield x


def test_iterates_are_those_of_the_recursion(case):
    problem, oracle = case
    found = iterates("fista-ls", problem, 30)
    for (_, w), x in zip(
        found[1:], reference(problem, oracle, [it.step for it, _ in found[1:]]), strict=True
    ):
        np.testing.assert_allclose(w, x, atol=1e-10)


def test_the_step_never_grows_and_falls_by_beta(case):
    problem, _ = case
    found = [it for it, _ in iterates("fista-ls", problem, 40, beta=0.3)][1:]
    for before, it in itertools.pairwise(found):
        assert it.step == pytest.approx(before.step * 0.3 ** (it.ls_trials - 1))
        assert ("backtracked" in it.events) == (it.ls_trials > 1)


def test_constant_steps_are_one_over_the_lipschitz_constant():
    problem = solvers.make_problem(MAKERS["multiclass"](), loss="multiclass-squared-hinge", penalty="l1-l2")
    for constant in ("tight", "paper"):
        steps = [it.step for it, _ in iterates("fista-cst", problem, 6, constant=constant)][1:]
        assert steps == [1.0 / overall_constant(problem, constant)] * 5


def test_the_objective_keeps_below_the_bound_of_the_theorem():
    """f(x_k) - f* <= 2K‖x_0 - x*‖²/(k + 1)²; theorem 4.4 of Beck and Teboulle."""
    problem = solvers.make_problem(MAKERS["multiclass"](), loss="multiclass-squared-hinge", penalty="l1-l2")
    best = solvers.solve(problem, solvers.make_solver("sparsa"), tol=1e-9, max_iter=20_000)
    K, f_star = overall_constant(problem, "tight"), best.result["objective"]
    for it, _ in iterates("fista-cst", problem, 200)[1:]:
        assert it.objective - f_star <= 2 * K * (best.w @ best.w) / (it.iteration + 1) ** 2


def test_the_violation_is_told_where_it_is_known_and_ends_the_run(case):
    problem, oracle = case
    solver = solvers.make_solver("fista-ls", tol=1e-4)
    found = [(it.violation, it.w.copy()) for it in solver.iterate(problem)]
    at_zero = oracle.violation(np.zeros(problem.size))
    for violation, w in found:
        if not np.isnan(violation):
            assert violation == pytest.approx(oracle.violation(w), rel=1e-6)
    assert found[-1][0] <= 1e-4 * at_zero
    assert all(not v <= 1e-4 * at_zero for v, _ in found[:-1])


def test_restarts_forget_the_momentum_and_pay():
    problem = solvers.make_problem(MAKERS["multiclass"](), loss="multiclass-squared-hinge", penalty="l1-l2")
    spent = [
        len(solvers.solve(problem, solvers.make_solver("fista-ls", restart=on), tol=1e-8, max_iter=5000))
        for on in (True, False)
    ]
    assert spent[0] < spent[1]


def test_sparsa_steps_are_secants_and_low_enough(case):
    problem, oracle = case
    M, sigma = 2, 0.01
    found = iterates("sparsa", problem, 40, M=M, sigma=sigma)
    values = [oracle.objective(w) for _, w in found]
    for k in range(1, len(found)):
        (_, w), (it, w_new) = found[k - 1], found[k]
        d, t = w_new - w, it.step
        np.testing.assert_allclose(
            w_new, problem.penalty.prox(w - t * oracle.gradient(w), t), atol=1e-9 * np.abs(w_new).max()
        )
        bound = max(values[max(0, k - 1 - M) : k]) - 0.5 * sigma / t * (d @ d)
        assert values[k] <= bound + 1e-13 * abs(bound)
        if 1 < k < 12 and it.ls_trials == 1:
            s = w - found[k - 2][1]
            y = oracle.gradient(w) - oracle.gradient(found[k - 2][1])
            assert t == pytest.approx((s @ s) / (s @ y), rel=1e-6)


def test_sparsa_without_memory_never_rises(case):
    problem, _ = case
    values = [it.objective for it, _ in iterates("sparsa", problem, 60, M=0)]
    assert all(b <= a + 1e-14 * abs(a) for a, b in itertools.pairwise(values))


@pytest.mark.parametrize("loss", ["multiclass-squared-hinge", "multitask-squared-hinge"])
@pytest.mark.parametrize("penalty", ["l1", "l1-l2", "l1-linf", "sparse-group"])
def test_the_duality_gap_certifies_the_optimum(loss, penalty):
    """The bound holds anywhere, and closes at the answer."""
    problem = solvers.make_problem(MAKERS["multiclass"](), loss=loss, penalty=penalty, lam_ratio=0.1)
    trace = solvers.solve(problem, solvers.make_solver("sparsa"), tol=1e-10, max_iter=20_000)
    f_star = trace.result["objective"]
    assert duality_gap(problem, problem.at(trace.w)) <= 1e-8 * f_star
    rng = np.random.default_rng(0)
    for size in (0.0, 0.1, 1.0):
        point = problem.at(trace.w + size * rng.normal(size=problem.size))
        assert point.objective - duality_gap(problem, point) <= f_star * (1 + 1e-12)


def test_label_ranking_is_certified_too():
    problem = solvers.make_problem(MAKERS["multilabel"](), penalty="l1-l2", lam_ratio=0.1)
    trace = solvers.solve(problem, solvers.make_solver("sparsa"), tol=1e-10, max_iter=20_000)
    gap = duality_gap(problem, problem.at(trace.w))
    assert problem.loss.id == "multilabel-squared-hinge"
    assert gap <= 1e-8 * trace.result["objective"]
