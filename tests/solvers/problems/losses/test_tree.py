import dataclasses

import numpy as np
import pytest

from solverscope.solvers.linalg.scores import Scores
from solverscope.solvers.problems.losses.tree import TreeSoftmax
from tests.solvers import oracles
from tests.solvers.helpers import LEAVES, PARENTS, Part, trees

DATA = trees(n=40)
K = PARENTS.size


@pytest.fixture
def loss():
    return TreeSoftmax().bind(DATA.train, K, PARENTS)


def scores(size=1.0, seed=1):
    return Scores(np.random.default_rng(seed).normal(size=(40, K)) * size, np.zeros(0))


@pytest.mark.parametrize("size", [1.0, 10.0, 1e3, 1e4])
def test_values_and_residual_agree_with_the_formula_at_any_size(loss, size):
    at = scores(size)
    value, G, _ = oracles.tree_softmax(at.Z, at.tail, DATA)
    assert loss.value(at) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(loss.residual(at).Z, G, atol=1e-11)


def test_residual_is_the_slope_of_the_value(loss):
    at, rng = scores(), np.random.default_rng(5)
    for _ in range(5):
        direction = Scores(rng.normal(size=(40, K)), np.zeros(0))
        slope = (loss.value(at, direction, 1e-5) - loss.value(at, direction, -1e-5)) / 2e-5
        assert slope == pytest.approx(np.vdot(loss.residual(at).Z, direction.Z), rel=1e-7)


def test_values_along_a_line_are_those_at_the_moved_scores_and_scores_stay(loss):
    at, delta = scores(), scores(seed=2)
    before = at.Z.copy()
    np.testing.assert_allclose(loss.values(at, delta, 0.3), loss.values(at.plus(0.3, delta)), rtol=1e-12)
    loss.residual(at), loss.predict(at)
    np.testing.assert_array_equal(at.Z, before)


def test_it_predicts_the_leaf_with_the_highest_sum_of_scores(loss):
    Z = np.zeros((40, K))
    Z[:, 8] = 1.0
    Z[::2, 2] = 2.0
    Z[::2, 7] = 0.5
    labels = loss.predict(Scores(Z, np.zeros(0)))
    np.testing.assert_array_equal(labels[::2], 7)
    np.testing.assert_array_equal(labels[1::2], 8)
    assert set(labels) <= set(LEAVES)


@pytest.mark.parametrize("parents", [[-1, 0, 5, 1], [-1, 0, -1, 1], [-1, 0, 0]])
def test_what_is_no_tree_is_refused(parents):
    with pytest.raises(ValueError, match="each before its children, and one root"):
        TreeSoftmax().bind(Part(None, np.array([3])), 4, np.array(parents))


def test_labels_must_be_leaves():
    part = dataclasses.replace(DATA.train, y=np.full(40, 5))
    with pytest.raises(ValueError, match="labels must be leaves"):
        TreeSoftmax().bind(part, K, PARENTS)
