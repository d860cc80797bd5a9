"""The card of a data set."""

from __future__ import annotations

import html
import re

import pytest

from solverscope import datasets, solvers
from solverscope.app.page.card import MAX_LABEL_LETTERS, MAX_TEXT_LETTERS, card, shortened, suggested


@pytest.mark.parametrize("id", ["synthetic-text", "synthetic-chain", "breast-cancer"])
def test_sample_texts_are_cut_between_words_and_features_kept_whole(id):
    data = datasets.load(id)
    shown = card(data, solvers.make_problem(data))
    examples = data.examples(3)
    figures = re.findall(r'<figure class="text"><figcaption>(.*?)</figcaption><span>(.*?)</span>', shown)
    assert len(figures) == 3
    for (label, text), example in zip(figures, examples, strict=True):
        for said, whole, most in (
            (label, example.label, MAX_LABEL_LETTERS),
            (text, example.text, MAX_TEXT_LETTERS),
        ):
            said = html.unescape(said).replace("\u00a0", " ")
            assert len(said) <= most
            between = ", " if " = " in whole else " "
            assert set(said.removesuffix(" …").split(between)) <= set(whole.split(between))
            assert said.endswith("…") == (len(whole) > most)


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("short", 10, "short"),
        ("a few words more", 10, "a few …"),
        ("one, two, three", 11, "one, two …"),
        ("exactly ten", 11, "exactly ten"),
        ("unbreakable", 6, "unbre…"),
        ("", 5, ""),
    ],
)
def test_a_text_is_shortened_after_a_word(text, most, expected):
    assert shortened(text, most) == expected


def test_the_card_says_what_a_run_shows_where_the_set_opens():
    data = datasets.load("digits")
    lam = datasets.DATASETS["digits"].lams[0]
    text = suggested(data, solvers.make_problem(data))
    assert text.startswith(f"λ = {lam.value:.0e}".replace("e-0", "e−"))
    assert f"{lam.nonzeros} non-zeros" in text
    assert f"accuracy {lam.metric:g}" in text
    assert text in card(data, solvers.make_problem(data, lam=0.5))


def test_the_card_says_nothing_of_another_objective_or_other_features():
    data = datasets.load("digits")
    assert suggested(data, solvers.make_problem(data, penalty="l2")) == ""
    assert suggested(data, solvers.make_problem(data, loss="multiclass-squared-hinge")) == ""
    scaled = datasets.load("digits", scale="none")
    assert suggested(scaled, solvers.make_problem(scaled)) == ""


def test_a_function_has_weights_and_neither_samples_nor_labels_nor_density():
    data = datasets.load("toy-wolfe")
    shown = card(data, solvers.make_problem(data))
    assert re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", shown) == [("d", "a function of 2 weights")]


def test_numeric_targets_are_not_called_labels():
    data = datasets.load("diabetes")
    shown = card(data, solvers.make_problem(data))
    assert "<dt>target</dt><dd>a numeric target</dd>" in shown
    assert "labels" not in shown
