"""Sequences and labels that make no sense are refused in a sentence."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope.solvers.estimators import ChainCRF


@pytest.fixture(scope="module")
def chain():
    return ChainCRF(lam=0.1).fit([np.eye(2), np.eye(2)[[0, 1, 1]]], [["a", "b"], ["a", "b", "b"]])


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        (np.eye(2), [[0], [1]], r"sequence 1 of X has the shape \(2,\)"),
        ([], [], "X holds no sequence: give a list of at least one"),
        ("ab", [[0]], "X holds no sequence"),
        (7, [[0]], "X holds no sequence"),
        ([np.eye(2), np.eye(2)], [["a", "b"]], "X has 2 sequences and y has 1: give labels for each"),
        ([np.eye(2)], None, "y holds no sequence"),
        ([np.eye(2)], ["ab"], r"sequence 1 of y has the shape \(\)"),
        ([np.eye(2), np.zeros((0, 2))], [["a", "b"], []], r"sequence 2 of X has the shape \(0, 2\)"),
        ([np.eye(2), []], [["a", "b"], []], r"sequence 2 of X has the shape \(0,\)"),
        ([np.eye(2)], [[None, "a"]], "sequence 1 of y has labels of type NoneType and str"),
        ([np.eye(2)], [[1, "a"]], "sequence 1 of y has labels of type int and str"),
        ([np.eye(2), np.eye(2)], [[1, 2], ["a", "b"]], "y has labels that are numbers and strings"),
        ([np.eye(2)], [np.array(["2020", "NaT"], "M8[D]")], "NaT"),
        ([np.eye(2)], [np.eye(2)], "give a label for each token"),
        ([np.eye(2)], [[0.5, np.nan]], "sequence 1 of y has entries that are NaN"),
        ([np.eye(2) * 1j], [[0, 1]], "sequence 1 of X is no matrix of numbers: it is complex"),
        ([np.eye(2), np.eye(2) * np.nan], [[0, 1], [0, 1]], "sequence 2 of X has entries that are NaN"),
        ([np.eye(2), np.eye(3)], [[0, 1], [0, 1, 0]], "differ in their numbers of features"),
        ([np.eye(2)], [[0]], "give a label for each token"),
        ([np.eye(2)], [[0, 0]], "all labels are the same"),
    ],
)
def test_sequences_that_make_no_sense_are_refused_in_a_sentence(X, y, said):
    with pytest.raises(ValueError, match=said):
        ChainCRF(lam=0.1).fit(X, y)


@pytest.mark.parametrize("entry", [np.nan, np.inf, 1j, "1.0", None, np.datetime64("2020")])
def test_what_chains_refuse_to_learn_from_they_refuse_to_predict(chain, entry):
    with pytest.raises(ValueError, match="sequence 2 of X"):
        chain.predict([np.eye(2), [[entry, 0.0]]])


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        ([], [], "X holds no sequence"),
        ([np.eye(2)], [["a"]], "give a label for each token"),
        ([np.eye(2)[[0, 1, 1]]], [["a"]], "sequence 1 has 3 tokens and labels of shape"),
        ([np.eye(2)] * 2, [["a", "b"]], "X has 2 sequences and y has 1"),
        ([np.eye(2)], [[0, 1]], "y has labels that are numbers, but ChainCRF was fitted with strings"),
        ([np.eye(2)], [[None, "a"]], "NoneType and str"),
        ([np.eye(3)], [["a", "b", "b"]], "X has 3 features, but ChainCRF is expecting 2"),
    ],
)
def test_scores_of_chains_are_of_labels_that_fit(chain, X, y, said):
    with pytest.raises(ValueError, match=said):
        chain.score(X, y)
