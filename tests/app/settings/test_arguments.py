"""Solver texts of the command line: labels, and whose setting wins."""

from __future__ import annotations

import re

import pytest

from solverscope.app.settings.arguments import choices, make_solvers, number
from solverscope.app.settings.recipe import Entrant


def solvers_for(*texts, settings=(), seed=0):
    return dict(make_solvers(choices(texts), settings, seed))


def labels(*texts, suffix=""):
    return [choice.label for choice in choices(texts, suffix)]


def test_same_solver_twice_gets_two_labels():
    assert labels("prox-qn", "prox-qn", "prox-qn-2=owl-qn", "owl-qn") == [
        "prox-qn",
        "prox-qn-3",
        "prox-qn-2",
        "owl-qn",
    ]


def test_two_of_one_solver_are_labelled_by_what_differs():
    assert labels("prox-qn", "prox-qn,memory=3", "owl-qn,memory=3") == [
        "prox-qn",
        "prox-qn memory=3",
        "owl-qn",
    ]
    both = "prox-qn,sigma=0.1,memory=3", "prox-qn,sigma=0.1,memory=5"
    assert labels(*both) == ["prox-qn memory=3", "prox-qn memory=5"]
    assert labels("mine=prox-qn,memory=3", "prox-qn,memory=5") == ["mine", "prox-qn"]
    assert labels("sgd-l1,passes=2+prox-qn", "sgd-l1,passes=3+prox-qn") == ["relay", "relay-2"]
    assert labels("prox-qn", "prox-qn,memory=3", suffix="'") == ["prox-qn'", "prox-qn memory=3'"]


def test_a_label_made_of_what_differs_is_read_back_and_set():
    texts = "prox-qn", "prox-qn,beta=0.25"
    entrants = Entrant.parse_all(texts)
    assert Entrant.parse_all(map(str, entrants)) == entrants
    made = solvers_for(*texts, settings=["prox-qn beta=0.25.memory=4"])
    assert (made["prox-qn"].memory, made["prox-qn beta=0.25"].memory) != (4, 4)
    assert made["prox-qn beta=0.25"].memory == 4


RELAYS = {
    "a=sgd-l1,passes=2+prox-qn": "sgd-l1 until passes >= 2 then prox-qn",
    "sgd-l1,eta0=1e+3,of=1/4,iterations=3+owl-qn": "sgd-l1,eta0=1e+3 of 1/4 until iteration >= 3 then owl-qn",
    "relay@l1-l2+prox-gd,passes=2+prox-gd": "prox-gd until passes >= 2 then prox-gd",
    "relay,seed=7+prox-gd,until=step + passes > 2+prox-qn": "prox-gd until step + passes > 2 then prox-qn",
}


@pytest.mark.parametrize(("text", "legs"), RELAYS.items())
def test_solvers_joined_by_a_plus_are_a_relay_and_are_written_so(text, legs):
    (entrant,) = Entrant.parse_all([text])
    assert (entrant.id, entrant.params["legs"]) == ("relay", legs)
    assert str(entrant) == text
    assert Entrant.parse_all([str(entrant)]) == (entrant,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sgd-l1+prox-qn", "sgd-l1 never hands over: write sgd-l1,passes=2+"),
        ("sgd-l1,passes=2,iterations=3+prox-qn", "keep one of passes=2 and iterations=3"),
        ("sgd-l1,passes=2+prox-qn,passes=3", "the last leg runs to the end"),
    ],
)
def test_a_relay_that_cannot_be_is_refused_in_one_sentence(text, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        Entrant.parse_all([text])


def test_setting_without_a_label_goes_to_those_that_have_the_parameter():
    made = solvers_for("prox-qn", "owl-qn", "prox-gd", settings=["memory=4"])
    assert (made["prox-qn"].memory, made["owl-qn"].memory) == (4, 4)
    assert not hasattr(made["prox-gd"], "memory")


def test_more_specific_settings_win():
    made = solvers_for("a=prox-qn,memory=3", "b=prox-qn", "c=prox-qn", settings=["b.memory=5", "memory=4"])
    assert [made[label].memory for label in "abc"] == [3, 5, 4]


def test_a_label_of_very_many_letters_is_refused():
    with pytest.raises(ValueError, match="has 70,000 letters: give one of at most 200"):
        choices([f"{'a' * 70_000}=prox-qn"])


def test_label_may_hold_dots():
    assert solvers_for("v1.2=prox-qn", settings=["v1.2.memory=5"])["v1.2"].memory == 5


def test_seed_goes_to_solvers_that_were_not_given_one():
    made = solvers_for("prox-qn", "own=prox-qn,seed=8", seed=7)
    assert (made["prox-qn"].seed, made["own"].seed) == (7, 8)


@pytest.mark.parametrize(("text", "value"), [("1e-3", 1e-3), ("0", 0.0), (None, None)])
def test_number_is_read(text, value):
    assert number("--tol", text, low=0) == value


def test_whole_number_is_an_int():
    assert isinstance(number("--max-iter", "1e3", low=0, kind=int), int)
