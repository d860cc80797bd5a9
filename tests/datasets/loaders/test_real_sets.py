"""Counts of every available set as its README states them, and labels that line up with rows."""

import numpy as np
import pytest
import scipy.sparse

from solverscope import datasets
from solverscope.datasets.kinds import NUMERIC
from solverscope.datasets.trees import leaves

pytestmark = pytest.mark.slow

SHAPES = [
    # id, options, training rows, test rows, features, classes (nodes of a tree)
    ("reuters", {}, 7775, 3019, 26385, 115),
    ("reuters-r8", {}, 5485, 2189, None, 8),
    ("news20", {"form": "w1000"}, 11256, 7489, 1000, 20),
    ("news20", {"form": "w1000", "labels": "tree"}, 11256, 7489, 1000, 39),
    ("news20", {"form": "tree", "split": "none"}, 18221, None, 36568, 1 + 6 + 18 + 20),
    ("news20", {"form": "tree", "labels": "flat", "split": "none"}, 18221, None, 36568, 20),
    ("mnist", {"split": "none"}, 10000, None, 784, 10),
    ("letter", {}, 15000, 5000, 16, 26),
    ("letter", {"n_train": 16000}, 16000, 4000, 16, 26),
    ("a9a", {}, 32561, 16281, 123, 2),
    ("w8a", {"split": "none"}, 49749, None, 300, 2),
    ("leukemia", {}, 38, 34, 7129, 2),
    ("scene", {}, 1211, 1196, 294, 6),
    ("yeast", {}, 1500, 917, 103, 14),
    ("tmc2007", {"split": "none"}, 28596, None, 500, 22),
    ("imclef07", {}, 10000, 1006, 80, 1 + 96),
    ("imclef07", {"part": "D"}, 10000, 1006, 80, 1 + 46),
    ("enron", {}, 988, 660, 1001, 56),
    ("lshtc-dryrun", {}, 1860, 1858, 22296, 2388),
    ("lshtc-dryrun", {"task": 2}, 4463, 1858, 10794, 2388),
    ("conll2002", {"language": "esp"}, 264715, 51533, None, 9),
    ("conll2002", {"language": "esp", "test": "testa"}, 264715, 52923, None, 9),
    ("conll2002", {"language": "ned"}, 202931, 68994, None, 9),
    ("conll2002", {"language": "ned", "test": "testa"}, 202931, 37761, None, 9),
    ("conll2000", {}, 211727, 47377, None, 22),
]


def name(case):
    return "-".join([case[0], *map(str, case[1].values())])


@pytest.mark.parametrize("case", SHAPES, ids=name)
def test_a_set_has_the_counts_of_the_readme(load_real, case):
    id, options, n_train, n_test, n_features, n_classes = case
    data = load_real(id, **options)
    assert data.kind == datasets.describe(id).kind_of(**options)
    assert data.X.shape[0] == n_train
    assert (data.test and data.test.X.shape[0]) == n_test
    assert n_features in (None, data.n_features)
    assert data.n_classes == n_classes
    assert len(data.feature_names) == data.n_features
    assert data.test is None or data.test.X.shape[1] == data.n_features
    assert len(data.digest) == 64


def positives(data, names=None):
    """Samples of each label, training and test."""
    parts = [data.y, data.test.y]
    return [[int(y[:, data.label_names.index(n)].sum()) for n in names or data.label_names] for y in parts]


def test_reuters_topics(load_real):
    data = load_real("reuters")
    names = ["grain", "money-fx", "interest", "wheat", "gas", "nat-gas", "earn", "acq"]
    assert positives(data, names) == [
        [433, 538, 347, 212, 37, 75, 2877, 1650],
        [149, 179, 131, 71, 17, 30, 1087, 719],
    ]
    assert (np.asarray(data.y.sum(0) > 0) & np.asarray(data.test.y.sum(0) > 0)).sum() == 90
    assert set(data.X.data) == {1.0}
    grain = load_real("reuters", positive="grain")
    assert ((grain.y == 1).sum(), (grain.test.y == 1).sum(), grain.label_names) == (
        433,
        149,
        ("not grain", "grain"),
    )


def test_reuters_words_that_say_most(load_real):
    data = load_real("reuters", top_words=500)
    assert data.X.shape == (7775, 500)
    assert {"wheat", "shares", "oil", "bank", "vs", "tonnes"} <= set(data.feature_names)
    assert load_real("reuters", top_words=500, weighting="counts").X.max() > 1


def test_r8_classes(load_real):
    data = load_real("reuters-r8")
    counts = dict(
        zip(data.label_names, zip(np.bincount(data.y), np.bincount(data.test.y), strict=True), strict=True)
    )
    assert counts["earn"] == (2840, 1083)
    assert counts["grain"] == (41, 10)
    norms = np.sqrt(np.asarray(data.X.multiply(data.X).sum(1)).ravel())
    np.testing.assert_allclose(norms, 1)


def test_news20_tree_has_three_levels(load_real):
    data = load_real("news20", form="tree", weighting="counts", scale="none", split="none")
    assert data.X.nnz == 893_733
    level = np.zeros(len(data.parents), int)
    for node in range(1, len(level)):
        level[node] = level[data.parents[node]] + 1
    assert np.bincount(level).tolist() == [1, 6, 18, 20]
    assert set(data.y) == set(leaves(data.parents))
    assert {"level 1: comp", "level 1: rec", "comp.graphics"} <= set(data.label_names)
    assert (data.kind, data.loss) == ("tree", "tree-softmax")


def test_mnist_digits(load_real):
    data = load_real("mnist", split="none")
    assert np.bincount(data.y).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert data.X.max() == 1.0
    odd = load_real("mnist", split="none", positive="odd")
    assert ((odd.y == 1).sum(), odd.label_names) == (1135 + 1010 + 892 + 1028 + 1009, ("even", "odd"))
    assert odd.examples(1)[0].pictures.shape == (1, 28, 28)


def test_letter_classes(load_real):
    data = load_real("letter")
    counts = np.bincount(data.y, minlength=26) + np.bincount(data.test.y, minlength=26)
    assert counts[[0, 1, 2, 3, 25]].tolist() == [789, 766, 736, 805, 734]
    assert (data.X.min(), data.X.max()) == (0.0, 1.0)


def test_a9a_and_w8a_entries(load_real):
    a9a = load_real("a9a")
    assert ((a9a.y == -1).sum(), (a9a.y == 1).sum(), a9a.X.nnz) == (24_720, 7_841, 451_592)
    assert ((a9a.test.y == -1).sum(), (a9a.test.y == 1).sum(), a9a.test.X.nnz) == (12_435, 3_846, 225_731)
    w8a = load_real("w8a", split="none")
    assert ((w8a.y == -1).sum(), (w8a.y == 1).sum(), w8a.X.nnz) == (48_270, 1_479, 579_586)
    assert (np.diff(w8a.X.indptr) == 0).sum() == 4_203


def test_leukemia_labels_and_scaling(load_real):
    data = load_real("leukemia")
    assert [(part.y == -1).sum() for part in (data.train, data.test)] == [27, 20]
    np.testing.assert_allclose(data.X.mean(0), 0, atol=1e-9)
    assert data.X.std(0).max() == pytest.approx(1)


def test_labels_of_the_multilabel_sets(load_real):
    scene = load_real("scene")
    assert np.sum(positives(scene), axis=0).tolist() == [427, 364, 397, 433, 533, 431]
    yeast = load_real("yeast")
    assert np.sum(positives(yeast), axis=0)[[0, 1, 13]].tolist() == [762, 1038, 34]
    tmc = load_real("tmc2007", split="none")
    assert tmc.X.nnz == 639_548
    assert tmc.y.sum() / 28_596 == pytest.approx(2.220, abs=5e-4)


def test_trees_of_images_and_labels_of_mails(load_real):
    a, d = load_real("imclef07"), load_real("imclef07", part="D")
    assert (len(leaves(a.parents)), len(leaves(d.parents))) == (63, 26)
    given = load_real("enron", ancestors=0)
    assert given.y.sum() / 988 == pytest.approx(2.74, abs=0.005)
    assert given.test.y.sum() / 660 == pytest.approx(3.05, abs=0.005)
    assert [(np.asarray(part.y.sum(0)) > 0).sum() for part in (given.train, given.test)] == [51, 53]
    whole = load_real("enron")
    below = whole.label_names.index("1/1")
    assert (whole.y[:, below] < whole.y[:, whole.label_names.index("1")]).nnz == (
        np.asarray(whole.y[:, whole.label_names.index("1")].sum() - whole.y[:, below].sum())
    )


def test_lshtc_tree(load_real):
    data = load_real("lshtc-dryrun")
    assert len(leaves(data.parents)) == 1139
    assert (data.parents == 0).sum() == 10
    assert set(data.y) == set(data.test.y) == set(leaves(data.parents))
    assert (data.X.min(), data.X.max()) == (0.0, 1.0)
    assert data.lam == 1.0


def test_sentences_of_the_shared_tasks(load_real):
    esp, ned = load_real("conll2002"), load_real("conll2002", language="ned")
    assert (esp.n_samples, esp.test.n_samples) == (8323, 1517)
    assert (ned.n_samples, ned.test.n_samples) == (15_806, 5_195)
    assert (esp.metric, esp.loss) == ("entity-f1", "chain-crf")
    conll = load_real("conll2000")
    assert (conll.n_samples, conll.test.n_samples) == (8936, 2012)
    assert len(set(conll.test.y)) == 19
    mathur = load_real("conll2002", features="mathur")
    assert mathur.X.nnz == 3 * len(mathur.y)
    assert mathur.entity_f1(mathur.test.y, mathur.test.y, mathur.test.offsets) == 1.0
    assert conll.entity_f1(conll.test.y, np.zeros_like(conll.test.y), conll.test.offsets) < 0.1
    assert esp.examples(1)[0].text == "Melbourne ( Australia ) , 25 may ( EFE ) ."


def whitened(data):
    """Training and test features without products, each divided by its deviation, as CSR."""
    parts = [part.X.base() if hasattr(part.X, "csc_rows") else part.X for part in (data.train, data.test)]
    parts = [scipy.sparse.csr_matrix(X, dtype=float) for X in parts]
    mean = np.asarray(parts[0].mean(0)).ravel()
    variance = np.asarray(parts[0].multiply(parts[0]).mean(0)).ravel() - mean**2
    weights = scipy.sparse.diags(1 / np.sqrt(np.where(variance > 1e-12, variance, np.inf)))
    return [X @ weights for X in parts]


def mean_auc(data):
    """Area under the ROC curve of the distance to class means, averaged over classes: 0.5 is chance."""
    X, X_test = whitened(data)
    if data.kind == "multilabel":
        Y, Y_test = data.y.toarray(), data.test.y.toarray()
    elif data.kind in NUMERIC:  # a class of those above the median, for each target
        Y, Y_test = (part.y.reshape(len(part.y), -1) > np.median(data.y) for part in (data.train, data.test))
    else:
        classes = np.unique(data.y)
        Y, Y_test = (part.y[:, None] == classes for part in (data.train, data.test))
    means = (X.T @ Y.astype(float)) / np.maximum(Y.sum(0), 1) - np.asarray(X.mean(0)).reshape(-1, 1)
    ranks = np.argsort(np.argsort(X_test @ means, axis=0), axis=0)
    areas = []
    for rank, on in zip(ranks.T, (Y_test > 0).T, strict=True):
        if 0 < on.sum() < len(on):
            areas.append((rank[on].mean() - (on.sum() - 1) / 2) / (len(on) - on.sum()))
    return np.mean(areas)


SIMPLE = [
    *[(id, {}) for id, entry in datasets.DATASETS.items() if not entry.files and entry.kind != "function"],
    *[(id, {}) for id, entry in datasets.DATASETS.items() if entry.files],
    ("news20", {"form": "tree"}),
    ("conll2002", {"language": "ned"}),
    ("imclef07", {"part": "D"}),
    ("lshtc-dryrun", {"task": 2}),
]


@pytest.mark.parametrize("case", SIMPLE, ids=name)
def test_a_simple_classifier_beats_chance_clearly(load_real, case):
    assert mean_auc(load_real(case[0], **case[1])) > 0.62
