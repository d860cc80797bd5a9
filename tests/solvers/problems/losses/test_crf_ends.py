"""Begin and end states of chains: Mathur and Chakrabarti 2006, equations (8) and (10)."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from solverscope import solvers
from solverscope.solvers.linalg.scores import Scores
from solverscope.solvers.problems.losses.instances import residual_of
from tests.solvers.helpers import chains, compiled
from tests.solvers.problems.losses.test_crf import enumerate_sequences, problem

LENGTHS = (1, 5, 2, 6, 1, 3)
M = 3
residual_of_one = compiled(residual_of)


@pytest.mark.parametrize("size", [1.0, 10.0, 1e3, 1e4])
def test_loss_marginals_and_labels_agree_with_all_label_sequences(size):
    """Scores that spread far are done in log space."""
    loss, scores = problem(M, LENGTHS, size, ends=True)
    T, (begin, end) = scores.tail[: M * M].reshape(M, M), scores.tail[M * M :].reshape(2, M)
    values, residual, labels = loss.values(scores), loss.residual(scores), loss.predict(scores)
    expected = np.zeros((M + 2, M))
    for s, (lo, hi) in enumerate(itertools.pairwise(loss.offsets)):
        z, y = scores.Z[lo:hi].copy(), loss.y[lo:hi]
        z[0] += begin
        z[-1] += end
        value, nodes, pairs, best = enumerate_sequences(z, T, y)
        assert values[s] == pytest.approx(value, rel=1e-12, abs=1e-14 * size * (hi - lo + 2))
        np.testing.assert_allclose(residual.Z[lo:hi], nodes - np.eye(M)[y], atol=1e-10)
        np.testing.assert_array_equal(labels[lo:hi], best)
        expected[:M] += pairs
        np.add.at(expected, (y[:-1], y[1:]), -1.0)
        expected[M] += nodes[0] - np.eye(M)[y[0]]
        expected[M + 1] += nodes[-1] - np.eye(M)[y[-1]]
        tail, G = np.full(loss.n_tail, np.nan), np.empty((hi - lo, M))
        term = loss.instances().term
        one = residual_of_one(term, scores.Z[lo:hi].copy(), scores.tail, y, G, tail)
        assert one == pytest.approx(value, rel=1e-12, abs=1e-14 * size * (hi - lo + 2))
        np.testing.assert_allclose(G, nodes - np.eye(M)[y], atol=1e-10)
        np.testing.assert_allclose(tail[M * M :].reshape(2, M), G[[0, -1]], atol=1e-12)
    np.testing.assert_allclose(residual.tail.reshape(-1, M), expected, atol=1e-10)


@pytest.mark.parametrize("size", [1.0, 300.0])
def test_residual_is_the_slope_of_the_value(size):
    loss, scores = problem(M, LENGTHS, size, ends=True)
    residual, rng, h = loss.residual(scores), np.random.default_rng(5), 1e-5
    for _ in range(10):
        along = Scores(rng.normal(size=scores.Z.shape), rng.normal(size=loss.n_tail))
        slope = (loss.value(scores, along, h) - loss.value(scores, along, -h)) / (2 * h)
        assert slope == pytest.approx(residual.dot(along), rel=1e-6, abs=1e-6)
        value, there = loss.value_and_residual(scores, along, 0.5)
        moved = scores.plus(0.5, along)
        assert value == pytest.approx(loss.value(moved), rel=1e-12)
        np.testing.assert_allclose(there.tail, loss.residual(moved).tail, atol=1e-9)


def test_second_derivatives_of_the_ends_are_those_of_the_value():
    loss, scores = problem(M, LENGTHS, 1.0, ends=True)
    found, h = loss.tail_diagonal(scores), 1e-5
    for k in range(M * M, loss.n_tail):
        step = Scores(np.zeros_like(scores.Z), np.eye(loss.n_tail)[k])
        up, down = (loss.residual(scores.plus(t, step)).tail[k] for t in (h, -h))
        assert found[k] == pytest.approx((up - down) / (2 * h), rel=1e-6)


def test_products_with_the_hessian_are_differences_of_residuals():
    loss, scores = problem(M, LENGTHS, 1.0, ends=True)
    rng, h = np.random.default_rng(5), 1e-5
    along = Scores(rng.normal(size=scores.Z.shape), rng.normal(size=loss.n_tail))
    found = loss.hessian(scores, loss.residual(scores))(along)
    up, down = (loss.residual(scores.plus(t, along)) for t in (h, -h))
    np.testing.assert_allclose(found.Z, (up.Z - down.Z) / (2.0 * h), atol=1e-9)
    np.testing.assert_allclose(found.tail, (up.tail - down.tail) / (2.0 * h), atol=1e-9)


def with_end_features(data):
    """The same data where ends are features: one of first tokens, and one of last tokens."""
    X, offsets = data.train.X, data.train.offsets
    columns = np.zeros((X.shape[0], 2))
    columns[offsets[:-1], 0] = columns[offsets[1:] - 1, 1] = 1.0
    return replace(data, train=replace(data.train, X=sp.csr_array(sp.hstack([X, columns]))))


@pytest.mark.parametrize(
    ("solver", "penalty"),
    [
        ("lbfgs", "l2"),
        ("prox-qn", "l1"),
        ("crf-bcd", "l1"),
        ("owl-qn", "l1"),
        ("ssn", "l1"),
        ("fista-ls", "l1-l2"),
        ("sgd-l1", "l1"),
        ("ftrl", "l1"),
    ],
)
def test_the_optimum_is_that_of_chains_with_features_of_first_and_last_tokens(solver, penalty):
    """Stochastic methods come near it; the others reach it, and the ridge's is proved by its dual."""
    data, given = chains(n=60, d=10), {"penalty": penalty, "lam": 0.3}
    best = solvers.solve(
        solvers.make_problem(with_end_features(data), **given),
        solvers.make_solver({"l2": "lbfgs", "l1": "prox-qn", "l1-l2": "sparsa"}[penalty]),
        tol=1e-9,
    )
    ended = solvers.make_problem(data, loss_params={"ends": True}, **given)
    near, limit = (5e-3, {"max_iter": 100}) if solver in ("sgd-l1", "ftrl") else (1e-7, {})
    run = solvers.solve(ended, solvers.make_solver(solver), tol=1e-9, **limit)
    assert run.result["objective"] == pytest.approx(best.result["objective"], rel=near)
    assert run.result["objective"] >= best.result["objective"] * (1 - 1e-7)
    assert ended.at(run.w).objective == pytest.approx(run.result["objective"], rel=1e-12)
    if near < 1e-6:
        W = best.w[: -M * M].reshape(-1, M)
        np.testing.assert_allclose(ended.unpack(run.w)[1][M:], W[-2:], atol=2e-3)
        assert run.result["dual_gap"] is None or run.result["dual_gap"] < 1e-6 * run.result["objective"]
    if penalty == "l1":
        plain = solvers.solve(solvers.make_problem(data, **given), "prox-qn", tol=1e-6)
        assert best.result["objective"] < plain.result["objective"], "the ends say something"


def test_crfsuite_finds_the_same_optimum():
    pytest.importorskip("pycrfsuite")
    data = chains(n=80, d=10, storage="sparse")
    ended = solvers.make_problem(data, penalty="l2", lam=0.1, loss_params={"ends": True})
    ours, theirs = (
        solvers.solve(ended, solvers.make_solver(id), tol=1e-9, max_seconds=20)
        for id in ("lbfgs", "crfsuite")
    )
    assert theirs.result["objective"] == pytest.approx(ours.result["objective"], rel=1e-7)
    np.testing.assert_allclose(ended.unpack(theirs.w)[1], ended.unpack(ours.w)[1], atol=1e-2)


def test_each_weight_has_a_name():
    ended = solvers.make_problem(chains(), lam=0.1, loss_params={"ends": True})
    named = [ended.names.weight(k, ended.design.n_features, M) for k in range(ended.size)]
    assert len(set(named)) == ended.size
    assert named[-6:] == [f"begin → output {c}" for c in (1, 2, 3)] + [f"output {c} → end" for c in (1, 2, 3)]
