import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from solverscope import datasets
from solverscope.datasets import DataError
from solverscope.datasets.readers import files, svmlight


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("scratch") / "file.svm"


finite = st.floats(-1e300, 1e300)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    entries=st.dictionaries(st.tuples(st.integers(0, 9), st.integers(0, 30)), finite, max_size=60),
    labels=st.lists(st.integers(-3, 3), min_size=10, max_size=10),
)
def test_what_scikit_learn_writes_is_read_the_same(scratch, entries, labels):
    X = scipy.sparse.lil_matrix((10, 31))
    for (i, j), value in entries.items():
        X[i, j] = value
    X = X.tocsr()
    dump_svmlight_file(X, np.array(labels), str(scratch), zero_based=True)
    rows = svmlight.read(scratch)
    theirs, y = load_svmlight_file(str(scratch), n_features=31, zero_based=True)
    ours = rows.X.copy()
    ours.resize(10, 31)
    assert (ours != theirs).nnz == 0
    np.testing.assert_array_equal(rows.labels, y)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    value=finite | st.integers(-(10**30), 10**30),
    form=st.sampled_from(["{!r}", "{:.17g}", "{:.3e}", "{:+.6f}"]),
)
def test_every_number_is_rounded_as_python_rounds_it(scratch, value, form):
    text = form.format(value)
    scratch.write_text(f"1 1:{text}\n")
    (found,) = svmlight.read(scratch).X.data
    assert found == float(text)


def test_the_forms_that_people_write_are_accepted(written):
    text = b"\xef\xbb\xbf# a comment\r\n+1 qid:3 2:1.5\t5:-2e-1 # more\r\n\r\n-1\r\n 1 3:.5 1:7.   "
    rows = svmlight.read(written(text))
    assert rows.labels.tolist() == [1, -1, 1]
    assert rows.lines.tolist() == [2, 4, 5]
    assert rows.X.toarray().tolist() == [[0, 0, 1.5, 0, 0, -0.2], [0] * 6, [0, 7, 0, 0.5, 0, 0]]


def test_several_labels_or_none_in_a_line(written):
    rows = svmlight.read(written("1,2,5 1:1\n 2:1\n3 1:2\n4, 7 1:1\n"))
    assert rows.labels.tolist() == [1, 2, 5, 3, 4, 7]
    assert rows.offsets.tolist() == [0, 3, 3, 4, 6]


def test_blocks_are_put_together(written, monkeypatch):
    monkeypatch.setattr(files, "READ_CHUNK_BYTES", 50)
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(60, 20, 0.3, format="csr", random_state=0)
    lines = [
        f"{i} " + " ".join(f"{j}:{v!r}" for j, v in zip(X[i].indices, X[i].data.tolist(), strict=True))
        for i in range(60)
    ]
    rng.shuffle(lines)
    rows = svmlight.read(written("\n".join(lines)))
    order = rows.labels.astype(int)
    np.testing.assert_array_equal(rows.X.toarray(), X[order].toarray())
    np.testing.assert_array_equal(rows.lines, np.arange(1, 61))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("one 1:1", "a label is not a number"),
        ("1x 1:1", "a label is not a number"),
        ("1, 1:1", "a label is not a number"),
        ("nan 1:1", "a label is NaN"),
        ("iris 1:1", "a label is not a number"),
        ("12345678901234567890 1:1", "a label is not a number of at most 15 digits"),
        ("1 3:none", "a value is not a number"),
        ("1 a:1", "a feature index is not a whole number"),
        ("1 -1:1", "a feature index is not a whole number"),
        ("1 1.5:1", "a feature index is not a whole number"),
        ("1 1000000000000:1", "larger than 20,000,000"),
        ("1 99999999999999999999999:1", "larger than 20,000,000"),
        ("1 3", "has no value"),
        ("1 3 :1", "has no value"),
        ("1 3:", "a value is not a number"),
        ("1 3:x", "a value is not a number"),
        ("1 3:1e", "a value is not a number"),
        ("1 3:1.2.3", "a value is not a number"),
        ("1 3:nan", "NaN or infinite"),
        ("1 3:-Infinity", "NaN or infinite"),
        ("1 3:1e999", "NaN or infinite"),
        ("1 3:1 3:2", "feature 3 comes twice"),
    ],
)
def test_a_bad_line_is_refused_with_file_line_and_reason(written, line, reason):
    with pytest.raises(DataError, match=r"file\.txt, line 3: ") as error:
        svmlight.read(written(f"1 3:1\n\n{line}\n1 3:1\n"))
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


def test_the_same_feature_in_two_rows_is_not_twice(written):
    assert svmlight.read(written("1 3:1\n2\n1 3:2\n2 3:1 4:1\n1 4:1")).X.nnz == 5


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "   "])
def test_an_empty_file_is_refused(written, text):
    with pytest.raises(DataError, match="is empty"):
        svmlight.read(written(text))


def test_a_line_of_a_million_characters_is_read(written):
    text = "1 " + " ".join(f"{j}:1" for j in range(1, 130_000))
    assert len(text) > 1_000_000
    assert svmlight.read(written(text)).X.nnz == 129_999
    with pytest.raises(DataError, match="line 1: a label is not a number"):
        svmlight.read(written("x" * 1_000_000))


def test_too_many_values_are_refused(written, monkeypatch):
    monkeypatch.setattr(svmlight, "MAX_NONZEROS", 3)
    with pytest.raises(DataError, match="more than 3 values"):
        svmlight.read(written("1 1:1 2:1\n1 1:1 2:1\n"))


def own_id(path):
    return f"svmlight:{path}"


class TestOwnFiles:
    def test_two_labels_make_a_binary_set(self, written):
        data = datasets.load(own_id(written("2 1:1\n1 2:1\n")))
        assert (data.kind, data.y.tolist(), data.label_names, data.loss) == (
            "binary",
            [1, -1],
            ("1", "2"),
            "logistic",
        )
        assert (data.n_features, data.test) == (2, None)

    def test_more_labels_make_a_multiclass_set_and_unseen_ones_are_minus_one(self, written):
        train, test = written("5 1:1\n7 2:1\n9 1:2"), written("7 3:1\n6 1:1\n5", "test.svm")
        data = datasets.load(f"svmlight:{train}", test=str(test))
        assert (data.kind, data.y.tolist(), data.label_names) == ("multiclass", [0, 1, 2], ("5", "7", "9"))
        assert data.test.y.tolist() == [1, -1, 0]
        assert data.X.shape[1] == data.test.X.shape[1] == 3

    def test_label_lists_make_a_multilabel_set(self, written):
        data = datasets.load(own_id(written("1,3 1:1\n 1:2\n3 2:1\n")))
        assert (data.kind, data.label_names) == ("multilabel", ("1", "3"))
        assert data.y.toarray().tolist() == [[1, 1], [0, 0], [0, 1]]
        assert data.y.dtype == np.int8
        one = datasets.load(own_id(written("1,3 1:1\n 1:2\n3 2:1\n")), positive=1)
        assert one.y.tolist() == [1, -1, -1]

    def test_features_are_counted_from_0_where_0_occurs(self, written):
        path = written("1 0:5\n2 1:1\n")
        assert datasets.load(f"svmlight:{path}").X.toarray().tolist() == [[5, 0], [0, 1]]
        with pytest.raises(DataError, match="use first_index=0"):
            datasets.load(f"svmlight:{path}", first_index=1)
        path = written("1 1:5\n2 2:1\n")
        assert datasets.load(f"svmlight:{path}", first_index=0).X.shape == (2, 3)

    def test_the_number_of_features_can_be_given(self, written):
        path = written("1 1:5\n2 2:1\n")
        assert datasets.load(f"svmlight:{path}", n_features=10).X.shape == (2, 10)
        with pytest.raises(DataError, match="give n_features=2"):
            datasets.load(f"svmlight:{path}", n_features=1)

    def test_of_more_than_a_million_features_those_that_occur_are_kept(self, written):
        train, test = written("1 7:1\n2 20000000:3\n"), written("2 5:1 7:2\n", "test.svm")
        tracemalloc.start()
        data = datasets.load(f"svmlight:{train}", test=str(test))
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
        tracemalloc.stop()
        assert [*data.feature_names] == ["x5", "x7", "x20000000"]
        assert data.X.toarray().tolist() == [[0, 1, 0], [0, 0, 3]]
        assert data.test.X.toarray().tolist() == [[1, 2, 0]]
        assert datasets.load(f"svmlight:{train}", n_features=20_000_000).X.shape == (2, 20_000_000)

    def test_numbers_that_are_not_whole_are_targets(self, written):
        rows = written("1.5 1:1\n2 1:2\n3 1:2\n")
        data = datasets.load(f"svmlight:{rows}")
        assert (data.kind, data.y.tolist()) == ("regression", [1.5, 2.0, 3.0])
        assert datasets.load(f"svmlight:{rows}", target_scale="center").y.sum() == pytest.approx(0.0)

    @pytest.mark.parametrize(
        ("text", "options", "words"),
        [
            ("1 1:1\n2 1:2\n3 1:3\n", {"kind": "binary"}, "two different labels in training, not 3"),
            ("1 1:1\n1 1:2\n", {}, "at least two classes"),
            ("1 1:1\n1,2 1:2\n", {"kind": "multiclass"}, "line 2: multiclass data have one label a line"),
            ("1.5 1:1\n2 1:2\n3 1:2\n", {"kind": "multiclass"}, "line 1: the label of a class is a whole"),
            ("1\n2\n", {}, "0 features"),
            (" 1:1\n 2:1\n", {}, "No training sample has a label"),
        ],
    )
    def test_files_that_do_not_fit_are_refused(self, written, text, options, words):
        with pytest.raises(DataError, match=words):
            datasets.load(f"svmlight:{written(text)}", **options)

    def test_a_test_part_with_a_third_label_is_refused(self, written):
        train, test = written("1 1:1\n2 1:2\n"), written("3 1:1\n", "test.svm")
        with pytest.raises(DataError, match="label 3, the training part does not"):
            datasets.load(f"svmlight:{train}", test=str(test))
