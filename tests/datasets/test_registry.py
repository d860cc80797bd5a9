import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from solverscope import datasets
from solverscope.datasets import Content, DataError, DataSetInfo, Option, Part


def own_set(request):
    n = request.options["n"]
    X = np.random.default_rng(request.seed).normal(size=(n, 3))
    return Content(Part(X, (np.arange(n) % 2).astype(np.int32)), ("a", "b"), ("x", "y", "z"), "digest")


ENTRY = DataSetInfo(
    "my-set", "My set", "a set", "multiclass", own_set, own=(Option("n", 10, "rows", 4, 100),)
)


@pytest.fixture
def registered():
    datasets.register(ENTRY)
    yield ENTRY
    del datasets.DATASETS["my-set"]


def test_a_users_own_set_is_loaded_like_any_other(registered):
    data = datasets.load("my-set", n="20", positive="a", seed=1)
    assert data.X.shape == (20, 3)
    usual = {"cv": None, "scale": "none", "double": 0, "degree": 1, "bias": 0}
    assert data.options == {"n": 20, **usual, "positive": "a", "class_weight": "none"}
    assert (data.kind, data.loss, data.label_names) == ("binary", "logistic", ("not a", "a"))
    assert not np.array_equal(data.X, datasets.load("my-set", n=20).X)


def test_an_id_is_given_once(registered):
    with pytest.raises(DataError, match="already"):
        datasets.register(dataclasses.replace(ENTRY, loader=lambda request: own_set(request)))
    with pytest.raises(DataError, match="already"):
        datasets.register(dataclasses.replace(ENTRY, id="digits"))


def test_the_same_loader_defined_again_takes_the_place_of_the_old_one(registered):
    again = dataclasses.replace(ENTRY, name="My set, corrected")
    assert datasets.register(again) is again
    assert datasets.DATASETS["my-set"] is again


@pytest.mark.parametrize("changes", [{"id": "My Set"}, {"id": ""}, {"kind": "ranking"}])
def test_an_entry_that_cannot_be_used_is_not_registered(changes):
    with pytest.raises(DataError):
        datasets.register(dataclasses.replace(ENTRY, **changes))


@pytest.mark.parametrize(
    ("id", "options", "words"),
    [
        ("nope", {}, "choose one of digits"),
        ("svmlight:", {}, "svmlight:PATH"),
        ("lshtc:only-one", {}, "lshtc:PATH,HIERARCHY"),
        ("svmlight:no/such/file", {}, "There is no file"),
        ("digits", {"degre": 2}, "it takes split"),
        ("digits", {"degree": 3}, "from 1 to 2"),
        ("digits", {"positive": "ten"}, "choose one of 0, 1"),
        ("digits", {"seed": -1}, "seed"),
        ("synthetic-text", {"preset": "huge"}, "small, text20, binary"),
    ],
)
def test_bad_requests_get_one_sentence_that_says_what_would_be_right(id, options, words):
    with pytest.raises(DataError, match=words) as error:
        datasets.load(id, **options)
    assert isinstance(error.value, ValueError)
    assert "\n" not in str(error.value)


def test_a_preset_sets_options_and_given_ones_override_it():
    entry = datasets.describe("synthetic-tree")
    assert entry.parse({})["n_nodes"] == 60
    paper = entry.parse({"preset": "paper", "n_samples": 100})
    assert (paper["n_nodes"], paper["n_leaves"], paper["n_features"], paper["n_samples"]) == (
        2388,
        1139,
        51033,
        100,
    )


@pytest.mark.parametrize(
    ("id", "options", "kind"),
    [
        ("digits", {}, "multiclass"),
        ("digits", {"positive": 3}, "binary"),
        ("news20", {"form": "tree"}, "tree"),
        ("news20", {"form": "tree", "labels": "flat"}, "multiclass"),
        ("synthetic-text", {"preset": "binary"}, "binary"),
        ("rcv1", {"task": "multilabel"}, "multilabel"),
    ],
)
def test_the_kind_of_labels_is_known_before_loading(id, options, kind):
    assert datasets.describe(id).kind_of(**options) == kind


def test_an_own_file_has_its_path_as_source(tmp_path):
    path = tmp_path / "some.svm"
    path.write_text("1 1:2\n-1 2:1\n")
    data = datasets.load(f"svmlight:{path}")
    assert data.source == str(path)
    assert data.id == f"svmlight:{path}"
    assert datasets.describe(f"svmlight:{path}").available() == (True, None)


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "some.svm").write_text("1 1:2\n-1 2:1\n")
    assert datasets.load("svmlight:~/some.svm", test="~/some.svm").test.n_samples == 2


def test_progress_is_told(tmp_path):
    path = tmp_path / "some.svm"
    path.write_text("1 1:2\n-1 2:1\n")
    told = []
    datasets.load(f"svmlight:{path}", progress=lambda text, fraction: told.append((text, fraction)))
    assert ("reading some.svm", 1.0) in told


def test_what_a_loader_leaves_out_is_added(monkeypatch):
    def loader(request):
        return Content(Part(np.arange(24.0).reshape(6, 4), np.array([0, 1] * 3)), ("a", "b"))

    monkeypatch.setitem(datasets.DATASETS, "my-set", dataclasses.replace(ENTRY, loader=loader))
    one, other = (datasets.load("my-set", n=n) for n in (10, 11))
    assert list(one.feature_names) == ["x1", "x2", "x3", "x4"]
    assert one.digest == datasets.load("my-set").digest != other.digest
    pictured = dataclasses.replace(
        ENTRY, loader=lambda request: dataclasses.replace(loader(request), picture_shape=(2, 2))
    )
    monkeypatch.setitem(datasets.DATASETS, "my-set", pictured)
    assert datasets.load("my-set").feature_names[3] == "pixel (2, 2)"


def malformed(of, *arrays):
    return of(arrays, shape=(3, 2))


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (malformed(sp.csr_matrix, np.ones(3), [50_000_000, 1, 0], [0, 1, 2, 3]), "indices must be < 2"),
        (malformed(sp.csr_array, np.ones(3), [0, -1, 0], [0, 1, 2, 3]), "indices must be >= 0"),
        (malformed(sp.csc_matrix, np.ones(3), [0, 1, 7], [0, 1, 3]), "indices must be < 3"),
        (malformed(sp.csr_matrix, np.ones(3), [0, 1, 0], [0, 3, 1, 3]), "non-decreasing"),
        (np.eye(3, 2) * 1j, "X of a part holds complex128; it must hold real numbers"),
        (np.full((3, 2), "1.0"), "X of a part holds str"),
        (np.full((3, 2), np.datetime64("2020")), "X of a part holds datetime64"),
        (np.full((3, 2), "1.0", dtype=object), "X of a part holds object"),
        (np.ma.masked_equal(np.eye(3, 2), 1.0), "X of a part is a masked array with hidden entries"),
    ],
)
@pytest.mark.parametrize("place", ["train", "test"])
def test_features_that_are_no_matrix_of_numbers_are_refused_in_a_sentence(monkeypatch, X, words, place):
    y, right = np.array([0, 1, 1]), np.eye(3, 2)
    train, test = (Part(X, y), None) if place == "train" else (Part(right, y), Part(X, y))
    entry = dataclasses.replace(ENTRY, loader=lambda request: Content(train, ("a", "b"), test=test))
    monkeypatch.setitem(datasets.DATASETS, "my-set", entry)
    with pytest.raises(DataError, match=words):
        datasets.load("my-set")


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.ma.masked_equal([0, 1, 1], 1), "y of a part is a masked array with hidden entries"),
        (np.array(["a", "b", "b"]), "y of a part holds str"),
        (np.array([0, 1j, 1]), "y of a part holds complex128"),
        (np.array([[0], [1], [1]]), r"labels of shape \(3, 1\)"),
        (malformed(sp.csr_matrix, np.ones(3), [50_000_000, 1, 0], [0, 1, 2, 3]), "y of a part is no sparse"),
    ],
)
def test_labels_that_are_none_are_refused_in_a_sentence(monkeypatch, y, words):
    entry = dataclasses.replace(ENTRY, loader=lambda request: Content(Part(np.eye(3), y), ("a", "b")))
    monkeypatch.setitem(datasets.DATASETS, "my-set", entry)
    with pytest.raises(DataError, match=words):
        datasets.load("my-set")


def test_a_test_part_has_the_features_of_training(monkeypatch):
    y = np.array([0, 1, 1])
    content = Content(Part(np.eye(3), y), ("a", "b"), test=Part(np.eye(3, 2), y))
    monkeypatch.setitem(datasets.DATASETS, "my-set", dataclasses.replace(ENTRY, loader=lambda _: content))
    with pytest.raises(DataError, match="the test part has 2 features and the training part 3"):
        datasets.load("my-set")


@pytest.mark.parametrize("scale", ["none", "unit", "minmax"])
def test_small_integers_that_stand_twice_are_added_as_numbers(monkeypatch, scale):
    entries = np.array([100, 100, 1, 1], np.int8)
    X = sp.csr_matrix((entries, [0, 0, 1, 0], [0, 2, 3, 4]), shape=(3, 2))
    content = Content(Part(X, np.array([0, 1, 1])), ("a", "b"))
    monkeypatch.setitem(datasets.DATASETS, "my-set", dataclasses.replace(ENTRY, loader=lambda _: content))
    expected = {"none": 200.0, "unit": 1.0, "minmax": 1.0}
    assert datasets.load("my-set", scale=scale).X[0, 0] == expected[scale]
    assert X.nnz == 4, "the loader's arrays stay as they are"


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ((np.eye(3), [0, 1, 0]), "its loader returns tuple; it must return a datasets.Content"),
        (Content(Part([[0.0], [1.0]], np.array([0, 1])), ("a", "b"), ("x",), "d"), "X of a part is no array"),
        (Content(Part(np.eye(2), [0, 1]), ("a", "b"), ("x", "y"), "d"), "y of a part is no array"),
        (
            Content(Part(np.eye(2), np.array([0, 1])), ("a", "b"), ("x",), "d"),
            "1 feature_names for 2 features",
        ),
    ],
)
def test_a_loader_that_returns_something_else_is_told_what_is_right(monkeypatch, returned, words):
    entry = dataclasses.replace(ENTRY, loader=lambda request: returned)
    monkeypatch.setitem(datasets.DATASETS, "my-set", entry)
    with pytest.raises(DataError, match=words):
        datasets.load("my-set")
