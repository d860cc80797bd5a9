"""FTRL-Proximal: weights computed where they are met against the closed form of all, and what it promises."""

import dataclasses
import itertools

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.methods.stochastic import ftrl
from tests.solvers.helpers import MAKERS, problem_of
from tests.solvers.methods.stochastic.test_sgd import PAIRS, instance_gradient


@pytest.fixture
def short_spans(monkeypatch):
    """Spans of a few instances, some in two blocks of rows, and each step shared by the team."""
    monkeypatch.setattr("solverscope.solvers.linalg.storage.rows_of_block", lambda *sizes: 17)
    monkeypatch.setattr("solverscope.solvers.methods.stochastic.ftrl.ENTRIES_PER_SPAN", 30)
    monkeypatch.setattr("solverscope.solvers.methods.stochastic.ftrl.TEAM_WORK", 0)


def order_of(problem, seed):
    """The instances in the order of a pass, span by span, and where each span ends."""
    state = ftrl.FtrlState(solvers.make_solver("ftrl"), problem, np.zeros(problem.size))
    rng, spans = np.random.default_rng(seed), list(itertools.pairwise(state.firsts.tolist()))
    return [spans[k][0] + rng.permutation(spans[k][1] - spans[k][0]) for k in rng.permutation(len(spans))]


def pass_of(problem, w0=None, passes=1, **params):
    iterates = solvers.make_solver("ftrl", **params).iterate(problem, w0)
    return next(itertools.islice(iterates, passes, None)).w.copy()


def feature_scales(problem):
    """Root mean square of the entries of each feature that are not zero, for each weight."""
    columns = [problem.design.column(j)[1] for j in range(problem.design.n_features)]
    r = np.array([np.sqrt((x**2).sum() / max(np.count_nonzero(x), 1)) for x in columns])
    r = np.repeat(np.where(r > 0.0, r, 1.0), problem.design.n_outputs)
    return np.append(r, np.ones(problem.size - r.size))


def eager(problem, w0, order, eta0, batch):
    """McMahan et al. 2013, Algorithm 1, over all weights at each step."""
    n_instances = problem.loss.n_instances
    lam, ridge = (s / problem.scale / n_instances for s in (problem.penalty.l1, problem.penalty.ridge))
    r, z, n = feature_scales(problem), np.zeros(problem.size), np.zeros(problem.size)

    def weights(k):
        with np.errstate(all="ignore"):
            closed = -np.sign(z) * np.maximum(np.abs(z) - k * lam, 0.0) / (r * np.sqrt(n) / eta0 + k * ridge)
        return np.where(n > 0.0, closed, w0)

    k = 0
    for members in (span[lo : lo + batch] for span in order for lo in range(0, span.size, batch)):
        w = weights(k)
        g = sum(instance_gradient(problem, w, i) for i in members)
        sigma = r * (np.sqrt(n + g**2) - np.sqrt(n)) / eta0
        z, n, k = z + g - sigma * w, n + g**2, k + members.size
    assert k == n_instances
    return weights(n_instances)


@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize(("kind", "loss"), PAIRS)
def test_weights_computed_where_they_are_met_equal_an_eager_loop(kind, loss, batch):
    problem = problem_of(kind, loss=loss, penalty="elastic-net", storage="sparse")
    order = order_of(problem, 3)
    w0 = np.random.default_rng(4).normal(size=problem.size) * 0.1
    for start in (np.zeros(problem.size), w0):
        expected = eager(problem, start, order, 0.2, batch)
        found = pass_of(problem, start.copy(), eta0=0.2, batch=batch, seed=3)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
        assert np.count_nonzero(expected) > 0


@pytest.mark.parametrize("kind", ["binary", "sequences"])
def test_spans_that_begin_and_end_within_blocks_are_as_one(kind, short_spans):
    problem = problem_of(kind, penalty="elastic-net", storage="sparse")
    order = order_of(problem, 3)
    assert len(order) > problem.design.n_blocks > 1
    assert np.array_equal(np.sort(np.concatenate(order)), np.arange(problem.loss.n_instances))
    start = np.random.default_rng(4).normal(size=problem.size) * 0.1
    found = pass_of(problem, start.copy(), eta0=0.2, batch=7, seed=3)
    np.testing.assert_allclose(found, eager(problem, start, order, 0.2, 7), rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", ["binary", "sequences"])
def test_any_number_of_threads_gives_the_same_bits(kind, short_spans):
    data = MAKERS[kind](storage="sparse")
    alone, *others = (
        pass_of(solvers.make_problem(data, threads=n, penalty="l1"), passes=2) for n in (1, 2, 3)
    )
    assert np.count_nonzero(alone)
    for w in others:
        assert np.array_equal(w, alone)


def test_a_feature_in_another_unit_has_weights_in_its_inverse():
    data = MAKERS["binary"](storage="sparse")
    unit = 10.0 ** np.random.default_rng(0).integers(-6, 7, size=data.train.X.shape[1])
    scaled = dataclasses.replace(data.train, X=data.train.X * unit)
    problems = [
        solvers.make_problem(dataclasses.replace(data, train=part), penalty="none")
        for part in (data.train, scaled)
    ]
    w, v = (pass_of(problem, passes=3) for problem in problems)
    np.testing.assert_allclose(v * unit, w, rtol=1e-9)
    assert np.count_nonzero(w) == w.size


def test_passes_lead_towards_the_optimum():
    problem = problem_of("sequences", storage="sparse")
    best = solvers.solve(problem, solvers.make_solver("prox-qn"), tol=1e-8).objective[-1]
    trace = solvers.solve(problem, solvers.make_solver("ftrl", batch=1), max_iter=100)
    away = (trace.objective - best) / best
    assert away[100] < 0.02
    assert away[100] < 0.5 * away[10]
    assert trace.passes[3] == pytest.approx(3.0)


def test_a_pass_that_overflows_ends_the_run_in_a_sentence():
    problem = problem_of("multiclass", loss="multiclass-squared-hinge", storage="sparse")
    trace = solvers.solve(problem, solvers.make_solver("ftrl", eta0=1e300), max_iter=5, on_error="keep")
    assert trace.result["status"] == "failed"
    assert "take a smaller eta0" in trace.message
