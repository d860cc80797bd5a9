import itertools

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.methods.proximal import owlqn as module
from solverscope.solvers.methods.proximal.owlqn import OWLQN, Heading, OWLQNStar, steepest_subgradient
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


def test_no_step_upwards_passes_for_its_change_being_rounding():
    """Along g every step raises f, short ones by less than rounding."""
    problem = solvers.make_problem(binary(), lam_ratio=0.1)
    point, memory = problem.at(), module.PairMemory(3)
    g = point.gradient()
    v = problem.penalty.subgradient(point.w, g)
    downwards = Heading(-v, np.sign(-v), v)
    upwards = Heading(v, np.sign(v), -v)
    assert OWLQN().search(point, downwards, memory).t > 0.0
    assert OWLQN().search(point, upwards, memory).t == 0.0


def test_the_steepest_subgradient_is_the_largest_along_p():
    """No member of the subdifferential has a larger product with p, and no other as large is shorter."""
    rng, l1 = np.random.default_rng(1), 0.3
    for _ in range(50):
        w = rng.choice([0.0, 0.0, 1.0, -2.0], 6)
        g, p = rng.normal(size=6), rng.choice([0.0, 1.0, -0.5], 6)
        best = steepest_subgradient(w, g, l1, p)
        for _ in range(20):
            other = g + l1 * np.where(w != 0.0, np.sign(w), rng.uniform(-1.0, 1.0, 6))
            assert best @ p >= other @ p - 1e-12
            same = np.where(p == 0.0, other, best)
            assert best @ best <= same @ same + 1e-12


def wide(seed=0):
    """A logistic problem with a known minimum, many of its weights zero."""
    problem = solvers.make_problem(binary(n=300, d=200, seed=seed), lam_ratio=0.1)
    return problem, solvers.solve(problem, solvers.make_solver("prox-qn"), tol=1e-10).result["objective"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_random_subgradients_break_owl_qn_and_not_owl_qn_star(seed):
    """Figure 17: the search of the one fails 25 times as far from the minimum as the other comes."""
    problem, least = wide()
    broken, fine = (
        solvers.solve(problem, make(subgradient="random", seed=seed), tol=1e-12, max_iter=200)
        for make in (OWLQN, OWLQNStar)
    )
    assert (broken.status, "random subgradient" in broken.result["message"]) == ("stalled", True)
    assert broken.result["objective"] > (1.0 + 1e-3) * least
    assert fine.result["objective"] <= (1.0 + 4e-5) * least


def test_a_random_subgradient_costs_algorithm_2_more_steps():
    """Table 2."""
    problem, least = wide()
    runs = [
        solvers.solve(
            problem, OWLQNStar(subgradient=choice, stagnation=0.0), gap=1e-3, f_star=least, max_iter=99
        )
        for choice in ("shortest", "random")
    ]
    steps = [int(trace.inner_iterations.sum()) for trace in runs]
    assert 0 < steps[0] < steps[1]


def test_owl_qn_star_by_the_qp_comes_as_near_in_fewer_direction_steps():
    problem, least = wide()
    plain, exact = (
        solvers.solve(
            problem, OWLQNStar(finding=finding, stagnation=0.0), gap=1e-4, f_star=least, max_iter=99
        )
        for finding in ("algorithm-2", "qp")
    )
    assert [plain.status, exact.status] == ["converged", "converged"]
    assert 0 < exact.inner_iterations.sum() < 0.5 * plain.inner_iterations.sum()
    assert exact.qp_iterations.sum() > exact.inner_iterations.sum()


def test_runs_with_random_subgradients_are_repeated_by_their_seed():
    problem, _ = wide()
    one, same, other = (
        solvers.solve(problem, OWLQN(subgradient="random", seed=seed), tol=0.0, max_iter=5).objective
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert (one[1:] != other[1 : one.size]).any()


def test_owl_qn_star_without_kinks_goes_by_the_directions_of_owl_qn():
    problem = solvers.make_problem(binary(), penalty="l2", lam=0.1)
    one, other = (
        solvers.solve(problem, make(stagnation=0.0), tol=0.0, max_iter=8) for make in (OWLQN, OWLQNStar)
    )
    np.testing.assert_allclose(other.w, one.w, rtol=1e-9)


def test_each_iterate_of_owl_qn_star_shows_the_direction_found_there():
    problem, _ = wide()
    steps = []
    for it in itertools.islice(OWLQNStar().iterate(problem), 6):
        assert it.direction.descends
        steps.append(it.inner_iterations)
        assert it.inner_iterations == it.direction.steps
    assert max(steps) > 0


def test_it_ends_where_f_falls_no_more():
    problem, _ = wide()
    trace = solvers.solve(problem, OWLQN(stagnation=1e-3), tol=0.0, max_iter=500)
    assert trace.status == "stalled"
    assert trace.objective[-6] - trace.objective[-1] <= 1e-3 * trace.objective[-1]
    assert trace.objective[-7] - trace.objective[-2] > 1e-3 * trace.objective[-2]
