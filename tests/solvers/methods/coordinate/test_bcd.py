"""Block coordinate descent: its steps against plain NumPy, its scores, shrinking and stopping rules."""

import itertools

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.solvers.declare import Trait
from solverscope.solvers.methods.coordinate import bcd
from solverscope.solvers.problems.lipschitz import block_constants
from tests.solvers.helpers import MAKERS, dense_of, losses_with, problem_of
from tests.solvers.oracles import LOSSES, Oracle

PAIRS = losses_with(Trait.ROW_KERNELS)
LIPSCHITZ = losses_with(Trait.ROW_KERNELS, Trait.LIPSCHITZ)
PENALTIES = ["elastic-net", "l1-l2", "sparse-group", "l1-linf"]


def with_oracle(kind="multiclass", loss="multiclass-squared-hinge", penalty="l1-l2", ratio=0.1, **options):
    """A problem, and its formula."""
    data = MAKERS[kind](**options)
    problem = problem_of(data, loss, penalty, lam_ratio=ratio)
    return problem, Oracle(data, loss, penalty, problem.lam, problem.average)


def passes(solver, problem, n, **params):
    found = itertools.islice(solvers.make_solver(solver, **params).iterate(problem), n + 1)
    return [(it, it.w.copy()) for it in found]


@pytest.mark.parametrize(("kind", "loss"), LIPSCHITZ)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_random_pass_is_algorithm_2_row_by_row(kind, loss, penalty):
    """With Lipschitz constants, in the order drawn."""
    problem, oracle = with_oracle(kind, loss, penalty)
    solver = solvers.make_solver("bcd-cst", shrinking=False, seed=4)
    w, K = np.zeros(problem.size), block_constants(problem, "tight")
    m = problem.loss.n_outputs
    for j in solver.sequence(np.arange(problem.design.n_features), 1):
        at = slice(j * m, (j + 1) * m)
        row = w[at] - oracle.gradient(w)[at] / K[j]
        w[at] = problem.penalty.prox(row, 1.0 / K[j])
    found = passes("bcd-cst", problem, 1, shrinking=False, seed=4)[1][1]
    np.testing.assert_allclose(found, w, atol=1e-12)
    assert np.count_nonzero(w)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_cyclic_pass_searches_with_the_second_derivatives(penalty):
    """𝓛_j = ‖h_j‖_∞ by (6), then the first of 1, ω, ω², ... that satisfies (7)."""
    problem, oracle = with_oracle(penalty=penalty, n=40, d=5)
    X, w, m = dense_of(oracle.data.train.X), np.zeros(problem.size), problem.loss.n_outputs
    ridge, trials = problem.penalty.ridge, 0
    for j in range(5):
        at = slice(j * m, (j + 1) * m)
        G = LOSSES[oracle.loss](X @ w.reshape(5, m), np.zeros(0), oracle.data)[1]
        h = 2.0 * (G > 0)
        h[np.arange(40), oracle.data.train.y] = h.sum(axis=1)
        L = max(((X[:, j] ** 2) @ h).max() / 40 + ridge, 1e-12)
        g = oracle.gradient(w)[at]
        delta = problem.penalty.prox(w[at] - g / L, 1.0 / L) - w[at]
        f, t = oracle.objective(w), 1.0
        kinks = problem.penalty.value(w[at] + delta) - problem.penalty.value(w[at])
        kinks -= 0.5 * ridge * ((w[at] + delta) @ (w[at] + delta) - w[at] @ w[at])
        while delta.any():
            trial = w.copy()
            trial[at] += t * delta
            trials += 1
            if oracle.objective(trial) <= f + 0.01 * t * (g @ delta + kinks) + 1e-14 * f:
                w = trial
                break
            t *= 0.5
    it, found = passes("bcd-ls", problem, 1, order="cyclic", lengthen=1.0)[1]
    np.testing.assert_allclose(found, w, atol=1e-11)
    assert it.ls_trials == trials


@pytest.mark.parametrize(("kind", "loss"), PAIRS)
def test_the_objective_never_rises(kind, loss):
    problem, _ = with_oracle(kind, loss)
    for solver in ("bcd-ls", "bcd-cst") if (kind, loss) in LIPSCHITZ else ("bcd-ls",):
        values = [it.objective for it, _ in passes(solver, problem, 30)]
        assert all(b <= a + 1e-13 * a for a, b in itertools.pairwise(values))


def test_scores_kept_through_many_updates_are_those_computed_afresh(monkeypatch):
    monkeypatch.setattr(bcd, "REFRESH", 10**9)
    problem, _ = with_oracle(d=20, ratio=0.01)
    monkeypatch.setattr(type(problem), "noise", 0.0)  # goes on where only rounding is left
    iterates = solvers.make_solver("bcd-cst", shrinking=False, tol=0.0).iterate(problem)
    for _ in range(5001):
        it = next(iterates)
    fresh = problem.at(it.w)
    assert it.iteration * 20 == 100_000
    np.testing.assert_allclose(it.point.scores.Z, fresh.scores.Z, atol=1e-9)
    assert it.objective == pytest.approx(fresh.objective, rel=1e-12)


@pytest.mark.parametrize("solver", ["bcd-ls", "bcd-cst"])
@pytest.mark.parametrize("penalty", ["l1-l2", "sparse-group", "l1"])
def test_shrinking_leaves_rows_out_and_leads_to_the_same_optimum(solver, penalty):
    problem, oracle = with_oracle(penalty=penalty, d=40, density=0.8, ratio=0.3)
    runs = {
        on: solvers.solve(problem, solvers.make_solver(solver, shrinking=on), tol=1e-8, max_iter=20_000)
        for on in (True, False)
    }
    assert min(runs[True].working_set) < problem.size
    assert set(runs[False].working_set) == {problem.size}
    assert runs[True].result["objective"] == pytest.approx(runs[False].result["objective"], rel=1e-12)
    for trace in runs.values():
        assert oracle.violation(trace.w) <= 1e-7 * oracle.violation(np.zeros(problem.size))


def test_a_pass_takes_every_active_row_once_in_an_order_of_its_own():
    solver, active = solvers.make_solver("bcd-ls"), np.array([2, 3, 5, 7, 11, 13])
    orders = [solver.sequence(active, n) for n in range(20)]
    assert all(sorted(order) == active.tolist() for order in orders)
    assert len({tuple(order) for order in orders}) > 15
    assert solver.sequence(active, 3).tolist() == orders[3].tolist()
    other = solvers.make_solver("bcd-ls", seed=1)
    assert other.sequence(active, 3).tolist() != orders[3].tolist()
    assert solvers.make_solver("bcd-ls", order="cyclic").sequence(active, 3).tolist() == active.tolist()


def test_rows_left_out_come_back_before_the_rest_has_converged():
    problem, _ = with_oracle(n=200, d=60, density=0.8, ratio=0.1)
    epochs = {}
    for revisit in (0.1, 0.0):
        trace = solvers.solve(
            problem, solvers.make_solver("bcd-ls", revisit=revisit), tol=1e-8, max_iter=5000
        )
        epoch, working_set = np.asarray(trace["epoch"]), np.asarray(trace["working_set"])
        assert trace.result["status"] == "converged"
        starts = np.flatnonzero(np.diff(epoch)) + 1
        assert (working_set[starts] == problem.size).all()
        epochs[revisit] = trace.result["epochs"]
    assert epochs[0.1] > epochs[0.0]


def test_longer_steps_and_random_orders_halve_the_passes_on_pictures():
    data = datasets.load("digits")
    problem = solvers.make_problem(data, loss="multiclass-squared-hinge", penalty="l1-l2", lam=0.01)
    f_star = 0.4443273274050  # by lightning: tests/benchmarks/test_l1l2_speed.py

    def passes_to_1e_6(**params):
        solver = solvers.make_solver("bcd-ls", moves=0, **params)
        result = solvers.solve(problem, solver, gap=1e-6, f_star=f_star, max_iter=1000).result
        assert result["status"] == "converged"
        return result["iterations"]

    shorter = passes_to_1e_6(lengthen=1.0)
    assert passes_to_1e_6() < 0.6 * shorter
    assert shorter < 0.8 * passes_to_1e_6(order="cyclic", lengthen=1.0)


@pytest.mark.parametrize("solver", ["bcd-ls", "bcd-cst"])
@pytest.mark.parametrize("rule", ["min-norm", "paper"])
def test_both_stopping_rules_end_the_run(solver, rule):
    problem, oracle = with_oracle(d=12)
    iterates, ending = solvers.make_solver(solver, rule=rule, tol=1e-4).iterate(problem), None
    while ending is None:
        try:
            it = next(iterates)
        except StopIteration as end:
            ending = end.value
    assert ending.status == "converged"
    assert it.violation == pytest.approx(oracle.violation(it.w), rel=1e-6)
    if rule == "min-norm":
        assert it.violation <= 1e-4 * oracle.violation(np.zeros(problem.size))


@pytest.mark.parametrize("penalty", ["l1-l2", "l1"])
@pytest.mark.parametrize("solver", ["bcd-ls", "bcd-cst"])
def test_a_warm_start_saves_passes(solver, penalty):
    """It ends where a cold start would: by violations relative to those of a first pass from zero."""
    problem, oracle = with_oracle(penalty=penalty, n=200, d=40, density=0.8, ratio=0.05)
    solver = solvers.make_solver(solver, tol=1e-5)
    near = solvers.solve(problem.at_lam(1.2 * problem.lam), solver, tol=1e-5).w
    cold = solvers.solve(problem, solver, tol=0.0, max_iter=5000)
    warm = solvers.solve(problem, solver, tol=0.0, max_iter=5000, w0=near)
    assert cold.result["status"] == warm.result["status"] == "converged"
    assert warm.result["iterations"] < cold.result["iterations"]
    assert oracle.violation(warm.w) <= 1.001e-5 * oracle.violation(np.zeros(problem.size))


@pytest.mark.parametrize("solver", ["bcd-ls", "bcd-cst"])
def test_the_papers_rule_asks_for_less_than_the_first_pass_met_wherever_it_began(solver):
    problem, _ = with_oracle(penalty="l1-l2", n=200, d=40, density=0.8, ratio=0.05)
    near = solvers.solve(problem, solvers.make_solver(solver), tol=1e-5).w
    for rule, one_pass in (("paper", False), ("min-norm", True)):
        chosen = solvers.make_solver(solver, rule=rule, tol=1e-2)
        trace = solvers.solve(problem, chosen, tol=0.0, max_iter=5000, w0=near)
        assert trace.result["status"] == "converged"
        assert (trace.result["iterations"] == 1) == one_pass


def test_a_run_counts_the_entries_it_touches():
    problem, _ = with_oracle()
    trace = solvers.solve(problem, solvers.make_solver("bcd-cst", shrinking=False), max_iter=3)
    assert 0.5 < trace.passes[1] <= 1.0


def test_losses_that_do_not_fit_are_told_why():
    reason = "needs a loss with compiled kernels for single rows of scores"
    assert solvers.why_not_solver("bcd-ls", "chain-crf", "l1-l2") == reason
    bounded = "a loss with a Lipschitz gradient"
    assert solvers.why_not_solver("bcd-cst", "chain-crf", "l1-l2") == f"{reason} and {bounded}"
