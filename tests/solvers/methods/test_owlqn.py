import itertools

import numpy as np
import pytest

import solvers
from solvers.methods import owlqn as module
from solvers.methods.owlqn import OWLQN
from tests.solvers.helpers import MAKERS, binary, chains
from tests.solvers.oracles import Oracle


def iterates(problem, most=60, w0=None, **params):
    """Iterates with copies of weights and gradient."""
    out = []
    for it in itertools.islice(OWLQN(**params).iterate(problem, w0), most):
        out.append((it, it.w.copy(), it.gradient.copy()))
    return out


@pytest.fixture(params=["binary", "sequences"])
def case(request):
    data = MAKERS[request.param]()
    problem = solvers.make_problem(data, lam_ratio=0.1)
    return problem, Oracle(data, data.loss, "l1", problem.lam, problem.average)


def test_the_violation_is_that_of_the_pseudo_gradient(case):
    problem, oracle = case
    for it, w, g in iterates(problem, 12):
        np.testing.assert_allclose(g, oracle.gradient(w), atol=1e-11)
        assert it.violation == pytest.approx(oracle.violation(w), rel=1e-8, abs=1e-12)
        assert it.objective == pytest.approx(oracle.objective(w), rel=1e-12)


def test_accepted_steps_satisfy_the_displacement_test(case):
    problem, _ = case
    found = iterates(problem, 25, sigma=0.1)
    for (before, w, g), (it, w_new, _) in itertools.pairwise(found):
        v = np.where(w != 0, g + problem.lam * np.sign(w), np.sign(g) * np.maximum(abs(g) - problem.lam, 0))
        promised = 0.1 * v @ (w_new - w)
        assert it.objective <= before.objective + promised + 1e-14 * abs(before.objective)
        assert np.any(w_new != w)


def test_weights_stay_in_the_orthant_and_zeros_carry_no_sign(case):
    problem, _ = case
    for (_, w, g), (_, w_new, _) in itertools.pairwise(iterates(problem, 40)):
        v = np.where(w != 0, g + problem.lam * np.sign(w), np.sign(g) * np.maximum(abs(g) - problem.lam, 0))
        orthant = np.where(w != 0, np.sign(w), -np.sign(v))
        assert np.all(w_new * orthant >= 0)
        assert not np.any(np.signbit(w_new) & (w_new == 0))
        assert np.all(w_new[orthant == 0] == 0)


def test_the_first_step_is_tried_at_the_length_of_the_gradient(case):
    problem, _ = case
    (start, w, _), (first, w1, _) = iterates(problem, 2)
    v = problem.penalty.subgradient(w, start.point.problem.at(w).gradient())
    assert first.step == pytest.approx(0.1 ** (first.ls_trials - 1) / np.linalg.norm(v))
    np.testing.assert_allclose(w1, -first.step * v, atol=1e-12)


def test_pairs_are_those_of_the_smooth_part(case, monkeypatch):
    problem, oracle = case
    taken, push = [], module.PairMemory.push

    def spy(self, s, y):
        taken.append((s.copy(), y.copy()))
        return push(self, s, y)

    monkeypatch.setattr(module.PairMemory, "push", spy)
    found = iterates(problem, 8, memory=3)
    for (s, y), ((_, w, _), (it, w_new, _)) in zip(taken, itertools.pairwise(found), strict=True):
        np.testing.assert_allclose(s, w_new - w, rtol=1e-12)
        np.testing.assert_allclose(y, oracle.gradient(w_new) - oracle.gradient(w), atol=1e-10)
        assert it.curvature == pytest.approx(s @ y)
    assert [it.memory_pairs for it, *_ in found[1:]] == [1, 2, 3, 3, 3, 3, 3]


def test_the_direction_is_aligned_with_the_pseudo_gradient(case):
    problem, _ = case
    for (_, w, g), (_, w_new, _) in itertools.pairwise(iterates(problem, 30)):
        v = np.where(w != 0, g + problem.lam * np.sign(w), np.sign(g) * np.maximum(abs(g) - problem.lam, 0))
        assert np.all((w_new - w) * v <= 0)


def test_it_reaches_the_optimum(case):
    problem, oracle = case
    trace = solvers.solve(problem, OWLQN(), tol=1e-8, max_iter=2000)
    assert trace.status == "converged"
    assert oracle.violation(trace.w) <= 1.01e-8 * oracle.violation(np.zeros(problem.size))


def test_it_ends_where_no_step_decreases(case, monkeypatch):
    problem, _ = case
    monkeypatch.setattr(module, "decreases", lambda *args: False)
    generator = OWLQN().iterate(problem)
    next(generator)
    with pytest.raises(StopIteration) as end:
        next(generator)
    assert end.value.value.status == "stalled"


def test_a_failed_search_clears_the_memory_and_tries_again(monkeypatch):
    problem = solvers.make_problem(binary(), lam_ratio=0.1)
    generator, decreases = OWLQN().iterate(problem), module.decreases
    for _ in range(5):
        next(generator)
    calls = []

    def failing(*args):
        calls.append(1)
        return len(calls) > 40 and decreases(*args)

    monkeypatch.setattr(module, "decreases", failing)
    it = next(generator)
    assert "memory-cleared" in it.events
    assert it.memory_pairs == 1
    assert it.ls_trials > 40


def test_zero_at_lam_max_is_recognized_at_once():
    problem = solvers.make_problem(binary(), lam_ratio=1.0)
    trace = solvers.solve(problem, OWLQN(), tol=1e-6)
    assert (trace.status, trace.result["iterations"], trace.result["nnz"]) == ("converged", 0, 0)


def test_without_kinks_it_is_plain_lbfgs():
    """Weights may change their sign in a step where nothing keeps them from it."""
    problem = solvers.make_problem(chains(), penalty="l2", lam=0.1)
    w0 = np.random.default_rng(0).normal(size=problem.size)
    found = iterates(problem, 30, w0=w0)
    jumps = sum(np.count_nonzero(w * w_new < 0) for (_, w, _), (_, w_new, _) in itertools.pairwise(found))
    assert jumps > 0
