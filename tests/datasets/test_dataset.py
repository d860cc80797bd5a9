import dataclasses

import numpy as np
import pytest
import scipy.sparse

from solverscope import datasets
from solverscope.datasets import Content, DataError, DataSetInfo, Part, Products
from solverscope.datasets.dataset import check


def loaded(part, kind="multiclass", names=("a", "b"), test=None, **options):
    """What `load` makes of a part, through a registered set."""
    d = part.X.shape[1]
    content = Content(part, names, tuple(f"x{j}" for j in range(d)), "digest", test=test)
    datasets.register(DataSetInfo("a-set", "A set", "a set", kind, lambda request: content))
    try:
        return datasets.load("a-set", **options)
    finally:
        del datasets.DATASETS["a-set"]


X = np.arange(12.0).reshape(6, 2)
Y = np.array([0, 1, 0, 1, 0, 1], np.int32)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.array, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("options", [{}, {"degree": 2}, {"bias": 1}])
def test_features_that_are_not_finite_are_refused(value, form, options):
    bad = X.copy()
    bad[3, 1] = value
    with pytest.raises(DataError, match="NaN or infinite"):
        loaded(Part(form(bad), Y), **options)


@pytest.mark.parametrize(
    ("most", "options"), [(1e200, {}), (1.01e12, {}), (1e8, {"degree": 2}), (1e200, {"degree": 2})]
)
def test_numbers_that_no_solver_could_work_with_are_refused_products_too(most, options):
    large = X.copy()
    large[2] = most
    with pytest.raises(DataError, match="features beyond 1e\\+12; scale them down, as scale=standard does"):
        loaded(Part(large, Y), **options)


@pytest.mark.parametrize("how", ["unit", "standard", "minmax", "sample-standard", 1e9])
def test_numbers_that_scaling_brings_down_are_taken(how):
    large = X * 1e19
    np.testing.assert_allclose(
        loaded(Part(large, Y), scale=how).X,
        loaded(Part(large / 1e10, Y), scale=how).X * (1e10 if how == 1e9 else 1.0),
        rtol=1e-9,
        atol=1e-12,
    )


def test_not_finite_features_of_the_test_part_are_refused():
    with pytest.raises(DataError, match="test part has features that are NaN"):
        loaded(Part(X, Y), test=Part(np.full((2, 2), np.nan), Y[:2]))


def test_one_class_only_is_refused():
    with pytest.raises(DataError, match="at least two classes"):
        loaded(Part(X, np.zeros(6, np.int32)))


def test_labels_that_are_on_everywhere_or_nowhere_are_refused():
    everywhere = scipy.sparse.csr_matrix(np.tile(np.array([1, 0], np.int8), (6, 1)))
    with pytest.raises(DataError, match="on some samples"):
        loaded(Part(X, everywhere), kind="multilabel")


def test_a_sequence_of_length_0_is_refused():
    with pytest.raises(DataError, match="sequence 2 of the training part has length 0"):
        loaded(Part(X, Y, np.array([0, 3, 3, 6])), kind="sequences")


def test_offsets_that_do_not_cover_the_rows_are_refused():
    with pytest.raises(DataError, match="do not go from 0 to its 6 rows"):
        loaded(Part(X, Y, np.array([0, 3, 5])), kind="sequences")


def test_rows_without_labels_are_refused():
    with pytest.raises(DataError, match="6 rows but 5 labels"):
        loaded(Part(X, Y[:5]))


@pytest.mark.parametrize(
    ("kind", "label", "right"),
    [("multiclass", 2, "from 0 to 1"), ("multiclass", 0.5, "whole numbers"), ("binary", 0, "-1 or \\+1")],
)
def test_labels_that_are_no_codes_are_refused(kind, label, right):
    codes = 2 * Y - 1 if kind == "binary" else Y
    with pytest.raises(DataError, match=f"training part has the label {label}; its labels must be .*{right}"):
        loaded(Part(X, np.where(np.arange(6) == 3, label, codes)), kind=kind)


@pytest.mark.parametrize("shape", [(0, 2), (6, 0)])
def test_an_empty_set_is_refused(shape):
    with pytest.raises(DataError, match="empty"):
        loaded(Part(np.empty(shape), Y[: shape[0]]))


def test_a_loaded_set_has_the_documented_types():
    data = loaded(Part(X.astype(np.float32), Y), degree=1)
    assert (data.X.dtype, data.X.flags.c_contiguous) == (np.float64, True)
    sparse = loaded(Part(scipy.sparse.coo_matrix(X.astype(int)), Y))
    assert (type(sparse.X), sparse.X.dtype) == (scipy.sparse.csr_matrix, np.float64)
    assert isinstance(loaded(Part(X, Y), degree=2).X, Products)
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.kind = "other"


def test_counts_of_sequences_are_of_sequences():
    data = loaded(Part(X, Y, np.array([0, 2, 6])), kind="sequences")
    assert (data.n_samples, data.n_features, data.n_classes) == (2, 2, 2)
    assert check(data) is data


def test_examples_show_each_class_in_turn():
    labels = [example.label for example in loaded(Part(X, Y)).examples(4)]
    assert labels == ["a", "b", "a", "b"]


def test_an_example_without_picture_or_text_names_its_strongest_features():
    (example,) = loaded(Part(np.array([[0.5, -2.0], [0, 0]]), Y[:2])).examples(1)
    assert example.text == "x1 = -2, x0 = 0.5"


def test_examples_of_pictures_leave_products_out():
    pixels = (np.random.default_rng(0).random((6, 4)) < 0.5).astype(float)
    data = dataclasses.replace(loaded(Part(pixels, Y), degree=2, bias=1), picture_shape=(2, 2))
    (example,) = data.examples(1)
    np.testing.assert_array_equal(example.pictures, pixels[:1].reshape(1, 2, 2))


def test_pictures_of_any_scale_are_between_0_and_1():
    data = dataclasses.replace(loaded(Part(np.array([[-1.0, 0.5], [3.0, 0.0]]), Y[:2])), picture_shape=(1, 2))
    first, second = (example.pictures.ravel().tolist() for example in data.examples(2))
    assert first == [0.0, 0.75]
    assert second == [1.0, 0.0]


def test_examples_of_sequences_spell_their_labels():
    data = loaded(Part(X, Y, np.array([0, 2, 6])), kind="sequences")
    assert [example.label for example in data.examples(2)] == ["ab", "abab"]
