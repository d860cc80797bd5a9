import numpy as np
from sklearn.datasets import load_digits

from solverscope import datasets
from solverscope.datasets.loaders.digit_strings import transitions


def rows(part):
    return {row.tobytes() for row in part.X.base().toarray()}


def test_the_default_is_the_embedded_twin_of_ocr():
    data = datasets.load("digit-strings")
    assert (data.n_samples, data.test.n_samples) == (900, 225)
    assert data.X.shape[1] == 64 + 64 * 63 // 2 + 1
    assert data.X.binary
    assert (data.kind, data.loss, data.penalty) == ("sequences", "chain-crf", "l1")
    lengths = np.diff(data.offsets)
    assert (lengths.min(), lengths.max()) == (3, 12)
    assert data.offsets[-1] == data.X.shape[0] == len(data.y)


def test_pictures_of_training_and_test_strings_are_real_and_disjoint():
    data = datasets.load("digit-strings", seed=1)
    images = {row.tobytes() for row in (load_digits().data >= 8).astype(np.int8)}
    assert len(rows(data.train)) > 1000
    assert rows(data.train) | rows(data.test) <= images
    assert not rows(data.train) & rows(data.test)


def test_labels_follow_the_chain():
    data = datasets.load("digit-strings", n_samples=4000, degree=1, bias=0)
    inside = np.ones(len(data.y) - 1, bool)
    inside[data.offsets[1:-1] - 1] = False
    counts = np.zeros((10, 10))
    np.add.at(counts, (data.y[:-1][inside], data.y[1:][inside]), 1)
    np.testing.assert_allclose(counts / counts.sum(1, keepdims=True), transitions(), atol=0.04)
    np.testing.assert_allclose(transitions().sum(1), 1)
    first = np.bincount(data.y[data.offsets[:-1]], minlength=10) / 4000
    np.testing.assert_allclose(first, 0.1, atol=0.025)


def test_sizes_and_lengths_are_options():
    data = datasets.load("digit-strings", n_samples="7", min_length=2, max_length=2, degree=1, bias=0)
    assert (data.n_samples, data.test.n_samples, data.X.shape) == (7, 1, (14, 64))
    assert data.X.dtype == np.float64


def test_a_shortest_string_longer_than_the_longest_makes_all_that_long():
    data = datasets.load("digit-strings", n_samples=5, min_length=9, max_length=4)
    assert set(np.diff(data.offsets)) == {9}


def test_examples_are_rows_of_pictures():
    data = datasets.load("digit-strings")
    example = data.examples(1)[0]
    assert example.pictures.shape == (len(example.label), 8, 8)
    assert set(np.unique(example.pictures)) == {0.0, 1.0}
