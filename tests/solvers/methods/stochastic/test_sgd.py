"""SGD with cumulative penalty: lazy against eager, and what its options promise."""

import dataclasses

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.linalg.scores import Scores
from solverscope.solvers.problems.losses import instances
from tests.solvers.helpers import MAKERS, compiled, losses_with, problem_of
from tests.solvers.oracles import Oracle

residual_of = compiled(instances.residual_of)
PAIRS = losses_with(solvers.Trait.INSTANCE_KERNELS)


def instance_gradient(problem, w, i):
    """Gradient of the loss of instance i, by the problem's own full machinery on that instance alone."""
    offsets = getattr(problem.loss, "offsets", np.arange(problem.loss.n_instances + 1))
    residual = problem.loss.residual(problem.design.scores(w))
    others = np.ones(problem.design.n_rows, dtype=bool)
    others[offsets[i] : offsets[i + 1]] = False
    residual.Z[others] = 0.0
    if problem.loss.n_tail:
        alone, rows = problem.loss.subset(np.array([i]))
        scores = problem.design.scores(w)
        residual.tail[:] = alone.residual(Scores(scores.Z[rows], scores.tail)).tail
    return problem.design.adjoint(residual)


@pytest.mark.parametrize(("kind", "loss"), PAIRS)
def test_lazy_payments_equal_an_eager_loop(kind, loss):
    """Every weight pays at every step: what the penalty's bookkeeping must amount to (section 3.2)."""
    problem = problem_of(kind, loss=loss, storage="sparse")
    n = problem.loss.n_instances
    lam = problem.penalty.l1 / problem.scale
    solver = solvers.make_solver("sgd-l1", eta0=0.02, seed=3)
    iterates = solver.iterate(problem)
    next(iterates)
    lazy = next(iterates).w.copy()

    w, q, u = np.zeros(problem.size), np.zeros(problem.size), 0.0
    for k, i in enumerate(np.random.default_rng(3).permutation(n)):
        eta = 0.02 / (1 + k / n)
        u += eta * lam / n
        w -= eta * instance_gradient(problem, w, i)
        z = w.copy()
        w = np.where(z > 0, np.maximum(0, z - (u + q)), np.where(z < 0, np.minimum(0, z + (u - q)), 0))
        q += w - z
    np.testing.assert_allclose(lazy, w, rtol=0, atol=1e-12)
    assert np.count_nonzero(w) > 0


@pytest.mark.parametrize(("kind", "loss"), PAIRS)
def test_loss_of_one_instance_is_the_sum_taken_apart(kind, loss):
    problem = problem_of(kind, loss=loss, storage="sparse")
    rng = np.random.default_rng(0)
    scores = problem.design.scores(rng.normal(size=problem.size))
    loss, whole = problem.loss, problem.loss.residual(scores)
    term, offsets, *_ = loss.instances()
    tail = np.zeros_like(whole.tail)
    for i, value in enumerate(loss.values(scores)):
        rows = slice(offsets[i], offsets[i + 1])
        Z, G, G_tail = scores.Z[rows].copy(), np.empty_like(scores.Z[rows]), np.zeros_like(tail)
        y = loss.labels.reshape(len(loss.y), -1)[rows].ravel()
        assert residual_of(term, Z, scores.tail, y, G, G_tail) == pytest.approx(value)
        np.testing.assert_allclose(G, whole.Z[rows], atol=1e-12)
        tail += G_tail
    np.testing.assert_allclose(tail, whole.tail, atol=1e-10)


def test_the_objective_is_computed_by_whoever_watches():
    problem = problem_of("binary", storage="sparse")
    trace = solvers.solve(problem, solvers.make_solver("sgd-l1"), max_iter=5)
    oracle = Oracle(MAKERS["binary"](storage="sparse"), "logistic", "l1", problem.lam, problem.average)
    assert trace.objective[-1] == pytest.approx(oracle.objective(trace.w), rel=1e-12)
    assert trace.passes.tolist() == [0, 1, 2, 3, 4, 5]
    assert trace.nnz[-1] == np.count_nonzero(trace.w)


def test_a_tuned_step_is_shown_and_counts_as_set_up():
    problem = problem_of("binary", storage="sparse")
    trace = solvers.solve(problem, solvers.make_solver("sgd-l1"), max_iter=3)
    assert trace.info.params["eta0"] > 0
    assert np.log2(trace.info.params["eta0"]) % 1 == 0
    assert trace.result["setup_seconds"] > problem.setup_seconds
    assert trace.objective[-1] < trace.objective[0]


def test_same_seed_same_run_and_the_stale_variant_differs():
    problem = problem_of("multiclass", storage="sparse")

    def weights(**params):
        return solvers.solve(problem, solvers.make_solver("sgd-l1", eta0=0.05, **params), max_iter=4).w

    np.testing.assert_array_equal(weights(seed=1), weights(seed=1))
    assert not np.array_equal(weights(seed=1), weights(seed=2))
    assert not np.array_equal(weights(stale=True), weights())


def test_the_step_falls_as_declared():
    inverse = solvers.make_solver("sgd-l1", eta0=2.0)
    assert inverse.eta(3.0) == pytest.approx(0.5)
    assert dataclasses.replace(inverse, schedule="exponential").eta(2.0) == pytest.approx(2.0 * 0.85**2)


def test_a_step_that_diverges_ends_with_a_reason_and_keeps_the_trace():
    problem = solvers.make_problem(MAKERS["binary"](storage="sparse"), loss="logistic", penalty="none")
    trace = solvers.solve(problem, solvers.make_solver("sgd-l1", eta0=1e308), max_iter=50, on_error="keep")
    assert trace.status == "failed"
    assert "smaller eta0" in trace.message or "objective became" in trace.message
    assert len(trace) >= 1


@pytest.mark.parametrize("penalty", ["l2", "elastic-net"])
def test_a_ridge_is_refused_with_a_reason(penalty):
    assert solvers.why_not_solver("sgd-l1", "logistic", penalty) == "needs a penalty without a ridge"
