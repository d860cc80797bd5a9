import numpy as np
import pytest
from sklearn.metrics import log_loss

from solverscope.solvers.linalg.scores import Scores
from solverscope.solvers.problems.losses.multiclass import MulticlassLogistic
from tests.solvers import oracles
from tests.solvers.helpers import Data, Part

M = 4
Y = np.random.default_rng(0).integers(0, M, 30).astype(np.int32)
DATA = Data("multiclass", Part(None, Y), M, "multiclass-logistic")


@pytest.fixture
def loss():
    return MulticlassLogistic().bind(Part(None, Y), M)


def scores(size=1.0, seed=1):
    return Scores(np.random.default_rng(seed).normal(size=(Y.size, M)) * size, np.zeros(0))


@pytest.mark.parametrize("size", [1.0, 10.0, 1e3, 1e4])
def test_values_and_residual_agree_with_the_formula_at_any_size(loss, size):
    at = scores(size)
    value, G, _ = oracles.multiclass_logistic(at.Z, at.tail, DATA)
    assert loss.value(at) == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(loss.residual(at).Z, G, atol=1e-12)


def test_the_loss_is_that_of_scikit_learn(loss):
    at = scores(3.0)
    P = np.exp(at.Z) / np.exp(at.Z).sum(axis=1, keepdims=True)
    assert loss.value(at) == pytest.approx(log_loss(Y, P, normalize=False, labels=range(M)), rel=1e-12)


def test_values_along_a_line_are_those_at_the_moved_scores_and_scores_stay(loss):
    at, delta = scores(), scores(seed=2)
    before = at.Z.copy()
    np.testing.assert_allclose(loss.values(at, delta, 0.3), loss.values(at.plus(0.3, delta)), rtol=1e-13)
    loss.residual(at)
    np.testing.assert_array_equal(at.Z, before)


def test_it_predicts_the_highest_score(loss):
    at = scores()
    np.testing.assert_array_equal(loss.predict(at), at.Z.argmax(axis=1))
    assert loss.metric(at) == np.mean(at.Z.argmax(axis=1) == Y)


@pytest.mark.parametrize("size", [1.0, 30.0, 1e3])
def test_log_odds_are_of_each_label_against_all_others(loss, size):
    at = scores(size)
    for c in range(M):
        others = np.logaddexp.reduce(np.delete(at.Z, c, axis=1), axis=1)
        np.testing.assert_allclose(loss.log_odds(at, c), at.Z[:, c] - others, rtol=1e-13)
        np.testing.assert_array_equal(loss.truths(c), (c == Y).astype(float))
    p = 1.0 / (1.0 + np.exp(-loss.log_odds(scores(), 2)))
    np.testing.assert_allclose(p - loss.truths(2), loss.residual(scores()).Z[:, 2], atol=1e-14)
