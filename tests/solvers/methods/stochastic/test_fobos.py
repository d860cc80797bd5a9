"""FOBOS: rows brought up to date late against every step on every row."""

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.methods.stochastic.fobos import GRID
from tests.solvers.helpers import MAKERS, problem_of
from tests.solvers.methods.stochastic.test_sgd import PAIRS, instance_gradient

PENALTIES = ["none", "l2", "l1", "elastic-net", "l1-l2", "l1-linf", "sparse-group"]


@pytest.mark.parametrize(("kind", "loss"), PAIRS)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_late_proximal_steps_equal_an_eager_loop(kind, loss, penalty):
    problem = problem_of(kind, loss, penalty, n=40, storage="sparse")
    iterates = solvers.make_solver("fobos", eta0=0.05, seed=3).iterate(problem)
    next(iterates)
    late = [next(iterates).w.copy() for _ in range(2)]

    n, rng, w, t = problem.loss.n_instances, np.random.default_rng(3), np.zeros(problem.size), 0
    penalty = problem.penalty.at_lam((problem.lam or 0.0) / (problem.scale * n))
    for found in late:
        for i in rng.permutation(n):
            t += 1
            eta = 0.05 / np.sqrt(t)
            w -= eta * instance_gradient(problem, w, i)
            w = penalty.prox(w, eta) / (1.0 + eta * penalty.ridge)
        np.testing.assert_allclose(found, w, rtol=0, atol=1e-12)
    assert np.count_nonzero(w) > 0


def test_the_chosen_step_is_of_the_grid_and_counts_as_set_up():
    problem = problem_of("multiclass", penalty="l1-l2", n=40, storage="sparse")
    trace = solvers.solve(problem, solvers.make_solver("fobos"), max_iter=3)
    assert trace.info.params["eta0"] in [10.0**power for power in GRID]
    assert trace.result["setup_seconds"] > problem.setup_seconds
    assert trace.objective[-1] < trace.objective[0]


@pytest.mark.parametrize("loss", ["multiclass-squared-hinge", "multiclass-logistic"])
def test_the_chosen_step_is_good_on_few_noisy_samples_too(loss):
    """Whatever the seed; a single fifth held out, 30 samples, chose 0.001 for about half of the seeds."""
    data = MAKERS["multiclass"]()
    problem = solvers.make_problem(data, loss=loss, penalty="l1-l2", lam_ratio=0.1)
    best = solvers.solve(problem, solvers.make_solver("sparsa"), tol=1e-8).result["objective"]
    at_zero = problem.at().objective
    for seed in range(5):
        trace = solvers.solve(problem, solvers.make_solver("fobos", seed=seed), max_iter=100)
        assert trace.result["objective"] - best <= 0.1 * (at_zero - best)


def test_same_seed_same_run():
    problem = problem_of("multiclass", penalty="l1-l2", n=40, storage="sparse")

    def weights(seed):
        return solvers.solve(problem, solvers.make_solver("fobos", eta0=0.05, seed=seed), max_iter=4).w

    np.testing.assert_array_equal(weights(1), weights(1))
    assert not np.array_equal(weights(1), weights(2))


def test_a_step_that_diverges_ends_with_a_reason():
    problem = solvers.make_problem(
        MAKERS["multiclass"](storage="sparse"), loss="multiclass-squared-hinge", penalty="l1-l2", lam=0.01
    )
    trace = solvers.solve(problem, solvers.make_solver("fobos", eta0=1e9), max_iter=50, on_error="keep")
    assert trace.status == "failed"
    assert "smaller eta0" in trace.message or "objective became" in trace.message
