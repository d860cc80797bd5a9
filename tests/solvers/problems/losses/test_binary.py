import numpy as np
import pytest

from solverscope.solvers.linalg.scores import Scores
from solverscope.solvers.problems.losses.binary import Logistic
from tests.solvers import oracles
from tests.solvers.helpers import Data, Part

Y = np.array([1, -1, 1, -1], dtype=np.int8)
DATA = Data("binary", Part(None, Y), 2, "logistic")


@pytest.fixture
def loss():
    return Logistic().bind(Part(None, Y), 2)


def scores(*z):
    return Scores(np.array(z, dtype=float)[:, None], np.zeros(0))


def test_values_and_residual_agree_with_the_formula(loss):
    at = scores(0.3, -2.0, 1.7, 40.0)
    value, G, _ = oracles.logistic(at.Z, at.tail, DATA)
    assert loss.value(at) == pytest.approx(value, rel=1e-14)
    np.testing.assert_allclose(loss.residual(at).Z, G, rtol=1e-14)


@pytest.mark.parametrize("size", [10.0, 1e3, 1e4, 1e300])
def test_large_scores_neither_overflow_nor_lose_the_loss(loss, size):
    at = scores(size, size, -size, -size)
    right = np.log1p(np.exp(-size))
    np.testing.assert_allclose(
        loss.values(at), [right, size + right, size + right, right], rtol=1e-14, atol=1e-300
    )
    few, most = np.exp(-size) / (1.0 + np.exp(-size)), 1.0 / (1.0 + np.exp(-size))
    np.testing.assert_allclose(loss.residual(at).Z[:, 0], [-few, most, -most, few], rtol=1e-14)


def test_residual_keeps_its_digits_where_it_is_small(loss):
    np.testing.assert_allclose(loss.residual(scores(50.0, 0, 0, 0)).Z[0, 0], -np.exp(-50.0), rtol=1e-13)


def test_values_along_a_line_are_those_at_the_moved_scores(loss):
    at, delta = scores(1.0, 2.0, -3.0, 0.5), scores(0.1, -4.0, 2.0, 9.0)
    np.testing.assert_allclose(loss.values(at, delta, 0.7), loss.values(at.plus(0.7, delta)), rtol=1e-14)


def test_a_zero_score_predicts_the_positive_label(loss):
    np.testing.assert_array_equal(loss.predict(scores(0.0, -1e-300, 2.0, -2.0)), [1, -1, 1, -1])
    assert loss.metric(scores(1.0, -1.0, -1.0, -1.0)) == 0.75


def test_first_keeps_the_first_instances(loss):
    first, rows = loss.first(2, 10**6)
    assert (first.n_instances, rows) == (2, 2)
    assert first.value(scores(1.0, -1.0)) == pytest.approx(2 * np.log1p(np.exp(-1.0)))


def test_log_odds_are_the_scores(loss):
    at = scores(0.3, -2.0, 700.0, 0.0)
    np.testing.assert_array_equal(loss.log_odds(at, 0), at.Z[:, 0])
    np.testing.assert_array_equal(loss.truths(0), [1.0, 0.0, 1.0, 0.0])
