import numpy as np
import pytest
import scipy.sparse
from sklearn.utils import compute_sample_weight

from solverscope import datasets
from solverscope.datasets import Content, DataError, Part, Products, transforms
from solverscope.datasets.trees import Tree

RNG = np.random.default_rng(0)


def content(n=50, K=3, **changes):
    y = np.repeat(np.arange(K), n // K + 1)[:n].astype(np.int32)
    X = np.arange(n, dtype=float)[:, None] + np.zeros((1, 2))
    return Content(Part(X, y), tuple("abcdef"[:K]), ("x", "y"), "digest", **changes)


def test_a_random_split_is_stratified_and_loses_nothing():
    whole = content(100, 3)
    halves = transforms.split(whole, "multiclass", "random", 0)
    rows = np.concatenate([halves.train.X[:, 0], halves.test.X[:, 0]])
    assert sorted(rows) == list(range(100))
    for k in range(3):
        size = (whole.train.y == k).sum()
        assert (halves.test.y == k).sum() == round(size / 5)
    np.testing.assert_array_equal(whole.train.y[halves.train.X[:, 0].astype(int)], halves.train.y)


def test_a_split_is_made_by_its_seed():
    first, again, other = (
        transforms.split(content(), "multiclass", "random", seed).test.X for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_class_with_one_sample_stays_in_training():
    train, test = transforms.stratified(np.array([0] * 10 + [1]), 0.9, np.random.default_rng(0))
    assert 10 in train
    assert len(test) == 9


def test_both_parts_are_pooled_before_a_random_split_and_by_none():
    test = Part(np.full((10, 2), -1.0), np.zeros(10, np.int32))
    given = content(40, test=test)
    assert transforms.split(given, "multiclass", "given", 0) is given
    assert transforms.split(given, "multiclass", "auto", 0) is given
    assert transforms.split(given, "multiclass", "none", 0).train.n_samples == 50
    halves = transforms.split(given, "multiclass", "random", 0)
    assert (halves.train.n_samples, halves.test.n_samples) == (40, 10)


def test_classes_unseen_in_training_are_not_pooled_into_it():
    given = content(40, test=Part(np.zeros((2, 2)), np.array([0, -1], np.int32)))
    with pytest.raises(DataError, match="use split=given"):
        transforms.split(given, "multiclass", "random", 0)
    assert transforms.split(given, "multiclass", "given", 0) is given


def test_sequences_are_split_whole():
    lengths = np.arange(1, 21)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = np.repeat(np.arange(20), lengths)
    whole = Content(
        Part(tokens[:, None].astype(float), tokens.astype(np.int32), offsets), tuple("ab"), ("x",), "digest"
    )
    halves = transforms.split(whole, "sequences", "random", 3)
    for part in (halves.train, halves.test):
        for lo, hi in zip(part.offsets[:-1], part.offsets[1:], strict=True):
            assert len(set(part.y[lo:hi])) == 1
            assert hi - lo == lengths[part.y[lo]]
    assert (halves.train.n_samples, halves.test.n_samples) == (16, 4)


def test_each_sample_is_held_out_once_and_classes_are_spread_over_the_parts():
    whole = content(103, 3, test=Part(np.full((5, 2), -1.0), np.zeros(5, np.int32)))
    parts = [transforms.hold_out(whole, "multiclass", f"{k}/4", 7) for k in range(1, 5)]
    assert sorted(np.concatenate([part.test.X[:, 0] for part in parts])) == list(range(103))
    for part in parts:
        rows = np.concatenate([part.train.X[:, 0], part.test.X[:, 0]])
        assert sorted(rows) == list(range(103)), "what was the test part is in neither"
        np.testing.assert_array_equal(whole.train.y[part.test.X[:, 0].astype(int)], part.test.y)
        for k in range(3):
            assert abs((part.test.y == k).sum() - (whole.train.y == k).sum() / 4) < 1
    other = transforms.hold_out(whole, "multiclass", "1/4", 8)
    assert not np.array_equal(other.test.X, parts[0].test.X)


def test_sequences_are_held_out_whole():
    data = datasets.load("digit-strings")
    parts = [datasets.load("digit-strings", cv=f"{k}/3") for k in (1, 2, 3)]
    lengths = [np.diff(part.test.offsets) for part in parts]
    assert sorted(np.concatenate(lengths)) == sorted(np.diff(data.offsets))


@pytest.mark.parametrize("cv", ["3", "0/3", "4/3", "1/1", "1/3/2", "a/b", "1/1000"])
def test_a_part_that_is_none_is_a_sentence(cv):
    with pytest.raises(DataError, match=f"cv='{cv}' is not possible: write cv=k/K, with K from 2 to 456"):
        datasets.load("breast-cancer", cv=cv)


def test_texts_follow_the_split():
    halves = transforms.split(content(texts=lambda i: f"text {i}"), "multiclass", "random", 0)
    assert [halves.texts(i) for i in range(3)] == [f"text {int(row)}" for row in halves.train.X[:3, 0]]


@pytest.mark.parametrize("sparse", [False, True])
def test_scaling_uses_the_statistics_of_the_training_part(sparse):
    X, X_test = np.abs(RNG.normal(size=(40, 5))), np.abs(RNG.normal(size=(9, 5)))
    parts = [scipy.sparse.csr_matrix(A) if sparse else A for A in (X, X_test)]

    def scaled(how):
        return [A.toarray() if scipy.sparse.issparse(A) else A for A in transforms.scale(parts, how)]

    unit = scaled("unit")
    np.testing.assert_allclose(np.linalg.norm(np.vstack(unit), axis=1), 1)
    low = X.min(0)
    np.testing.assert_allclose(scaled("minmax")[1], (X_test - low) / (X.max(0) - low))
    np.testing.assert_allclose(scaled("standard")[1], (X_test - X.mean(0)) / X.std(0))
    np.testing.assert_allclose(scaled(4.0)[0], X / 4)
    np.testing.assert_array_equal(scaled("none")[0], X)


def test_rows_then_columns_are_standardized_as_in_libsvms_leukemia():
    X = RNG.normal(2, 3, size=(20, 30))
    rows = (X - X.mean(1, keepdims=True)) / X.std(1, keepdims=True)
    (scaled,) = transforms.scale([X], "sample-standard")
    np.testing.assert_allclose(scaled, (rows - rows.mean(0)) / rows.std(0))


def test_empty_rows_and_constant_columns_do_not_divide_by_zero():
    X = np.array([[0.0, 0.0], [0.0, 5.0]])
    for how in ("unit", "minmax", "standard"):
        for A in (X, scipy.sparse.csr_matrix(X)):
            (scaled,) = transforms.scale([A], how)
            assert np.isfinite(scaled.toarray() if scipy.sparse.issparse(scaled) else scaled).all()


def dense(X):
    return X.toarray() if scipy.sparse.issparse(X) else X


@pytest.mark.parametrize("form", [np.array, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("how", ["standard", "minmax"])
def test_a_constant_feature_is_nothing_after_scaling_whatever_its_value_and_number(how, form):
    for n in (3, 10, 1000):
        constants = np.arange(1, 201) / 100 + 14.0
        X = np.tile(constants, (n, 1))
        train, test = transforms.scale([form(X), form(X[:2] + 0.01)], how)
        np.testing.assert_array_equal(dense(train), 0.0)
        np.testing.assert_allclose(dense(test), 0.01, rtol=1e-9)


@pytest.mark.parametrize("how", ["standard", "minmax"])
def test_a_feature_that_only_rounding_spreads_is_constant(how):
    X = np.array([[0.1 + 0.2], [0.3], [0.3]])
    (scaled,) = transforms.scale([X], how)
    assert np.abs(scaled).max() < 1e-15


@pytest.mark.parametrize("middle", [1.0, 1e8, -1e8, 1e15])
@pytest.mark.parametrize("unit", [1.0, 2.0**-20, 2.0**-100, 2.0**-1000, 2.0**300])
def test_a_small_spread_is_scaled_as_a_large_one(middle, unit):
    steps = RNG.integers(-1000, 1000, (500, 2)).astype(float)
    X = (middle + steps) * unit
    (standard,), (minmax,) = (transforms.scale([X], how) for how in ("standard", "minmax"))
    np.testing.assert_allclose(standard, (steps - steps.mean(0)) / steps.std(0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(minmax, (steps - steps.min(0)) / np.ptp(steps, axis=0), rtol=1e-12)


def test_rows_that_are_the_same_but_for_unit_and_offset_leave_nothing_to_scale():
    shape = RNG.normal(size=40)
    X = np.outer(RNG.uniform(1, 100, 30), shape) + RNG.uniform(-1000, 1000, (30, 1))
    (scaled,) = transforms.scale([X], "sample-standard")
    assert np.abs(scaled).max() < 1e-9


def test_constant_rows_are_nothing_after_scaling():
    X = np.vstack([RNG.normal(size=(5, 7)), np.full((1, 7), 14.62)])
    (scaled,) = transforms.scale([X], "sample-standard")
    rows = np.vstack([(X[:5] - X[:5].mean(1, keepdims=True)) / X[:5].std(1, keepdims=True), np.zeros(7)])
    np.testing.assert_allclose(scaled, (rows - rows.mean(0)) / rows.std(0), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", [np.array, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("unit", [1e-320, 1e-200, 1e-160, 1.0, 1e99])
def test_rows_of_any_length_get_length_one(unit, form):
    X = np.array([[3.0, 4.0], [0.0, 0.0], [-1.0, 0.0]]) * unit
    (scaled,) = transforms.scale([form(X)], "unit")
    rtol = 1e-15 if unit > 1e-300 else 1e-3
    np.testing.assert_allclose(dense(scaled), [[0.6, 0.8], [0.0, 0.0], [-1.0, 0.0]], rtol=rtol)


@pytest.mark.parametrize(
    "train", [[[2.0, 0.0, -4.0], [4.0, 1.0, -2.0]], [[2.0, 0.0, 3.0], [4.0, 5.0, 3.0], [5.0, 0.0, 3.0]]]
)
def test_minmax_of_sparse_features_is_that_of_dense_ones(train):
    test = np.array([[0.0, -1.0, 0.0], [3.0, 2.0, 0.0], [0.0, 0.0, 5.0]])
    expected = transforms.scale([np.array(train), test], "minmax")
    scaled = transforms.scale([scipy.sparse.csr_matrix(X) for X in (train, test)], "minmax")
    for one, other in zip(scaled, expected, strict=True):
        np.testing.assert_allclose(one.toarray(), other)


def test_scaling_that_would_fill_a_large_sparse_matrix_is_refused():
    with pytest.raises(DataError, match="use scale=unit"):
        transforms.scale([scipy.sparse.csr_matrix((20_000, 20_000))], "standard")
    with pytest.raises(DataError, match="use scale=unit"):
        transforms.scale([scipy.sparse.csr_matrix([[0.0, -1.0], [1.0, 0.0]])], "minmax")


def test_word_weights():
    train = scipy.sparse.csr_matrix([[2.0, 0, 1], [1, 0, 0]])
    test = scipy.sparse.csr_matrix([[0, 3.0, 1]])
    assert transforms.weigh([train, test], "binary")[1].toarray().tolist() == [[0, 1, 1]]
    assert transforms.weigh([train, test], "counts")[0] is train
    tfidf = transforms.weigh([train, test], "tf-idf")
    np.testing.assert_allclose(tfidf[0].toarray(), [[2, 0, np.log(2) + 1], [1, 0, 0]])
    np.testing.assert_allclose(tfidf[1].toarray(), [[0, 3 * (np.log(2) + 1), np.log(2) + 1]])


@pytest.mark.parametrize("sparse", [False, True])
def test_a_bias_is_a_last_column_of_ones(sparse):
    X = RNG.normal(size=(4, 3))
    expanded = transforms.expand(scipy.sparse.csr_matrix(X) if sparse else X, 1, True)
    dense = expanded.toarray() if sparse else expanded
    np.testing.assert_array_equal(dense, np.hstack([X, np.ones((4, 1))]))


def test_one_class_against_the_rest():
    y = np.array([0, 3, 4, 9, -1], np.int32)
    names = tuple("0123456789")
    (labels,), both = transforms.one_against_rest([y], names, "multiclass", "3", None)
    assert labels.tolist() == [-1, 1, -1, -1, -1]
    assert labels.dtype == np.int8
    assert both == ("not 3", "3")
    (labels,), both = transforms.one_against_rest([y], names, "multiclass", "even", None)
    assert labels.tolist() == [1, -1, 1, -1, -1]
    assert both == ("odd", "even")


def test_one_label_against_the_rest():
    Y = scipy.sparse.csr_matrix(np.array([[1, 1], [0, 0], [0, 1]], np.int8))
    (labels,), _ = transforms.one_against_rest([Y], ("a", "b"), "multilabel", "a", None)
    assert labels.tolist() == [1, -1, -1]


def test_the_other_class_of_a_binary_set_can_be_the_positive_one():
    (labels,), names = transforms.one_against_rest(
        [np.array([-1, 1], np.int8)], ("no", "yes"), "binary", "no", None
    )
    assert labels.tolist() == [1, -1]
    assert names == ("not no", "no")


@pytest.mark.parametrize(
    ("id", "options"), [("digits", {}), ("digits", {"positive": "3"}), ("digits-tree", {})]
)
def test_balanced_weights_are_scikit_learn_s_of_the_training_part(id, options):
    data = datasets.load(id, class_weight="balanced", **options)
    np.testing.assert_allclose(data.sample_weight, compute_sample_weight("balanced", data.y), rtol=1e-15)
    assert data.test.sample_weight is None
    assert datasets.load(id, **options).sample_weight is None


def test_balanced_weights_need_one_class_a_sample():
    with pytest.raises(DataError, match="class_weight=balanced needs one class a sample"):
        datasets.load("synthetic-multilabel", class_weight="balanced")


def test_a_node_stands_for_the_leaves_below_it():
    tree = Tree.of({"c": "a", "d": "a"}, ["a", "b"])
    ids = tree.ids()
    y = np.array([ids[name] for name in "cdb"], np.int32)
    (labels,), _ = transforms.one_against_rest([y], tree.names, "tree", "a", tree.parents)
    assert labels.tolist() == [1, 1, -1]


def test_a_class_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(DataError, match="choose one of a, b"):
        transforms.one_against_rest([np.array([0, 1])], ("a", "b"), "multiclass", "even", None)


@pytest.mark.parametrize("form", [np.array, scipy.sparse.csr_matrix])
def test_the_most_frequent_features_come_twice_by_the_training_part(form):
    train = np.array([[0.0, 1.0, 2.0], [0.0, 3.0, 4.0], [5.0, 0.0, 6.0]])
    test = np.array([[7.0, 8.0, 0.0], [9.0, 0.0, 0.0]])
    (first, second), names = transforms.doubled([form(train), form(test)], ("a", "b", "c"), 2)
    for made, given in ((first, train), (second, test)):
        dense = made.toarray() if scipy.sparse.issparse(made) else made
        np.testing.assert_array_equal(dense, given[:, [0, 1, 2, 2, 1]])
    assert list(names) == ["a", "b", "c", "c (double)", "b (double)"]
    same, kept = transforms.doubled([form(train)], ("a", "b", "c"), 0)
    assert same[0].shape == (3, 3)
    assert kept == ("a", "b", "c")


def test_more_doubles_than_features_are_refused():
    with pytest.raises(DataError, match="double=4 is not possible: there are 3 features"):
        transforms.doubled([np.ones((2, 3))], ("a", "b", "c"), 4)


def test_features_that_are_made_when_asked_for_have_no_doubles():
    with pytest.raises(DataError, match="use double=0"):
        transforms.doubled([Products(np.ones((2, 3)))], ("a", "b", "c"), 1)


def test_doubles_are_exact_copies_after_scaling_and_stand_before_the_constant():
    data = datasets.load("synthetic-text", n_samples=60, n_features=40, double=5, bias=1)
    X = data.X.toarray()
    assert X.shape == (60, 46)
    assert data.n_features == 46
    assert len(data.feature_names) == 46
    for j in range(40, 45):
        original = next(k for k in range(40) if f"{data.feature_names[k]} (double)" == data.feature_names[j])
        np.testing.assert_array_equal(X[:, j], X[:, original])
        assert X[:, j].any()
    assert (X[:, 45] == 1).all()
    assert data.test.X.shape[1] == 46
    assert data.lam is None, "another problem"
