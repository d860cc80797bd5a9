"""Tokens are read by CRFsuite's rules; sequences and labels that make no sense are refused in a sentence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from solverscope.solvers.estimators import ChainCRF
from solverscope.solvers.estimators.sequences import join_named_features


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


def test_tokens_have_the_features_that_crfsuite_gives_them():
    pycrfsuite = pytest.importorskip("pycrfsuite")
    one = [{"a": "b", "c": True, "d": 2.5, "e": -1, "f": ""}, ["a", "a:b"], {"x"}, {}]
    tokens, offsets = join_named_features([one, one[:1]])
    theirs = pycrfsuite.ItemSequence(one).items()
    assert list(map(dict, tokens)) == [*theirs, theirs[0]]
    assert offsets.tolist() == [0, 4, 5]


def test_names_that_meet_add_their_weights_and_false_is_no_feature():
    tokens, _ = join_named_features([[{"a": "b", "a:b": 2.0, "c": False, "d": 0.0}, ["a", "a"]]])
    assert list(tokens) == [{"a:b": 3.0}, {"a": 2}]


@pytest.mark.parametrize(
    ("token", "said"),
    [
        (
            {"a": None},
            "token 2 of sequence 1 of X has None as feature 'a': give a string, a bool or a number",
        ),
        ({"a": np.nan}, "has nan as feature 'a'"),
        ({"a": np.inf}, "has inf as feature 'a'"),
        ({"a": 10**400}, r"number up to 1e\+12"),
        ({"a": ["b"]}, r"has \['b'\] as feature 'a'"),
        ({3: "b"}, "token 2 of sequence 1 of X has the feature 3: names of features are strings"),
        (
            ["a", 3],
            "token 2 of sequence 1 of X is neither a dict of features nor a list or set of their names",
        ),
        ("a", "token 2 of sequence 1 of X is neither"),
    ],
)
def test_tokens_that_make_no_sense_are_refused_in_a_sentence(token, said):
    with pytest.raises(ValueError, match=said):
        ChainCRF().fit([[{"a": 1.0}, token]], [["a", "b"]])


@pytest.mark.parametrize(
    ("X", "said"),
    [
        ([[{"a": 1.0}], []], "sequence 2 of X is no list of tokens: give at least one"),
        ([[{"a": 1.0}], np.eye(2)], "sequence 2 of X is no list of tokens"),
        ([[{"a": 1.0}, {}]], "sequence 1 has 2 tokens and labels of shape"),
        ([[{}]], r"X has the shape \(1, 0\): give at least one row and one feature"),
        ([pd.DataFrame({"a": [1.0]}), pd.DataFrame({"b": [1.0]})], "differ in the names of their columns"),
    ],
)
def test_named_features_that_do_not_fit_are_refused_in_a_sentence(X, said):
    with pytest.raises(ValueError, match=said):
        ChainCRF().fit(X, [["a"]] * len(X))


def test_a_model_keeps_to_the_form_of_its_features(chain):
    with pytest.raises(ValueError, match="X has named features, but ChainCRF was fitted with arrays"):
        chain.predict([[{"a": 1.0}]])
    named = ChainCRF(lam=0.1).fit([[{"a": 1.0}, {"b": 1.0}]], [["a", "b"]])
    with pytest.raises(ValueError, match="sequence 1 of X is no list of tokens"):
        named.predict([np.eye(2)])
    table = pd.DataFrame(np.eye(2), columns=["a", "b"])
    framed = ChainCRF(lam=0.1).fit([table], [["a", "b"]])
    assert framed.predict([np.eye(2)])[0].tolist() == framed.predict([table])[0].tolist()
    with pytest.raises(ValueError, match="the columns of X are not those that ChainCRF was fitted with"):
        framed.predict([table[["b", "a"]]])
