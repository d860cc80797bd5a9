"""How marginals of chains change with the scores: over all label sequences, long chains, in both routes."""

import itertools

import numpy as np
import pytest
from scipy.special import softmax

from solverscope.solvers.compute.team import Team
from solverscope.solvers.linalg.scores import Scores
from solverscope.solvers.problems.losses.chains import chain_log, chain_packed
from solverscope.solvers.problems.losses.crf import ChainCRF
from tests.solvers.helpers import Part

LENGTHS = (1, 5, 2, 6, 1, 3)


def problem(m, lengths, size, *, ends=False, seed=0):
    """A loss with random labels, random scores and transitions of this size, and a change of them."""
    rng, offsets = np.random.default_rng(seed), np.concatenate([[0], np.cumsum(lengths)])
    loss = ChainCRF(ends=ends).bind(Part(None, rng.integers(0, m, offsets[-1]), offsets), m)
    at, along = (
        Scores(s * rng.uniform(-1, 1, (offsets[-1], m)), s * rng.uniform(-1, 1, loss.n_tail))
        for s in (size, 1.0)
    )
    return loss, at, along


def product(loss, at, along):
    return loss.hessian(at, loss.residual(at))(along)


def covariances(loss, at, along):
    """Those of the indicators with the change of the score, over all label sequences."""
    m, Z, pairs = loss.n_outputs, np.zeros_like(at.Z), np.zeros(loss.n_tail)
    for lo, hi in itertools.pairwise(loss.offsets):
        n = hi - lo
        paths = np.array(list(itertools.product(range(m), repeat=n)))
        tokens = np.eye(m)[paths]  # of each path: tokens, labels
        tail = np.zeros((len(paths), loss.n_tail))
        for before, after in itertools.pairwise(paths.T):
            np.add.at(tail, (np.arange(len(paths)), m * before + after), 1.0)
        if loss.n_tail > m * m:
            tail[:, m * m : m * m + m], tail[:, m * m + m :] = tokens[:, 0], tokens[:, -1]
        score, change = (np.einsum("ptc,tc->p", tokens, s.Z[lo:hi]) + tail @ s.tail for s in (at, along))
        p = softmax(score)
        weight = p * (change - p @ change)
        Z[lo:hi] = np.einsum("p,ptc->tc", weight, tokens)
        pairs += weight @ tail
    return Z, pairs


@pytest.mark.parametrize("size", [1.0, 10.0, 1e3, 1e4])
@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("m", [2, 3])
def test_the_change_of_the_marginals_is_a_covariance_over_all_label_sequences(m, ends, size):
    loss, at, along = problem(m, LENGTHS, size, ends=ends, seed=m)
    found, (Z, tail) = product(loss, at, along), covariances(loss, at, along)
    np.testing.assert_allclose(found.Z, Z, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(found.tail, tail, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("transitions", [1.0, 500.0])
def test_wide_and_narrow_sequences_in_one_batch(transitions):
    loss, at, along = problem(3, LENGTHS, 1.0)
    for s in (1, 3):
        at.Z[loss.offsets[s] : loss.offsets[s + 1]] *= 5000.0
    at.tail *= transitions
    spread = np.ptp(at.Z, axis=1) > chain_packed.SAFE
    assert spread.any()
    assert not spread.all()
    found, (Z, tail) = product(loss, at, along), covariances(loss, at, along)
    np.testing.assert_allclose(found.Z, Z, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(found.tail, tail, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("spread", [150.0, 199.0, 201.0, 350.0])
def test_no_path_is_lost_around_the_limit_of_scaled_messages(spread):
    """Scores that contradict transitions: paths go through products of two tiny factors."""
    m, n = 2, 6
    loss = ChainCRF().bind(Part(None, np.array([0, 1] * 3), np.array([0, n])), m)
    Z = np.zeros((n, m))
    Z[np.arange(n), np.arange(n) % 2] = -spread
    at = Scores(Z, np.array([spread, 0.0, 0.0, spread]))
    along = Scores(*(np.random.default_rng(0).normal(size=s) for s in ((n, m), m * m)))
    found, (expected, tail) = product(loss, at, along), covariances(loss, at, along)
    np.testing.assert_allclose(found.Z, expected, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(found.tail, tail, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("ends", [False, True])
def test_both_routes_agree_where_both_are_safe(monkeypatch, ends):
    loss, at, along = problem(5, [30, 1, 200, 7], 60.0, ends=ends)
    found = product(loss, at, along)
    monkeypatch.setattr(chain_packed, "SAFE", 0.0)
    slow = product(loss, at, along)
    np.testing.assert_allclose(slow.Z, found.Z, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(slow.tail, found.tail, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("safe", [chain_packed.SAFE, 0.0])
def test_a_change_of_a_long_chain_loses_no_digits(monkeypatch, safe):
    """The score of 20,000 tokens changes by ten thousands, and marginals by what is near alone: they sum to
    one as before, and a constant that is added to the change does not matter."""
    monkeypatch.setattr(chain_packed, "SAFE", safe)
    loss, at, along = problem(4, [20_000], 1.0)
    found = product(loss, at, along)
    drift = np.abs(loss.residual(at).Z.sum(axis=1)).max()  # of what the marginals sum to
    assert drift < 1e-13
    np.testing.assert_allclose(found.Z.sum(axis=1), 0.0, atol=2.0 * drift + 1e-15)
    assert abs(found.tail.sum()) < 20_000 * (2.0 * drift + 1e-15)
    shifted = product(loss, at, Scores(along.Z + 3.0, along.tail - 2.0))
    np.testing.assert_allclose(shifted.Z, found.Z, atol=1e-13)
    h = 1e-5
    up, down = (loss.residual(at.plus(t, along)) for t in (h, -h))
    np.testing.assert_allclose(found.Z, (up.Z - down.Z) / (2.0 * h), atol=1e-9)
    np.testing.assert_allclose(found.tail, (up.tail - down.tail) / (2.0 * h), atol=1e-5)


@pytest.mark.parametrize(("block", "call"), [(17, 50_000), (4096, 5), (100, 3)])
def test_the_product_is_the_same_whatever_the_blocks(monkeypatch, block, call):
    lengths = np.random.default_rng(0).integers(1, 40, 100)
    whole = product(*problem(3, lengths, 2.0))
    monkeypatch.setattr(chain_packed, "BLOCK_TOKENS", block)
    monkeypatch.setattr(chain_packed, "CALL_TOKENS", call)
    loss, at, along = problem(3, lengths, 2.0)
    assert len(loss.blocks) > 10 or len(loss.blocks[0].calls()) > 10
    cut = product(loss, at, along)
    np.testing.assert_allclose(cut.Z, whole.Z, atol=1e-14)
    np.testing.assert_allclose(cut.tail, whole.tail, rtol=1e-12, atol=1e-12)


def test_two_threads_give_the_same_product_to_the_last_digit():
    loss, at, along = problem(3, np.full(900, 20), 2.0)
    assert len(loss.blocks) > 1
    alone, helped = (product(f, at, along) for f in (loss, loss.attached(Team(2), lambda: None)))
    np.testing.assert_array_equal(helped.Z, alone.Z)
    np.testing.assert_array_equal(helped.tail, alone.tail)


@pytest.mark.parametrize("size", [1.0, 1e3])
def test_products_are_interrupted_between_runs_of_tokens(monkeypatch, size):
    """In both routes: on the way forth and back, of messages and of their change."""
    monkeypatch.setattr(chain_packed, "CALL_TOKENS", 100)
    monkeypatch.setattr(chain_log, "PAIRS_PER_CALL", 900)
    loss, at, along = problem(3, [2_000], size)
    asked = []
    found = product(loss.attached(Team(), lambda: asked.append(1)), at, along)
    assert len(asked) >= 4 * 20
    monkeypatch.undo()
    np.testing.assert_array_equal(found.Z, product(loss, at, along).Z)
