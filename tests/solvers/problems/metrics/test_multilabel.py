"""Rankings and sets of labels, against scikit-learn and against all thresholds there are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, label_ranking_loss

from solverscope.solvers.problems.metrics.multilabel import fit_thresholds, micro_f1, ranking_loss


def random_case(seed, n=40, m=4, ties=False):
    rng = np.random.default_rng(seed)
    Z = rng.integers(0, 4, size=(n, m)).astype(float) if ties else rng.normal(size=(n, m))
    Y = (Z + rng.normal(size=(n, m)) > np.linspace(-1, 1.5, m)).astype(np.int64)
    return Z, Y


@pytest.mark.parametrize("ties", [False, True])
def test_ranking_loss_is_scikit_learns_where_there_are_pairs(ties):
    Z, Y = random_case(0, ties=ties)
    pairs = (Y.min(axis=1) == 0) & (Y.max(axis=1) == 1)
    assert 0 < pairs.sum() < len(Z)
    assert ranking_loss(Z, Y) == pytest.approx(label_ranking_loss(Y[pairs], Z[pairs]))


def test_ranking_loss_without_any_pair_is_zero():
    assert ranking_loss(np.zeros((2, 3)), np.array([[1, 1, 1], [0, 0, 0]])) == 0.0


@pytest.mark.quick("0-False", "0-True")
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_no_thresholds_have_a_larger_f1(seed, ties):
    Z, Y = random_case(seed, n=7, m=3, ties=ties)
    fitted = f1_score(Y, fit_thresholds(Z, Y) < Z, average="micro")
    edges = [[-np.inf, *np.unique(z)] for z in Z.T]
    best = max(
        f1_score(Y, np.array(t) < Z, average="micro", zero_division=0.0) for t in itertools.product(*edges)
    )
    assert fitted == pytest.approx(best)


def test_thresholds_lie_between_scores_and_are_infinite_where_all_or_none_is_best():
    Z = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    Y = np.array([[0, 1, 0], [1, 1, 0]])
    np.testing.assert_array_equal(fit_thresholds(Z, Y), [0.5, -np.inf, np.inf])


def test_micro_f1_is_scikit_learns_with_thresholds_of_the_other_half():
    Z, Y = random_case(1, n=101)
    sets = np.empty(Y.shape, dtype=bool)
    sets[::2] = Z[::2] > fit_thresholds(Z[1::2], Y[1::2])
    sets[1::2] = Z[1::2] > fit_thresholds(Z[::2], Y[::2])
    assert micro_f1(Z, Y) == pytest.approx(f1_score(Y, sets, average="micro"))


def test_micro_f1_of_perfect_scores_is_one_and_of_no_labels_zero():
    Y = np.random.default_rng(0).integers(0, 2, size=(30, 4))
    assert micro_f1(Y.astype(float), Y) == 1.0
    assert micro_f1(np.random.default_rng(1).normal(size=(30, 4)), np.zeros((30, 4))) == 0.0


@given(st.integers(0, 10_000), st.booleans())
def test_f1_depends_on_the_order_of_scores_alone(seed, ties):
    Z, Y = random_case(seed, n=12, m=3, ties=ties)
    scale = np.array([0.5, 2.0, 16.0])
    np.testing.assert_allclose(
        fit_thresholds(Z * scale, Y), fit_thresholds(Z, Y) * scale, rtol=1e-12, atol=1e-12
    )
