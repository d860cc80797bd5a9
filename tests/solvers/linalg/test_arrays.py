"""Problems from arrays: the same as from a data set, and refused with the same care."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from solverscope import datasets, solvers
from solverscope.solvers.linalg import arrays as arrays_module
from solverscope.solvers.linalg.design import Design
from tests.solvers.helpers import PARENTS, binary, chains, dense_of, multiclass, multilabel, trees

KINDS = {
    "binary": (binary, "logistic", "l1"),
    "multiclass": (multiclass, "multiclass-squared-hinge", "l1-l2"),
    "sequences": (chains, "chain-crf", "l1"),
    "tree": (trees, "tree-softmax", "l1"),
    "multilabel": (multilabel, "multilabel-squared-hinge", "l1-l2"),
}


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("kind", KINDS)
def test_arrays_make_the_problem_that_a_data_set_makes(kind, storage):
    make, loss, penalty = KINDS[kind]
    data = make()
    X = dense_of(data.train.X) if storage == "dense" else sp.csr_matrix(dense_of(data.train.X))
    structure = {"offsets": data.train.offsets, "parents": data.parents if kind == "tree" else None}
    expected = solvers.make_problem(data, loss=loss, penalty=penalty, lam_ratio=0.1)
    made = solvers.make_problem(X, data.train.y, loss=loss, penalty=penalty, lam_ratio=0.1, **structure)
    w = np.random.default_rng(0).normal(size=made.size)
    assert made.lam == pytest.approx(expected.lam, rel=1e-12)
    assert made.at(w).objective == pytest.approx(expected.at(w).objective, rel=1e-12)
    np.testing.assert_allclose(made.at(w).gradient(), expected.at(w).gradient(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("of", [np.asarray, sp.csc_matrix, sp.csr_array])
def test_dense_and_sparse_arrays_give_the_optimum_of_the_file(tmp_path, of):
    data = binary(80, 10)
    X, y = dense_of(data.train.X), data.train.y
    rows = [" ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row.tolist())) for row in X]
    path = tmp_path / "own.svm"
    path.write_text("".join(f"{label} {row}\n" for label, row in zip(y, rows, strict=True)))
    file = datasets.load(f"svmlight:{path}", split="none")

    def optimum(problem):
        trace = solvers.solve(problem, solvers.make_solver("prox-qn"), tol=1e-10)
        return trace.result["objective"], trace.w

    f, w = optimum(solvers.make_problem(file, loss="logistic", penalty="l1", lam=0.01))
    found, weights = optimum(solvers.make_problem(of(X), y, loss="logistic", penalty="l1", lam=0.01))
    assert found == pytest.approx(f, rel=1e-12)
    np.testing.assert_allclose(weights, w, atol=1e-6)


def test_two_values_are_classes_where_the_loss_asks_for_classes():
    X, y = dense_of(binary().train.X), binary().train.y
    assert solvers.make_problem(X, y).loss.id == "logistic"
    assert solvers.make_problem(X, y, loss="multiclass-logistic").loss.n_outputs == 2
    assert (
        solvers.make_problem(X, np.where(y > 0, "yes", "no"), loss="logistic").loss.labels.tolist()
        == y.tolist()
    )


def test_other_arrays_have_another_key():
    X, y = dense_of(binary().train.X), binary().train.y
    key = solvers.make_problem(X, y, lam=0.1).key
    assert solvers.make_problem(X.copy(), list(y), lam=0.1).key == key
    assert solvers.make_problem(X + 1e-9, y, lam=0.1).key != key
    assert solvers.make_problem(X, -y, lam=0.1).key != key


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_a_problem_stays_what_it_was_when_its_arrays_change(storage):
    part = binary(storage=storage).train
    X = part.X.astype(float).copy()
    early, late, expected = (solvers.make_problem(X, part.y, lam=0.1) for _ in range(3))
    key, lam_max = expected.key, expected.lam_max
    early_key = early.key
    X *= 2.0
    assert early_key == early.key == late.key == key
    assert late.lam_max == lam_max
    assert solvers.make_problem(X, part.y, lam=0.1).key != key


def test_the_arrays_of_a_matrix_out_of_order_stay_as_they_were():
    y = np.array([1, -1])
    X = sp.csr_matrix((np.ones(4), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3))
    made = solvers.make_problem(X, y, loss="logistic", lam=0.1)
    assert (X.data.tolist(), X.indices.tolist()) == ([1.0] * 4, [2, 0, 2, 1])
    assert made.key == solvers.make_problem(sp.csr_matrix(X.toarray()), y, loss="logistic", lam=0.1).key


@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
def test_no_entry_is_overlooked(entry, monkeypatch):
    monkeypatch.setattr(arrays_module, "CHECKED_AT_ONCE", 5)
    X = np.random.default_rng(0).normal(size=(4, 4))
    for at in range(X.size):
        wrong = X.copy()
        wrong.flat[at] = entry
        with pytest.raises(ValueError, match="NaN or infinite"):
            solvers.make_problem(wrong, [0, 1, 0, 1], lam=0.1)


X, Y = np.eye(4) + 1.0, np.array([0, 1, 0, 1])


@pytest.mark.parametrize("labels", [["no", "yes", "no", "yes"], [0, 1, 0, 1], [0.5, 1.5, 0.5, 1.5]])
def test_labels_that_are_objects_are_what_they_are_as_an_array(labels):
    made, expected = (
        solvers.make_problem(X, y, loss="logistic", lam=0.1) for y in (np.array(labels, dtype=object), labels)
    )
    assert made.key == expected.key
    assert made.names.outputs == expected.names.outputs == (str(labels[1]),)


@pytest.mark.parametrize(
    ("arrays", "options", "said"),
    [
        ((X, Y[:3]), {}, "X has 4 rows and y has 3: give one label a row"),
        ((X, np.zeros(4)), {}, "all labels are the same"),
        ((X * np.inf, Y), {}, "X has entries that are NaN or infinite"),
        ((X * 1e12, Y), {}, r"X has entries beyond 1e\+12: scale them down"),
        ((sp.csr_array(X * -1e12), Y), {}, r"X has entries beyond 1e\+12: scale them down"),
        ((X[0], Y), {}, r"X has the shape \(4,\)"),
        ((np.zeros((0, 3)), Y[:0]), {}, r"X has the shape \(0, 3\)"),
        ((np.array([["a"]]), Y[:1]), {}, "X is no matrix of numbers"),
        ((X, [0.0, 1.0, np.nan, 1.0]), {}, "y has entries that are NaN"),
        ((X, 2 * X), {"loss": "multilabel-hinge"}, "must hold 0 and 1 alone"),
        ((X, np.ones((4, 2))), {}, "no label is on some samples and off on others"),
        ((X, Y), {"offsets": [0, 3]}, "offsets go from 0 to 3: they must go from 0 to 4"),
        ((X, Y), {"offsets": [0, 2, 2, 4]}, "sequence 2 has length 0"),
        ((X, Y), {"offsets": [0, 1.5, 4]}, "offsets must be whole numbers"),
        ((X, [1, 2, 9, 1]), {"parents": [-1, 0, 0]}, "y names node 9: nodes are numbered from 0 to 2"),
        ((X, [0, 1, 1, 2]), {"parents": PARENTS}, "inner node"),
        ((X, Y), {"loss": "chain-crf"}, "needs sequences labels, and these are multiclass"),
        ((X,), {}, "there are no labels"),
        (
            (X, ["a", 1, None, "b"]),
            {},
            "labels of type NoneType and int and str: give all numbers, or all str",
        ),
        ((X, np.array(["a", 1, 1, "b"], dtype=object)), {}, "labels of type int and str"),
        ((X, [None, "a", "a", None]), {}, "labels of type NoneType and str"),
        ((X, [1.0, None, 2.0, 1.0]), {}, "labels of type NoneType and float"),
        ((X, np.array([1.0, np.nan, 2, 1], dtype=object)), {}, "y has entries that are NaN"),
        ((X, [[1], [1, 2], [2], [1]]), {}, "y has rows of different lengths"),
        ((X, Y), {"offsets": [0, None, 4]}, "offsets must be whole numbers"),
        ((X, Y), {"offsets": ["a", "b"]}, "offsets must be whole numbers"),
        ((X, ["a", "b", "c", "d"]), {"parents": PARENTS}, "y must be whole numbers"),
        ((X, [0, 1, 2, "a"]), {}, "y has labels of type int and str"),
        ((X, [True, "a", "a", True]), {}, "y has labels of type bool and str"),
        ((X, [b"a", 1, 1, b"a"]), {}, "y has labels of type bytes and int"),
        ((X, [10**400, 1, 1, 2]), {}, "y has numbers that take more than 64 bits"),
        ((X, [2**63, 2**63 + 1, -1, -1]), {}, r"y has numbers beyond 2\^53"),
        ((X, [1j, 1, 1, 1j]), {}, "y has labels of type complex128"),
        ((X, np.array(["2020", "NaT", "2020", "2021"], "M8[D]")), {}, "y has entries that are NaN, NaT"),
        ((X, np.array([1, "NaT", 1, 2], "m8[D]")), {}, "y has entries that are NaN, NaT"),
        ((X, np.ma.masked_equal([0, 1, 0, 2], 2)), {}, "y cannot be used: it is a masked array with hidden"),
        (
            (X, [0.1, 0.2, 0.3, 0.4]),
            {"loss": "logistic"},
            "not all whole numbers.* or take one of squared, huber",
        ),
        (
            (X, ["a", "b", "c", "d"]),
            {"loss": "squared"},
            "y holds str32: the targets of a regression are numbers",
        ),
        ((X, X), {"loss": "huber"}, "multitask-squared takes several targets"),
        ((X, [0.1, 0.2, 0.3, 4e12]), {}, "y has entries beyond"),
        ((X, [-1.0, 2.0, 3.0, 4.0]), {"loss": "poisson"}, "needs targets of at least 0, such as counts"),
        ((X, [0.1, 0.2, 0.3, 0.4]), {"offsets": [0, 2, 4]}, "y has 4 different values"),
        ((X, Y), {"offsets": [0, 1e300, 4]}, "offsets must be whole numbers"),
        ((X, Y), {"offsets": np.ma.masked_equal([0, 2, 4], 2)}, "offsets must be whole numbers"),
        ((X + 0j, Y), {}, "X is no matrix of numbers: it is complex"),
        ((sp.csr_array(X + 0j), Y), {}, "X is no matrix of numbers: it is complex"),
        ((np.ma.masked_equal(X, 2.0), Y), {}, "X is no matrix of numbers: it is a masked array"),
        ((list(np.ma.masked_equal(X, 2.0)), Y), {}, "X is no matrix of numbers: it is a masked array"),
        (([[10**400, 1], [1, 2], [3, 4], [5, 6]], Y), {}, "X has entries beyond .*: scale them down"),
        ((X.astype(str), Y), {}, "X is no matrix of numbers: it holds text"),
        ((X.astype(str).tolist(), Y), {}, "X is no matrix of numbers: it holds text"),
        ((X.astype(np.dtypes.StringDType()), Y), {}, "X is no matrix of numbers: it holds text"),
        ((X.astype(bytes), Y), {}, "X is no matrix of numbers: it holds bytes"),
        (
            (np.full((4, 2), "1.5", dtype=object), Y),
            {},
            "X is no matrix of numbers: it has entries of type str",
        ),
        ((np.full((4, 2), np.datetime64("2020")), Y), {}, "X is no matrix of numbers: it holds dates"),
        ((np.full((4, 2), np.timedelta64(3, "h")), Y), {}, "X is no matrix of numbers: it holds time spans"),
        ((np.zeros((4, 2), [("a", float)]), Y), {}, "X is no matrix of numbers: it is a structured array"),
        (([[1, 2], [3], [4, 5], [6, 7]], Y), {}, "its rows differ in their lengths"),
        ((np.zeros((4, 3)), [0, 1, 0, 1]), {"lam_ratio": 0.1}, "λ_max is 0, since w = 0 is optimal at any λ"),
        ((np.ones((6, 2)), [0, 1, 2, 0, 1, 2]), {}, "λ_max is 0"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(arrays, options, said):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=said) as refused:
        solvers.make_problem(*arrays, **options)
    assert "\n" not in str(refused.value)


def with_(X, **arrays):
    """A sparse matrix some of whose arrays were exchanged after it was made."""
    for name, array in arrays.items():
        setattr(X, name, array)
    return X


MALFORMED = {
    "index beyond, csr": sp.csr_matrix((np.ones(3), [50_000_000, 1, 0], [0, 1, 2, 3]), shape=(3, 2)),
    "index below 0, csr": sp.csr_array((np.ones(3), [0, -1, 0], [0, 1, 2, 3]), shape=(3, 2)),
    "index beyond, csc": sp.csc_array((np.ones(3), [50_000_000, 1, 0], [0, 1, 3]), shape=(3, 2)),
    "index beyond, bsr": sp.bsr_array((np.ones((2, 1, 1)), [5, 0], [0, 1, 2, 2]), shape=(3, 2)),
    "index beyond, coo": with_(sp.coo_array(np.eye(3, 2)), coords=(np.array([0, 2]), np.array([0, 99]))),
    "index below 0, coo": with_(sp.coo_matrix(np.eye(3, 2)), coords=(np.array([0, -1]), np.array([0, 1]))),
    "index beyond, lil": with_(sp.lil_array(np.eye(3, 2)), rows=np.array([[0], [77], []], dtype=object)),
    "lengths differ, lil": with_(sp.lil_array(np.eye(3, 2)), rows=np.array([[0], [0, 1], []], dtype=object)),
    "indices of fractions": with_(sp.csr_array(np.eye(3, 2)), indices=np.array([0.0, 0.5])),
    "indices too few": with_(sp.csr_array(np.eye(3, 2)), indices=np.array([0])),
    "indptr falls": with_(sp.csr_array(np.eye(3, 2)), indptr=np.array([0, 2, 1, 2])),
    "indptr falls at the end": with_(sp.csr_array(np.eye(3, 2)), indptr=np.array([0, 9, 5, 0])),
    "indptr too short": with_(sp.csc_array(np.eye(3, 2)), indptr=np.array([0, 1])),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_a_malformed_sparse_matrix_is_refused_in_a_sentence(what):
    with pytest.raises(ValueError, match=r"X is no sparse matrix of shape \(3, 2\): ") as refused:
        solvers.make_problem(MALFORMED[what], [0, 1, 1], lam=0.1)
    assert "\n" not in str(refused.value)
    with pytest.raises(ValueError, match="y is no sparse matrix of shape"):
        solvers.make_problem(np.eye(3), MALFORMED[what], lam=0.1)
    with pytest.raises(ValueError, match="X is no sparse matrix of shape"):
        Design(MALFORMED[what], 1)


BYTES = np.array([100, 100, 1], np.int8)


@pytest.mark.parametrize(
    "X",
    [
        sp.csr_array((BYTES, [0, 0, 1], [0, 2, 3]), shape=(2, 2)),
        sp.csc_matrix((BYTES, [0, 0, 1], [0, 2, 3]), shape=(2, 2)),
        sp.coo_array((BYTES, ([0, 0, 1], [0, 0, 1])), shape=(2, 2)),
        sp.bsr_array((BYTES.reshape(3, 1, 1), [0, 0, 1], [0, 2, 3]), shape=(2, 2)),
    ],
    ids=lambda X: X.format,
)
def test_small_integers_that_stand_twice_are_added_as_numbers(X):
    for design in (solvers.make_problem(X, [0, 1], loss="logistic", lam=0.1).design, Design(X, 1)):
        np.testing.assert_array_equal(design.scores(np.array([1.0, 0.0])).Z[:, 0], [200.0, 0.0])


@pytest.mark.parametrize("y", [[[0], [1], [1], [0]], sp.csr_array([[0], [1], [1], [0]]), [["a"], ["b"]] * 2])
def test_a_column_of_labels_is_a_vector_of_them(y):
    made, expected = (
        solvers.make_problem(X, labels, lam=0.1)
        for labels in (y, np.ravel(dense_of(y) if sp.issparse(y) else y))
    )
    assert (made.loss.id, made.key) == ("logistic", expected.key)


@pytest.mark.parametrize(
    "of",
    [
        np.float32,
        np.float16,
        np.int8,
        np.uint64,
        np.longdouble,
        np.ma.masked_invalid,
        np.vectorize(Fraction, otypes=[object]),
        lambda X: X.astype(object),
        lambda X: X.tolist(),
    ],
)
def test_whatever_holds_real_numbers_is_taken(of):
    made, expected = (solvers.make_problem(given, Y, lam=0.1) for given in (of(X), X))
    assert made.key == expected.key


class Table:
    """The least that a table offers."""

    def __init__(self, columns, values):
        self.columns, self.values = columns, values

    def to_numpy(self):
        return np.array(self.values)


@pytest.mark.parametrize("table", [Table, lambda columns, values: pd.DataFrame(values, columns=columns)])
def test_columns_of_a_table_name_the_features(table):
    problem = solvers.make_problem(table(["ink", "dot"], [[1.0, 0], [0, 2.0]]), [1, -1], lam=0.1)
    assert [problem.names.feature(j) for j in range(2)] == ["ink", "dot"]
    assert problem.design.scores(np.array([1.0, 3.0])).Z.tolist() == [[1.0], [6.0]]


@pytest.mark.parametrize("columns", [[0, 1], ["ink", 1]])
def test_columns_without_names_are_numbered(columns):
    problem = solvers.make_problem(pd.DataFrame(np.eye(2), columns=columns), pd.Series([1, -1]), lam=0.1)
    assert problem.names.feature(0) == "feature 1"


def test_a_table_of_words_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="X is no matrix of numbers: it has entries of type str"):
        solvers.make_problem(pd.DataFrame({"word": ["the", "cat"], "n": [1, 2]}), [1, -1])
