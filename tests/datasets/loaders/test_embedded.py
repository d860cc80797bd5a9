import numpy as np
import pytest
from sklearn.datasets import load_digits

from solverscope import datasets
from solverscope.datasets.loaders.embedded import digit_images
from solverscope.datasets.trees import leaves


def test_digits_are_pixels_over_16_split_by_class():
    data = datasets.load("digits")
    assert data.X.shape == (1438, 64)
    assert data.test.X.shape == (359, 64)
    assert (data.X.min(), data.X.max()) == (0.0, 1.0)
    assert data.label_names == tuple("0123456789")
    share = np.bincount(data.test.y) / (np.bincount(data.y) + np.bincount(data.test.y))
    np.testing.assert_allclose(share, 0.2, atol=0.01)
    assert data.picture_shape == (8, 8)
    assert data.feature_names[63] == "pixel (8, 8)"


def test_all_digits_without_a_test_part():
    data = datasets.load("digits", split="none", scale="none")
    assert data.X.shape == (1797, 64)
    assert data.test is None
    assert data.X.max() == 16


def test_digits_of_one_seed_are_the_same_and_of_another_are_not():
    first, again, other = (datasets.load("digits", seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    assert first.digest == other.digest


def test_breast_cancer_is_standardized_by_its_training_part():
    data = datasets.load("breast-cancer")
    assert (data.kind, data.loss, data.label_names) == ("binary", "logistic", ("benign", "malignant"))
    assert len(data.X) + len(data.test.X) == 569
    np.testing.assert_allclose(data.X.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(data.X.std(0), 1)
    assert (data.y == 1).sum() + (data.test.y == 1).sum() == 212


def test_the_tree_over_the_digits_has_the_digits_as_leaves():
    data = datasets.load("digits-tree")
    flat = datasets.load("digits")
    assert (data.kind, data.loss) == ("tree", "tree-softmax")
    assert sorted(data.label_names[node] for node in leaves(data.parents)) == list("0123456789")
    assert len(data.parents) == 14
    assert (data.parents[0], data.parents.dtype) == (-1, np.int32)
    assert (data.parents[1:] < np.arange(1, 14)).all()
    names = np.array(data.label_names)[data.y]
    assert np.isin(np.unique(names), list("0123456789")).all()
    assert data.digest == flat.digest


@pytest.mark.parametrize(("positive", "members"), [("round", "0689"), ("3", "3")])
def test_a_node_of_the_digits_tree_against_the_rest(positive, members):
    tree = datasets.load("digits-tree", split="none", positive=positive)
    flat = datasets.load("digits", split="none")
    np.testing.assert_array_equal(tree.y > 0, np.isin(flat.y, [int(digit) for digit in members]))
    assert tree.parents is None


def test_digits_are_those_that_scikit_learn_loads():
    known = load_digits()
    pixels, labels = digit_images()
    np.testing.assert_array_equal(pixels, known.data)
    np.testing.assert_array_equal(labels, known.target)
