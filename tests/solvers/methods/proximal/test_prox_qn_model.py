"""The quadratic model of Prox-QN, and its minimization by coordinate descent."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

from solverscope import solvers
from solverscope.solvers.curvature.memory import PairMemory
from solverscope.solvers.methods.proximal import prox_qn_model as module
from solverscope.solvers.methods.proximal.prox_qn import ProxQN
from solverscope.solvers.methods.proximal.prox_qn_model import InnerProblem, QuadraticModel
from solverscope.solvers.search.outcome import SearchLog, SearchResult
from tests.solvers.helpers import chains, multiclass


def random_memory(n, k, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    H, memory = root @ root.T / n + 0.1 * np.eye(n), PairMemory(None)
    for s in rng.normal(size=(k, n)):
        memory.push(s, H @ s)
    return memory


class Sized:
    """A problem of which the inner one only needs these."""

    def __init__(self, size, lam, rows=0):
        self.size, self.penalty = size, solvers.problems.penalties.L1(lam)
        self.design = SimpleNamespace(n_rows=rows, n_outputs=1)

    def pulse(self):
        pass


@pytest.mark.parametrize("order", ["cyclic", "random"])
@pytest.mark.parametrize("k", [0, 1, 6])
def test_the_inner_problem_is_solved_as_a_dense_one(order, k):
    n, lam, gamma = 25, 0.4, 1.7
    rng = np.random.default_rng(k)
    memory = random_memory(n, k)
    w, g = rng.normal(size=n) * (rng.random(n) < 0.5), rng.normal(size=n)
    B = memory.compact(gamma)
    dense = gamma * np.eye(n) - (B.Q @ B.Q_hat.T if k else 0.0)

    # d = p - q - w with p, q >= 0: a smooth problem with bounds
    def model(x):
        d = x[:n] - x[n:] - w
        slope = g + dense @ d
        return g @ d + 0.5 * d @ dense @ d + lam * x.sum(), np.concatenate([slope + lam, lam - slope])

    best = minimize(
        model,
        np.zeros(2 * n),
        jac=True,
        bounds=[(0, None)] * 2 * n,
        options={"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-10},
    )
    solver = ProxQN(max_inner=10_000, balance="off", order=order)
    d, _ = InnerProblem(solver, Sized(n * 10_000, lam)).solve(w, g, np.full(n, lam), memory, gamma)
    assert model(np.concatenate([np.maximum(w + d, 0), np.maximum(-w - d, 0)]))[0] == pytest.approx(
        best.fun, abs=1e-9
    )
    # the optimality conditions of the inner problem itself
    slope = g + dense @ d
    u = w + d
    assert np.where(u != 0, np.abs(slope + lam * np.sign(u)), np.maximum(np.abs(slope) - lam, 0)).max() < 1e-9


@pytest.mark.parametrize("sweeps", [1, 2, 7])
def test_every_sweep_leaves_exact_zeros_and_lowers_the_model(sweeps):
    """A weight that coordinate descent sets to zero is zero, not what rounding leaves of w + d."""
    n, lam, gamma = 200, 1.0, 1.3
    rng = np.random.default_rng(0)
    memory = random_memory(n, 5)
    w, g = rng.normal(size=n), rng.normal(size=n)
    d, done = InnerProblem(ProxQN(max_inner=sweeps, balance="off"), Sized(n, lam)).solve(
        w, g, np.full(n, lam), memory, gamma
    )
    assert done == sweeps
    left = np.abs(w + d)
    assert np.count_nonzero(left == 0) > 20
    assert not np.any((left > 0) & (left < 1e-12))
    B = memory.compact(gamma)
    Bd = gamma * d - B.Q @ (B.Q_hat.T @ d)
    assert g @ d + lam * (left.sum() - np.abs(w).sum()) <= -0.5 * d @ Bd


def test_sweeps_are_balanced_against_the_size_of_the_working_set(monkeypatch):
    monkeypatch.setattr("solverscope.solvers.methods.proximal.prox_qn_model.MIN_WORK", 0)
    n, memory = 30, random_memory(30, 3)
    w, g = np.zeros(n), np.random.default_rng(1).normal(size=n)
    for size, balance, max_inner, expected in (
        (30, "size", 30, 1),
        (59, "size", 30, 1),
        (100, "size", 30, 3),
        (10_000, "size", 30, 30),
        (10_000, "size", 4, 4),
        (30, "off", 6, 6),
        (10, "size", 30, 1),
        # no samples, so a sweep is never cheap: five of them once half of the weights have left
        (59, "work", 30, 1),
        (60, "work", 30, 5),
        (10_000, "work", 30, 5),
        (10_000, "work", 4, 4),
    ):
        solver = ProxQN(balance=balance, max_inner=max_inner)
        _, sweeps = InnerProblem(solver, Sized(size, 0.01)).solve(w, g, np.full(n, 0.01), memory, 1.0)
        assert sweeps == expected, (size, balance, max_inner)


def test_sweeps_that_cost_less_than_the_scores_are_not_saved(monkeypatch):
    monkeypatch.setattr("solverscope.solvers.methods.proximal.prox_qn_model.MIN_WORK", 0)
    n, memory = 30, random_memory(30, 3)  # B has rank 6
    w, g = np.zeros(n), np.random.default_rng(1).normal(size=n)
    for rows, balance, expected in ((180, "work", 8), (100_000, "work", 30), (100_000, "size", 1)):
        inner = InnerProblem(ProxQN(balance=balance), Sized(30, 0.01, rows))
        assert inner.solve(w, g, np.full(n, 0.01), memory, 1.0)[1] == expected, (rows, balance)


def test_sweeps_that_cost_less_than_the_calls_of_an_iteration_are_not_saved():
    """Of 10,000 updates or less: beyond, the scores alone decide, so large problems are as they were."""
    w, g = np.zeros(300), np.random.default_rng(1).normal(size=300)
    for rows, expected in ((0, 5), (1_250, 5), (1_350, 6), (100_000, 30)):
        inner = InnerProblem(ProxQN(), Sized(300, 0.01, rows))
        found = inner.solve(w, g, np.full(300, 0.01), random_memory(300, 3), 1.0)[1]
        assert found == expected == min(max(10_000, 8 * rows) // 1_800, 30), rows


@pytest.mark.parametrize("make", [multiclass, chains])
def test_the_metric_is_the_diagonal_of_the_hessian(make):
    problem = solvers.make_problem(make(n=30, d=12), lam_ratio=0.1)
    rng = np.random.default_rng(0)
    w = 0.1 * rng.normal(size=problem.size)
    h = problem.at(w).hessian_diagonal(problem.design.working_set())
    step = 1e-5
    for j in rng.choice(problem.size, 25, replace=False):
        e = np.zeros(problem.size)
        e[j] = step
        second = (problem.at(w + e).gradient()[j] - problem.at(w - e).gradient()[j]) / (2 * step)
        # of a chain, covariances between tokens are left out
        assert h[j] == pytest.approx(second, rel=1e-4, abs=1e-9) or make is chains
    part = problem.design.working_set(np.arange(3, problem.size, 4))
    np.testing.assert_allclose(problem.at(w).hessian_diagonal(part), h[3::4], rtol=1e-12)


def test_long_sweeps_are_cut_and_pulse_in_between(monkeypatch):
    n, memory = 30, random_memory(30, 3)
    rng = np.random.default_rng(1)
    w, g = rng.normal(size=n), rng.normal(size=n)
    whole = Sized(300, 0.1)
    d, _ = InnerProblem(ProxQN(), whole).solve(w, g, np.full(n, 0.1), memory, 1.0)
    monkeypatch.setattr(module, "SWEEP_CHUNK", 7)
    beats = []
    whole.pulse = lambda: beats.append(1)
    cut, sweeps = InnerProblem(ProxQN(), whole).solve(w, g, np.full(n, 0.1), memory, 1.0)
    np.testing.assert_array_equal(cut, d)
    assert len(beats) == 5 * sweeps


@pytest.mark.parametrize("diagonal", ["on", "off"])
def test_it_goes_over_to_another_working_set_with_its_pairs_and_their_unit(diagonal):
    """Old members keep their pairs, in the unit of D at the new point; on new ones B is γD."""
    problem = solvers.make_problem(multiclass(n=60, d=12), lam_ratio=0.1)
    rng, design = np.random.default_rng(0), problem.design
    model, old = QuadraticModel(ProxQN(diagonal=diagonal), problem), np.arange(0, problem.size, 2)
    new = np.sort(np.concatenate([old[:-3], [1, 5]]))
    for w, members in ((np.zeros(problem.size), old), (0.3 * rng.normal(size=problem.size), new)):
        A, point = (
            design.working_set(members),
            problem.at(np.where(np.isin(np.arange(w.size), members), w, 0)),
        )
        model.restrict_to(A)
        model.search(point, A, point.gradient(A))
        if members is old:
            S, Y = rng.normal(size=(2, 2, old.size))
            Y += 3.0 * S
            for s, y in zip(S, Y, strict=True):
                model.push_pair(s, y)
    known = np.isin(new, old)
    D = model.metric.root**2
    h = point.hessian_diagonal(A)
    np.testing.assert_allclose(D, h**0.5 if diagonal == "on" else np.ones(new.size), rtol=1e-12)
    for s, y, given, change in zip(model.memory.S, model.memory.Y, S, Y, strict=True):
        np.testing.assert_allclose(s[known], D[known] ** 0.5 * given[:-3], rtol=1e-12)
        np.testing.assert_allclose(y[known], change[:-3] / D[known] ** 0.5, rtol=1e-12)
        assert not s[~known].any()
        assert not y[~known].any()


def test_a_search_that_fails_says_so_and_is_made_again_without_pairs(monkeypatch):
    problem = solvers.make_problem(multiclass(n=60, d=12), lam_ratio=0.1)
    model, A, point = QuadraticModel(ProxQN(), problem), problem.design.working_set(), problem.at()
    model.restrict_to(A)
    found = model.search(point, A, point.gradient())
    model.push_pair(found.t * found.search.d, found.point.gradient() - point.gradient())
    armijo, asked = module.Problem.line, []

    def line(self, point, d, active):
        asked.append(len(model.memory))
        made = armijo(self, point, d, active)
        if len(asked) == 1:
            monkeypatch.setattr(made, "armijo", lambda *_, **__: SearchResult(point, 0.0, SearchLog(0.0), 30))
        return made

    monkeypatch.setattr(module.Problem, "line", line)
    model.record()
    assert model.search(found.point, A, found.point.gradient()).t > 0.0
    assert asked == [1, 0]
    assert model.events == ("search-failed", "memory-cleared")


def test_many_pairs_are_kept_where_they_cost_less_than_the_rest_of_an_iteration():
    """Letters have many samples and few weights, chains of this size do not."""
    few, most = (
        solvers.solve(each, ProxQN(), tol=1e-10, max_iter=90).memory_pairs.max()
        for each in (
            solvers.make_problem(chains(n=60, d=600, m=4, density=0.15), lam_ratio=0.05),
            solvers.make_problem(multiclass(n=4_000, d=20), lam_ratio=1e-4),
        )
    )
    assert few <= 30 < most <= 100
