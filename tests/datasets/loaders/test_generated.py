import numpy as np
import pytest
import scipy.sparse

from solverscope import datasets
from solverscope.datasets import DataError
from solverscope.datasets.loaders.documents import Language, draw_counts
from solverscope.datasets.loaders.synthetic_tree import random_tree
from solverscope.datasets.trees import leaves

SMALL = {
    "synthetic-chain": {"n_samples": 20, "length": 5, "n_features": 50},
    "synthetic-text": {"n_samples": 60, "n_features": 100},
    "synthetic-tree": {"n_samples": 60, "n_features": 100},
    "synthetic-multilabel": {"n_samples": 60, "n_features": 100},
}


@pytest.mark.parametrize("id", SMALL)
def test_a_generator_is_made_by_its_seed(id):
    first, again, other = (datasets.load(id, seed=seed, **SMALL[id]) for seed in (5, 5, 6))
    assert (first.X != again.X).nnz == 0
    assert (first.X != other.X).nnz > 0
    assert first.digest == again.digest != other.digest
    assert len(first.digest) == 64


@pytest.mark.parametrize("id", SMALL)
def test_a_generator_makes_training_and_test_part_of_the_size_asked_for(id):
    data = datasets.load(id, **SMALL[id])
    assert data.n_samples == SMALL[id]["n_samples"]
    assert data.test.n_samples == SMALL[id]["n_samples"] // 4
    assert data.X.shape[1] == data.test.X.shape[1] == SMALL[id]["n_features"]
    assert isinstance(data.X, scipy.sparse.csr_matrix)
    assert data.X.has_sorted_indices


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "shape", "n_classes", "density"),
    [("text20", (18_846, 130_088), 20, 0.001), ("binary", (57_763, 20_958), 2, 0.0025)],
)
def test_text_presets_have_the_sizes_of_the_papers(preset, shape, n_classes, density):
    data = datasets.load("synthetic-text", preset=preset)
    assert data.X.shape == shape
    assert data.n_classes == n_classes
    assert data.kind == ("binary" if n_classes == 2 else "multiclass")
    assert data.X.nnz / np.prod(shape) == pytest.approx(density, rel=0.05)


def test_the_tree_preset_has_the_size_of_the_paper():
    data = datasets.load("synthetic-tree", preset="paper")
    assert data.X.shape == (4463, 51_033)
    assert len(data.parents) == data.n_classes == 2388
    assert len(leaves(data.parents)) == 1139
    assert len(data.parents) * data.n_features == 121_866_804
    assert data.X.nnz / (4463 * 51_033) == pytest.approx(0.0028, rel=0.05)
    assert set(data.y) == set(leaves(data.parents))
    assert data.X.max() == 1.0


def test_one_sequence_may_have_100000_tokens():
    data = datasets.load("synthetic-chain", n_samples=1, length=100_000, n_features=100)
    assert data.offsets.tolist() == [0, 100_000]
    assert data.X.shape == (100_000, 100)


def test_the_chain_has_two_likely_successors():
    data = datasets.load("synthetic-chain", n_samples=2000, length=20, n_labels=5, n_features=20)
    inside = np.ones(len(data.y) - 1, bool)
    inside[data.offsets[1:-1] - 1] = False
    counts = np.zeros((5, 5))
    np.add.at(counts, (data.y[:-1][inside], data.y[1:][inside]), 1)
    shares = np.sort(counts / counts.sum(1, keepdims=True), axis=1)
    np.testing.assert_allclose(shares[:, -2:], 0.44, atol=0.03)
    np.testing.assert_allclose(shares[:, :-2], 0.04, atol=0.02)


def test_text_has_zipfs_law_and_redundant_words():
    data = datasets.load("synthetic-text", n_samples=4000, n_features=2000, weighting="binary", scale="none")
    frequency = np.sort(np.bincount(data.X.indices, minlength=2000))[::-1]
    slope = np.polyfit(np.log(np.arange(20, 400)), np.log(frequency[20:400]), 1)[0]
    assert -1.3 < slope < -0.6
    columns = data.X.tocsc()
    seen = [
        columns.indices[a:b].tobytes()
        for a, b in zip(columns.indptr, columns.indptr[1:], strict=False)
        if b - a > 3
    ]
    copies = len(seen) - len(set(seen))
    assert 0.02 * 2000 < copies < 0.06 * 2000


def test_copies_and_followers_come_with_their_words():
    rng = np.random.default_rng(0)
    language = Language.draw(rng, 400, 3, 30)
    X = draw_counts(rng, language, np.arange(3001), rng.integers(0, 3, 3000), 20.0).toarray() > 0
    for word, copy in language.copies:
        np.testing.assert_array_equal(X[:, word], X[:, copy])
    leaders, followers = X[:, language.groups[:, 0]], X[:, language.groups[:, 1]]
    assert not (followers & ~leaders).any()
    assert followers.sum() / leaders.sum() == pytest.approx(0.8, abs=0.02)


def test_multilabel_has_frequent_labels_and_about_the_cardinality_asked_for():
    data = datasets.load("synthetic-multilabel", n_samples=5000, cardinality=3)
    assert data.y.sum() / 5000 == pytest.approx(2.8, abs=0.35)
    assert data.y.dtype == np.int8
    counts = np.asarray(data.y.sum(0)).ravel()
    assert counts[:3].min() > 2 * counts[-3:].max()


@pytest.mark.parametrize(
    ("n_nodes", "n_leaves", "depth"),
    [
        (2388, 1139, 5),
        (3, 2, 1),
        (11, 10, 1),
        (60, 40, 3),
        (13, 3, 4),
        (10, 3, 4),
        (1000, 10, 100),
        (5000, 4000, 9),
        (5, 2, 7),
    ],
)
def test_a_random_tree_has_the_nodes_leaves_and_depth_asked_for(n_nodes, n_leaves, depth):
    for seed in range(5):
        parents = random_tree(np.random.default_rng(seed), n_nodes, n_leaves, depth)
        assert len(parents) == n_nodes
        assert parents[0] == -1
        assert (parents[1:] >= 0).all()
        assert (parents[1:] < np.arange(1, n_nodes)).all()
        assert len(leaves(parents)) == n_leaves
        level = np.zeros(n_nodes, int)
        for node in range(1, n_nodes):
            level[node] = level[parents[node]] + 1
        assert level.max() <= depth


@pytest.mark.parametrize(
    ("id", "options", "words"),
    [
        ("synthetic-tree", {"n_nodes": 40, "n_leaves": 40}, "has from 41 to 121 nodes, not 40"),
        ("synthetic-tree", {"n_nodes": 400, "n_leaves": 40}, "has from 41 to 121 nodes, not 400"),
        ("synthetic-text", {"n_samples": 10_000_000, "n_features": 100_000}, "lower n_samples or density"),
        ("synthetic-chain", {"n_samples": 10_000_000, "length": 100}, "lower n_samples, length or density"),
        ("synthetic-text", {"n_features": 1}, "at least 10|from 10"),
    ],
)
def test_sizes_that_cannot_be_are_refused(id, options, words):
    with pytest.raises(DataError, match=words):
        datasets.load(id, **options)


def test_a_text_of_few_words_can_be_made():
    data = datasets.load("synthetic-text", n_samples=10, n_features=10, density=0.5, n_classes=2)
    assert data.X.shape == (10, 10)
    assert data.X.nnz > 10
