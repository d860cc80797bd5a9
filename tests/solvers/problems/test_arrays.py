"""Problems from arrays: the same as from a data set, and refused with the same care."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import datasets
import solvers
from solvers.problems import arrays as arrays_module
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
    monkeypatch.setattr(arrays_module, "PIECE", 5)
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
        ((X * 1e101, Y), {}, "scale them down"),
        ((X[0], Y), {}, r"X has the shape \(4,\)"),
        ((np.zeros((0, 3)), Y[:0]), {}, r"X has the shape \(0, 3\)"),
        ((np.array([["a"]]), Y[:1]), {}, "X is no matrix of numbers"),
        ((X, [0.0, 1.0, np.nan, 1.0]), {}, "y has entries that are NaN"),
        ((X, 2 * X), {}, "must hold 0 and 1 alone"),
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
        ((X, [0, 1, 2, "a"]), {"parents": PARENTS}, "y must be whole numbers"),
        ((np.zeros((4, 3)), [0, 1, 0, 1]), {"lam_ratio": 0.1}, "λ_max is 0, since w = 0 is optimal at any λ"),
        ((np.ones((6, 2)), [0, 1, 2, 0, 1, 2]), {}, "λ_max is 0"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(arrays, options, said):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=said) as refused:
        solvers.make_problem(*arrays, **options)
    assert "\n" not in str(refused.value)
