import itertools
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import logsumexp

from solverscope.datasets.metrics import entity_f1
from solverscope.solvers.compute.team import Team
from solverscope.solvers.linalg.scores import Scores
from solverscope.solvers.problems.losses.chains import chain_packed as module
from solverscope.solvers.problems.losses.crf import ChainCRF
from tests.solvers.helpers import Part

SIZES = (1.0, 10.0, 1e3, 1e4)


def problem(m, lengths, size, seed=0, **params):
    """A loss with random labels and random scores and transitions of this size."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    loss = ChainCRF(**params).bind(Part(None, rng.integers(0, m, offsets[-1]), offsets), m)
    return loss, Scores(size * rng.uniform(-1, 1, (offsets[-1], m)), size * rng.uniform(-1, 1, loss.n_tail))


def enumerate_sequences(z, T, y):
    """Loss, node marginals, pair marginals and best labels of one sequence, over all label sequences."""
    n, m = z.shape
    paths = np.array(list(itertools.product(range(m), repeat=n)))
    score = z[np.arange(n), paths].sum(axis=1) + T[paths[:, :-1], paths[:, 1:]].sum(axis=1)
    log_z = logsumexp(score)
    p = np.exp(score - log_z)
    nodes, pairs = np.zeros((n, m)), np.zeros((m, m))
    for path, share in zip(paths, p, strict=True):
        nodes[np.arange(n), path] += share
        np.add.at(pairs, (path[:-1], path[1:]), share)
    own = z[np.arange(n), y].sum() + T[y[:-1], y[1:]].sum()
    return log_z - own, nodes, pairs, paths[score.argmax()]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("m", [2, 3, 4])
def test_loss_marginals_and_labels_agree_with_all_label_sequences(m, size):
    loss, scores = problem(m, [1, 5, 2, 6, 1, 3], size, seed=m)
    T = scores.tail.reshape(m, m)
    values, residual, labels = loss.values(scores), loss.residual(scores), loss.predict(scores)
    pairs = np.zeros((m, m))
    for s, (lo, hi) in enumerate(itertools.pairwise(loss.offsets)):
        y = loss.y[lo:hi]
        value, nodes, own_pairs, best = enumerate_sequences(scores.Z[lo:hi], T, y)
        # the loss is a difference of two sums of numbers of this size
        assert values[s] == pytest.approx(value, rel=1e-12, abs=1e-14 * size * (hi - lo))
        np.testing.assert_allclose(residual.Z[lo:hi], nodes - np.eye(m)[y], atol=1e-10)
        np.testing.assert_allclose(loss.marginals(scores)[lo:hi], nodes, atol=1e-10)
        np.testing.assert_array_equal(labels[lo:hi], best)
        pairs += own_pairs
        np.add.at(pairs, (y[:-1], y[1:]), -1.0)
    np.testing.assert_allclose(residual.tail.reshape(m, m), pairs, atol=1e-10)


@pytest.mark.parametrize("size", [1.0, 1e3])
def test_value_and_residual_together_are_those_of_each(size):
    loss, scores = problem(4, [1, 5, 2, 6, 1, 3], size)
    delta = problem(4, [1, 5, 2, 6, 1, 3], size, seed=1)[1]
    value, residual = loss.value_and_residual(scores, delta, 0.5)
    assert value == loss.value(scores, delta, 0.5)
    there = loss.residual(scores.plus(0.5, delta))
    np.testing.assert_array_equal(residual.Z, there.Z)
    np.testing.assert_array_equal(residual.tail, there.tail)


@pytest.mark.parametrize("transitions", [1.0, 500.0])
def test_wide_and_narrow_sequences_in_one_batch(transitions):
    """Sequences beyond the safe range are done in log space, their neighbours in one call are not."""
    m, lengths = 3, [4, 5, 1, 3, 6]
    loss, scores = problem(m, lengths, 1.0)
    for s in (1, 2):
        scores.Z[loss.offsets[s] : loss.offsets[s + 1]] *= 5000.0
    scores.tail *= transitions
    spread = np.ptp(scores.Z, axis=1) > module.SAFE
    assert spread.any()
    assert not spread.all()
    T, pairs = scores.tail.reshape(m, m), np.zeros((m, m))
    residual, values = loss.residual(scores), loss.values(scores)
    for s, (lo, hi) in enumerate(itertools.pairwise(loss.offsets)):
        y = loss.y[lo:hi]
        value, nodes, own, _ = enumerate_sequences(scores.Z[lo:hi], T, y)
        assert values[s] == pytest.approx(value, rel=1e-12, abs=1e-10)
        np.testing.assert_allclose(residual.Z[lo:hi], nodes - np.eye(m)[y], atol=1e-10)
        np.add.at(own, (y[:-1], y[1:]), -1.0)
        pairs += own
    np.testing.assert_allclose(residual.tail.reshape(m, m), pairs, atol=1e-10)


def test_both_routes_agree_where_both_are_safe(monkeypatch):
    loss, scores = problem(5, [30, 1, 200, 7], 60.0)
    values, residual = loss.values(scores), loss.residual(scores)
    monkeypatch.setattr(module, "SAFE", 0.0)
    slow = loss.residual(scores)
    np.testing.assert_allclose(loss.values(scores), values, rtol=1e-11)
    np.testing.assert_allclose(slow.Z, residual.Z, atol=1e-10)
    np.testing.assert_allclose(slow.tail, residual.tail, atol=1e-9)


@pytest.mark.parametrize("spread", [150.0, 199.0, 201.0, 350.0, 800.0])
def test_scaled_messages_lose_no_path_around_the_limit(spread):
    """Scores that contradict transitions: the truth goes through products of two tiny factors."""
    m, n = 2, 6
    loss = ChainCRF().bind(Part(None, np.array([0, 1] * 3), np.array([0, n])), m)
    Z = np.zeros((n, m))
    Z[np.arange(n), np.arange(n) % 2] = -spread
    scores = Scores(Z, np.array([spread, 0.0, 0.0, spread]))
    value, nodes, pairs, _ = enumerate_sequences(Z, scores.tail.reshape(m, m), loss.y)
    residual = loss.residual(scores)
    assert loss.value(scores) == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(residual.Z + np.eye(m)[loss.y], nodes, rtol=1e-9, atol=1e-300)
    truth = np.zeros((m, m))
    np.add.at(truth, (loss.y[:-1], loss.y[1:]), 1.0)
    np.testing.assert_allclose(residual.tail.reshape(m, m) + truth, pairs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("size", [1.0, 300.0])
def test_residual_is_the_slope_of_the_value(size):
    """Central differences on both parts of the scores, in both routes."""
    loss, scores = problem(3, [4, 1, 6], size)
    residual, rng = loss.residual(scores), np.random.default_rng(5)
    for _ in range(10):
        direction = Scores(rng.normal(size=scores.Z.shape), rng.normal(size=9))
        h = 1e-5
        slope = (loss.value(scores, direction, h) - loss.value(scores, direction, -h)) / (2 * h)
        expected = np.vdot(residual.Z, direction.Z) + residual.tail @ direction.tail
        assert slope == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_values_along_a_line_are_those_at_the_moved_scores():
    loss, scores = problem(4, [3, 8, 1], 2.0)
    _, delta = problem(4, [3, 8, 1], 300.0, seed=9)
    for t in (0.0, 0.01, 1.0):
        np.testing.assert_allclose(
            loss.values(scores, delta, t), loss.values(scores.plus(t, delta)), rtol=1e-12
        )


@pytest.mark.parametrize(("block", "call"), [(17, 50_000), (4096, 5), (100, 3)])
def test_the_value_is_the_sum_over_sequences_whatever_the_blocks(monkeypatch, block, call):
    lengths = np.random.default_rng(0).integers(1, 40, 100)
    loss, scores = problem(3, lengths, 2.0)
    whole, residual = loss.value(scores), loss.residual(scores)
    monkeypatch.setattr(module, "BLOCK_TOKENS", block)
    monkeypatch.setattr(module, "CALL_TOKENS", call)
    cut, same = problem(3, lengths, 2.0)
    assert len(loss.blocks) == 1
    assert len(cut.blocks) > 10 or len(cut.blocks[0].calls()) > 10
    assert cut.value(same) == pytest.approx(whole, rel=1e-14)
    np.testing.assert_allclose(cut.residual(same).Z, residual.Z, atol=1e-13)
    np.testing.assert_allclose(cut.residual(same).tail, residual.tail, rtol=1e-12)


def test_blocks_hold_every_token_once_step_by_step():
    lengths = np.array([3, 1, 7, 3, 2])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    (block,) = module.pack(offsets, np.arange(16) % 5)
    np.testing.assert_array_equal(np.sort(block.rows), np.arange(16))
    np.testing.assert_array_equal(lengths[block.members], [7, 3, 3, 2, 1])
    np.testing.assert_array_equal(np.diff(block.starts), [5, 4, 3, 1, 1, 1, 1])
    np.testing.assert_array_equal(block.labels, block.rows % 5)
    for place, s in enumerate(block.members):
        np.testing.assert_array_equal(block.rows[block.rows_of(place)], np.arange(offsets[s], offsets[s + 1]))


def test_two_threads_give_the_same_value_to_the_last_digit():
    loss, scores = problem(3, np.full(300, 20), 2.0)
    helped = loss.attached(Team(2), lambda: None)
    assert helped.value(scores) == loss.value(scores)
    np.testing.assert_allclose(helped.residual(scores).tail, loss.residual(scores).tail, rtol=1e-12)


@pytest.mark.parametrize("size", [1.0, 1e4])
def test_one_sequence_of_a_hundred_thousand_tokens(size):
    n, m = 100_000, 4
    loss, scores = problem(m, [n], size)
    value, residual, labels = loss.value(scores), loss.residual(scores), loss.predict(scores)
    assert np.isfinite(value)
    assert value > 0
    np.testing.assert_allclose(residual.Z.sum(axis=1), 0.0, atol=1e-6)
    assert abs(residual.tail.sum()) < 1e-5 * n
    assert labels.min() >= 0


def test_entities_are_what_counts_where_the_data_say_so():
    """The data of CoNLL say so: half of an entity is none."""
    names = ("O", "B-PER", "I-PER")
    y, offsets = np.array([0, 1, 2, 1, 2, 0]), np.array([0, 3, 6])
    data = SimpleNamespace(metric="entity-f1", entity_f1=partial(entity_f1, names))
    loss = ChainCRF().bind(Part(None, y, offsets), 3)
    measured = loss.measured_by(data)
    scores = Scores(np.eye(3)[[0, 1, 2, 1, 0, 0]], np.zeros(9))
    assert (loss.metric_name, loss.metric(scores)) == ("per-token accuracy", pytest.approx(5 / 6))
    assert (measured.metric_name, measured.metric(scores)) == ("F1 of entities", pytest.approx(0.5))
    assert (loss.averages, measured.averages) == (True, False)
    assert measured.subset(np.array([0]))[0].metric(Scores(scores.Z[:3], scores.tail)) == 1.0
    assert measured == loss


def test_viterbi_takes_the_first_of_equal_labels_and_the_metric_counts_tokens():
    loss = ChainCRF().bind(Part(None, np.array([0, 1, 1]), np.array([0, 2, 3])), 2)
    scores = Scores(np.zeros((3, 2)), np.zeros(4))
    np.testing.assert_array_equal(loss.predict(scores), [0, 0, 0])
    assert loss.metric(scores) == pytest.approx(1 / 3)


def test_first_keeps_whole_sequences():
    loss, scores = problem(3, [4, 5, 6], 1.0)
    first, rows = loss.first(2, 10**6)
    assert (first.n_instances, rows) == (2, 9)
    part = Scores(scores.Z[:9], scores.tail)
    np.testing.assert_allclose(first.values(part), loss.values(scores)[:2], rtol=1e-14)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("alpha", [1.0, 0.6, 1e-3])
def test_the_dual_value_is_the_entropy_of_mixed_marginals_over_all_label_sequences(size, alpha):
    """In both routes: large scores are done in log space."""
    m = 3
    loss, scores = problem(m, [4, 1, 5, 2, 6], size, seed=2)
    T, expected = scores.tail.reshape(m, m), 0.0

    def entropy(p):
        return -sum(x * np.log(x) for x in p.ravel() if x > 0.0)

    for lo, hi in itertools.pairwise(loss.offsets):
        z, y = scores.Z[lo:hi], loss.y[lo:hi]
        paths = np.array(list(itertools.product(range(m), repeat=hi - lo)))
        score = z[np.arange(hi - lo), paths].sum(axis=1) + T[paths[:, :-1], paths[:, 1:]].sum(axis=1)
        share = alpha * np.exp(score - logsumexp(score))
        share[(paths == y).all(axis=1)] += 1.0 - alpha
        for i in range(hi - lo):
            node = np.bincount(paths[:, i], share, m)
            if hi - lo == 1 or 0 < i < hi - lo - 1:
                expected += entropy(node) if hi - lo == 1 else -entropy(node)
            if i:
                expected += entropy(np.bincount(m * paths[:, i - 1] + paths[:, i], share, m * m))
    found = loss.dual_value(scores, loss.residual(scores), alpha)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12 * max(1.0, loss.value(scores)))
