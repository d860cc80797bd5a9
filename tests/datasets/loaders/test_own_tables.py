"""csv:PATH and npz:PATH: data sets of a user's own tables, or one sentence."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
import sklearn.datasets

from solverscope import datasets
from solverscope.datasets import DataError

PACKAGED = Path(sklearn.datasets.__file__).parent / "data"


@pytest.fixture
def table(tmp_path):
    """Writes a text and returns its id."""

    def write(text, name="a.csv"):
        (tmp_path / name).write_text(text)
        return f"csv:{tmp_path / name}"

    return write


@pytest.fixture
def saved(tmp_path):
    """Saves arrays and returns the id of their file."""

    def save(name="a.npz", **arrays):
        np.savez_compressed(tmp_path / name, **arrays)
        return f"npz:{tmp_path / name}"

    return save


class TestCsv:
    def test_texts_become_a_feature_each(self, table):
        data = datasets.load(table("39, State, 7, <=50K\n50, Private, 0, >50K\n38, ?, 9, <=50K\n"))
        assert (data.kind, data.label_names) == ("binary", ("<=50K", ">50K"))
        assert list(data.feature_names) == ["x1", "x2=State", "x2=Private", "x2=?", "x3"]
        assert data.X.toarray().tolist() == [[39, 1, 0, 0, 7], [50, 0, 1, 0, 0], [38, 0, 0, 1, 9]]
        assert data.X.has_sorted_indices
        assert data.y.tolist() == [-1, 1, -1]

    def test_numbers_stay_a_dense_array_and_labels_are_sorted_as_numbers(self, table):
        data = datasets.load(table("a,y\n1,10\n2,9\n3,10.0\n4,-1\n"))
        assert (data.kind, data.label_names) == ("multiclass", ("-1", "9", "10"))
        assert data.X.tolist() == [[1], [2], [3], [4]]
        assert data.y.tolist() == [2, 1, 2, 0]

    def test_a_test_part_is_coded_as_training_is(self, table):
        train = table("a,b,label\n1,x,no\n2,y,yes\n")
        test = table("a,b,label\n3,y,no\n4,z,no\n", "b.csv").removeprefix("csv:")
        data = datasets.load(train, test=test)
        assert data.test.X.toarray().tolist() == [[3, 0, 1], [4, 0, 0]]
        assert data.test.y.tolist() == [-1, -1]

    def test_labels_of_another_sort_in_the_test_part_are_refused(self, table):
        test = table("1,x\n2,y\n", "b.csv").removeprefix("csv:")
        with pytest.raises(DataError, match="has texts for labels, the other numbers: give both alike"):
            datasets.load(table("1,0\n2,1\n"), test=test)

    @pytest.mark.parametrize(
        ("name", "kind", "shape", "labels"),
        [
            ("iris.csv", "multiclass", (150, 4), ("setosa", "versicolor", "virginica")),
            ("breast_cancer.csv", "binary", (569, 30), ("benign", "malignant")),
            ("wine_data.csv", "multiclass", (178, 13), ("class_0", "class_1", "class_2")),
            ("digits.csv.gz", "multiclass", (1797, 64), tuple("0123456789")),
        ],
    )
    def test_tables_of_scikit_learn_are_read(self, name, kind, shape, labels):
        data = datasets.load(f"csv:{PACKAGED / name}", split="none")
        assert (data.kind, data.X.shape, data.label_names) == (kind, shape, labels)

    def test_the_classes_of_scikit_learn_s_breast_cancer_keep_their_rows(self):
        ours = datasets.load(f"csv:{PACKAGED / 'breast_cancer.csv'}", split="none")
        known = sklearn.datasets.load_breast_cancer()
        np.testing.assert_array_equal(ours.X, known.data)
        np.testing.assert_array_equal(ours.y > 0, known.target_names[known.target] == "malignant")

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("".join(f"{i % 7},name {i}\n" for i in range(50)), "has 50 different texts in 50 rows"),
            (
                "".join(f"name {i},{i % 2}\n" for i in range(50)),
                "column x1 has 50 different texts in 50 rows",
            ),
            ("label\n1\n0\n", "different numbers of fields"),
            ("1,1\n2,1\n", "all training samples have the same label"),
        ],
    )
    def test_what_is_no_set_of_classes_is_refused_in_a_sentence(self, table, text, sentence):
        with pytest.raises(DataError, match=sentence) as refused:
            datasets.load(table(text))
        assert str(refused.value).endswith(".")
        assert "\n" not in str(refused.value)

    @pytest.mark.parametrize(
        "text",
        [
            "a,y\n1,22.4\n2,0.5\n3,7\n",
            "".join(f"{i % 7},{i}\n" for i in range(50)),
            "".join(f"{i % 7},{i % 40}\n" for i in range(250)),
        ],
    )
    def test_measured_numbers_and_nearly_as_many_as_rows_are_targets(self, table, text):
        data = datasets.load(table(text))
        assert (data.kind, data.loss, data.y.dtype) == ("regression", "squared", np.float64)
        last = [float(row.rpartition(",")[2]) for row in text.split() if row != "a,y"]
        assert data.y.tolist() == last

    def test_measured_numbers_are_no_classes(self, table):
        with pytest.raises(DataError, match=r"such as 0.5, which are no classes: put the .* kind=reg"):
            datasets.load(table("a,y\n1,22.4\n2,0.5\n3,7\n"), kind="multiclass")

    def test_whole_numbers_are_targets_if_one_says_so(self, table):
        rows = "".join(f"{i},{i % 3}\n" for i in range(30))
        assert datasets.load(table(rows)).kind == "multiclass"
        assert datasets.load(table(rows), kind="regression").y[:4].tolist() == [0.0, 1.0, 2.0, 0.0]

    def test_targets_are_named_and_several_make_a_multitask_set(self, table):
        rows = table("height,age,kind,weight\n1,20,a,3.5\n2,30,b,4\n4,40,a,5\n")
        one = datasets.load(rows, target="age")
        assert (one.kind, one.label_names, one.y.tolist()) == ("regression", ("age",), [20, 30, 40])
        assert list(one.feature_names) == ["height", "kind=a", "kind=b", "weight"]
        two = datasets.load(rows, target="weight, 2")
        assert (two.kind, two.label_names) == ("multitask", ("weight", "age"))
        assert two.y.tolist() == [[3.5, 20], [4, 30], [5, 40]]
        assert list(two.feature_names) == ["height", "kind=a", "kind=b"]

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"target": "kind"}, "kind, the column of labels, holds texts: the targets of a regression"),
            ({"target": "age,kind"}, "kind holds texts"),
            ({"target": "age,age"}, "column age is named twice"),
            ({"target": "age,weight", "drop": "weight"}, "weight is named twice, or left out"),
            ({"target": "age", "label": "kind"}, "label and target both name a column"),
            ({"target": "colour"}, "no column called 'colour'"),
            ({"target": "age", "positive": "20"}, "positive= chooses one class, and the labels are numeric"),
            ({"label": "kind", "target_scale": "center"}, "target_scale='center' needs numeric targets"),
        ],
    )
    def test_targets_that_cannot_be_are_refused_in_a_sentence(self, table, options, sentence):
        rows = table("height,age,kind,weight\n1,20,a,3.5\n2,30,b,4\n4,40,a,5\n")
        with pytest.raises(DataError, match=sentence):
            datasets.load(rows, **options)

    def test_targets_are_scaled_as_training_is(self, table):
        rows, test = table("1,2\n2,4.5\n3,6\n"), table("1,8\n", "b.csv").removeprefix("csv:")
        y = np.array([2, 4.5, 6])
        for how, factor in (("center", 1.0), ("standard", y.std())):
            data = datasets.load(rows, test=test, target_scale=how)
            np.testing.assert_allclose(data.y, (y - y.mean()) / factor, rtol=1e-15, atol=1e-15)
            np.testing.assert_allclose(data.test.y, (8 - y.mean()) / factor, rtol=1e-15)

    def test_a_column_of_weights_is_no_feature_and_follows_the_rows(self, table):
        rows = "a,w,b,label\n" + "".join(
            f"{i},{i + 1},{i % 5},{'no' if i % 3 else 'yes'}\n" for i in range(30)
        )
        named = datasets.load(table(rows), weights="w", split="random", seed=2)
        numbered = datasets.load(table(rows), weights="2", cv="2/4", seed=5)
        for data in (named, numbered):
            assert list(data.feature_names) == ["a", "b"]
            for part in (data.train, data.test):
                assert part.sample_weight.tolist() == (part.X[:, 0] + 1).tolist()
        test = table("a,w,b,label\n7,0,1,no\n8,9,1,no\n", "b.csv").removeprefix("csv:")
        assert datasets.load(table(rows), weights="w", test=test).test.sample_weight.tolist() == [0, 9]
        numbers = datasets.load(table("1,2,0.5,9\n3,4,2.25,8\n5,6,7,5\n"), weights="1", target="2,3")
        assert (numbers.kind, numbers.sample_weight.tolist()) == ("multitask", [1, 3, 5])

    @pytest.mark.parametrize(
        ("rows", "weights", "sentence"),
        [
            ("1,2,no\n1,1,yes\n", "w", "has no column called 'w': it has a, w2, label"),
            ("1,2,no\n1,1,yes\n", "label", "label cannot be the column of weights and that of labels"),
            ("1,x,no\n1,y,yes\n", "w2", "w2 holds texts: sample weights are numbers"),
            ("1,nan,no\n1,1,yes\n", "w2", "line 2: w2 has no value .nan.; fill it in"),
            (
                "1,-2,no\n1,1,yes\n",
                "w2",
                "training part has the sample weight -2; give weights from 0 to 1e.12",
            ),
            ("1,0,no\n1,0,yes\n", "w2", "all sample weights of the training part are 0; at least one sample"),
            ("1,0,no\n1,1,yes\n", "w2", "samples whose weight is not 0 have the same label; at least two"),
        ],
    )
    def test_weights_that_cannot_be_are_refused_in_a_sentence(self, table, rows, weights, sentence):
        with pytest.raises(DataError, match=sentence):
            datasets.load(table(f"a,w2,label\n{rows}"), weights=weights)

    def test_many_classes_can_be_asked_for_and_columns_left_out(self, table):
        rows = table("name,b,y\n" + "".join(f"name {i},{i % 7},{i // 2}\n" for i in range(60)))
        data = datasets.load(rows, kind="multiclass", drop="name", split="none")
        assert (data.n_classes, list(data.feature_names)) == (30, ["b"])

    def test_options_of_all_sets_hold(self, table):
        rows = table("".join(f"{i},{'xyz'[i % 3]},{i % 2}\n" for i in range(40)))
        data = datasets.load(rows, split="random", degree=2, bias=1, scale="minmax", seed=3)
        assert (data.n_samples, data.test.n_samples) == (32, 8)
        assert data.X.shape[1] == 4 + 6 + 1


def test_a_plug_in_names_a_loader_of_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.registry, "DATASETS", {})
    (tmp_path / "a.csv").write_text("1,x,no\n2,y,yes\n")
    np.savez(tmp_path / "a.npz", X=np.eye(2), y=[3, 4])
    for name, loader, labels in [("a.csv", "csv", ("no", "yes")), ("a.npz", "arrays", ("3", "4"))]:
        entry = datasets.DataSetInfo(
            id=f"my-{loader}",
            name="Mine",
            summary="a table",
            kind="binary",
            loader=f"loaders.own_tables:{loader}",
            files=(datasets.DataFile(str(tmp_path / name)),),
        )
        datasets.register(entry)
        assert datasets.load(entry.id).label_names == labels


X = np.arange(12.0).reshape(4, 3)


class TestNpz:
    def test_arrays_make_a_set(self, saved):
        data = datasets.load(saved(X=X, y=np.array([3, 1, 3, 2]), other=np.ones(9)))
        assert (data.kind, data.label_names) == ("multiclass", ("1", "2", "3"))
        np.testing.assert_array_equal(data.X, X)
        assert data.y.tolist() == [2, 0, 2, 1]

    @pytest.mark.parametrize("y", [[True, False, True, False], [[1], [0], [1], [0]], [1.0, -1, 1, -1]])
    def test_two_labels_are_binary(self, saved, y):
        data = datasets.load(saved(X=X, y=np.array(y)))
        assert (data.kind, data.y.tolist()) == ("binary", [1, -1, 1, -1])

    @pytest.mark.parametrize("dtype", [None, "S"])
    def test_texts_are_labels_and_names_are_kept(self, saved, dtype):
        y = np.array(["no", "yes", "no", "no"], dtype)
        data = datasets.load(saved(data=X, target=y, feature_names=np.array(["a", "b", "c"])))
        assert (data.label_names, tuple(data.feature_names)) == (("no", "yes"), ("a", "b", "c"))
        named = datasets.load(saved(data=X, target=[0, 1, 0, 0], target_names=np.array(["off", "on"])))
        assert named.label_names == ("off", "on")

    def test_names_may_be_numbers(self, saved):
        data = datasets.load(saved(X=X, y=[0, 1, 0, 1], target_names=np.array([7, 8]), feature_names=X))
        assert (data.label_names, list(data.feature_names)) == (("7", "8"), ["x1", "x2", "x3"])

    def test_rows_of_0_and_1_are_multilabel(self, saved):
        Y = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 1]])
        data = datasets.load(saved(X=X, y=Y))
        assert (data.kind, data.label_names) == ("multilabel", ("1", "2", "3"))
        np.testing.assert_array_equal(data.y.toarray(), Y)

    def test_both_parts_of_pictures(self, saved):
        pictures = np.arange(4 * 6, dtype=np.uint8).reshape(4, 2, 3)
        id = saved(x_train=pictures, y_train=[0, 1, 2, 0], x_test=pictures[:2], y_test=[2, 1])
        data = datasets.load(id)
        assert (data.picture_shape, data.X.shape, data.test.X.shape) == ((2, 3), (4, 6), (2, 6))
        assert data.test.y.tolist() == [2, 1]

    def test_another_file_is_the_test_part(self, saved):
        id = saved(X=X, y=[0, 1, 2, 0])
        test = saved("b.npz", X=X[:2], y=[2, 1]).removeprefix("npz:")
        assert datasets.load(id, test=test).test.y.tolist() == [2, 1]

    @pytest.mark.parametrize("form", ["csr", "csc"])
    def test_a_sparse_matrix_as_scipy_saves_it(self, tmp_path, form):
        S = scipy.sparse.random(20, 30, 0.2, format=form, random_state=0)
        scipy.sparse.save_npz(tmp_path / "a.npz", S)
        with np.load(tmp_path / "a.npz") as archive:
            arrays = dict(archive)
        np.savez(tmp_path / "a.npz", **arrays, y=np.arange(20) % 3)
        data = datasets.load(f"npz:{tmp_path / 'a.npz'}")
        assert scipy.sparse.issparse(data.X)
        assert (S.tocsr() != data.X).nnz == 0

    @pytest.mark.parametrize(
        ("arrays", "sentence"),
        [
            ({"a": X}, "holds a, not samples X and labels y: save samples X and labels y by numpy.savez"),
            ({"X": X}, "holds X, not samples X and labels y"),
            ({}, "holds nothing, not samples"),
            ({"X": X, "y": [0, 1, 0]}, r"X has the shape \(4, 3\) and y \(3,\); give a row a sample"),
            ({"X": X[0], "y": [0, 1, 0]}, r"X has the shape \(3,\)"),
            ({"X": X * 1j, "y": [0, 1, 0, 1]}, "X has entries of type complex128; give real numbers"),
            ({"X": X.astype(str), "y": [0, 1, 0, 1]}, "X has entries of type <U32"),
            ({"X": X.astype(object), "y": [0, 1, 0, 1]}, "holds Python objects, which are not read"),
            ({"X": X, "y": [0, np.nan, 1, 1]}, "a label in y is NaN or infinite"),
            ({"X": X, "y": np.array([0, 1j, 1, 1])}, "labels y have the shape .* and type complex128"),
            ({"X": X * np.nan, "y": [0, 1, 0, 1]}, "features that are NaN or infinite"),
            ({"X": X, "y": [1, 1, 1, 1]}, "all training samples have the same label"),
            ({"X_train": X, "y_train": [0, 1, 1, 1], "X_test": X[:, :2], "y_test": [0, 1, 1, 1]}, "as many"),
            (
                {"data": [1.0], "indices": [9], "indptr": [0, 1], "shape": [1, 3], "y": [0]},
                "do not make a CSR",
            ),
            (
                {"data": [1.0], "indices": [0], "indptr": [0, 1], "shape": [1, 3], "format": "bsr", "y": [0]},
                "in the form 'bsr'",
            ),
        ],
    )
    def test_other_arrays_are_refused_in_a_sentence(self, saved, arrays, sentence):
        with pytest.raises(DataError, match=sentence) as refused:
            datasets.load(saved(**arrays))
        assert str(refused.value).endswith(".")
        assert "\n" not in str(refused.value)

    def test_numbers_are_targets(self, saved):
        data = datasets.load(saved(X=X, y=[0.1, 0.2, 0.3, 1]))
        assert (data.kind, data.y.tolist()) == ("regression", [0.1, 0.2, 0.3, 1])
        data = datasets.load(saved(X=X, y=X, target_names=["a", "b", "c"]))
        assert (data.kind, data.label_names) == ("multitask", ("a", "b", "c"))
        np.testing.assert_array_equal(data.y, X)
        with pytest.raises(DataError, match=r"such as 0.1, which are no classes"):
            datasets.load(saved(X=X, y=[0.1, 0.2, 0.3, 1]), kind="multiclass")
        with pytest.raises(DataError, match="y is no matrix of 0 and 1 with a column a label"):
            datasets.load(saved(X=X, y=X), kind="multilabel")

    def test_large_whole_labels_stay_apart(self, saved):
        y = np.array([2**60, 2**60 + 1, 2**60, 2**60 + 1])
        assert datasets.load(saved(X=X, y=y)).label_names == (str(2**60), str(2**60 + 1))

    def test_an_array_of_weights_is_named_as_x_and_y_are(self, saved):
        y = np.array([0, 1, 1, 0])
        assert datasets.load(saved(X=X, y=y, s=[1, 0, 2, 3]), weights="s").sample_weight.tolist() == [
            1,
            0,
            2,
            3,
        ]
        both = {"X_train": X, "y_train": y, "s_train": y + 1, "X_test": X, "y_test": y, "s_test": y}
        data = datasets.load(saved(**both), weights="s")
        assert (data.sample_weight.tolist(), data.test.sample_weight.tolist()) == ([1, 2, 2, 1], y.tolist())

    @pytest.mark.parametrize(
        ("arrays", "sentence"),
        [
            ({"y": [0, 1, 1, 0]}, "a.npz has no array of weights 's': it has X, y"),
            (
                {"y": [0, 1, 1, 0], "s": np.ones(3)},
                r"s has the shape \(3,\); give a weight for each of 4 rows",
            ),
            ({"y": [0, 1, 1, 0], "s": [1, np.nan, 1, 1]}, "training part has sample weights that are NaN"),
            ({"y": np.eye(4, 3, dtype=int), "s": np.ones(4)}, "and these labels are multilabel"),
        ],
    )
    def test_arrays_that_are_no_weights_are_refused_in_a_sentence(self, saved, arrays, sentence):
        with pytest.raises(DataError, match=sentence):
            datasets.load(saved(X=X, **arrays), weights="s")
