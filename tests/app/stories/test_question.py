"""What a story asks, and the answer that runs give, on traces that are made here."""

from __future__ import annotations

import pytest

from solverscope.app.stories import stories
from solverscope.app.stories.question import StoryQuestion
from solverscope.solvers import Trace

LABELS = ("a", "b", "c")
FIRST = StoryQuestion("Which is first?", "It is.", "cpu_seconds", gap=0.1)
LEFT = StoryQuestion("How many are left?", "Few are.", "nnz", run="a", high=10.0)
SHARE = StoryQuestion(
    "How many?", "Few.", "iteration", "a", against="b", choices=("few", "many"), bounds=(0.5,)
)


def trace(*objectives: float, status: str = "converged", slow: float = 1.0) -> Trace:
    """A run with these objectives, f* = 1, a second an iterate; it goes on where there is no status."""
    rows = [
        {"iteration": k, "objective": objective, "nnz": 10 - k, "cpu_seconds": slow * k}
        for k, objective in enumerate(objectives)
    ]
    made = Trace.from_records(rows, label="run", f_star=1.0)
    made.result = {"status": status} if status else {}
    return made


def test_the_first_at_a_gap_is_known_when_all_have_ended():
    runs = {"a": [trace(3.0, 2.0, 1.05)], "b": [trace(3.0, 1.01, slow=3.0)], "c": [trace(3.0, status="")]}
    assert FIRST.truth(runs, LABELS) is None
    runs["c"] = [trace(3.0, 2.0, status="max-seconds")]
    truth = FIRST.truth(runs, LABELS)
    assert (truth.right, truth.value) == (("a",), 2.0)
    assert truth.values == {"a": 2.0, "b": 3.0, "c": None}


def test_runs_that_are_level_are_all_right_and_none_is_where_nobody_got_there():
    level = {label: [trace(3.0, 1.0)] for label in LABELS}
    assert FIRST.truth(level, LABELS).right == LABELS
    nobody = {label: [trace(3.0, 2.0, status="max-iter")] for label in LABELS}
    assert FIRST.truth(nobody, LABELS).right == ()
    assert FIRST.truth(nobody, LABELS).value is None


def test_a_run_that_was_stopped_or_is_not_there_answers_nothing():
    assert LEFT.truth({"a": [trace(3.0, 2.0, status="stopped")]}, LABELS) is None
    assert LEFT.truth({"b": [trace(3.0)]}, LABELS) is None
    assert LEFT.truth({"a": [trace(3.0, 2.0)]}, LABELS).value == 9.0


def test_a_number_at_a_condition_is_known_as_soon_as_it_holds():
    asked = StoryQuestion("How many?", "Few.", "nnz", run="a", until="objective < 2.5", high=10.0)
    assert asked.truth({"a": [trace(3.0, status="")]}, LABELS) is None
    assert asked.truth({"a": [trace(3.0, 2.0, 1.5, status="")]}, LABELS).value == 9.0


def test_a_ratio_falls_to_one_of_the_choices():
    long = trace(*range(9, 0, -1))
    assert SHARE.truth({"a": [trace(3.0, 2.0)], "b": [long]}, LABELS).right == ("few",)
    assert SHARE.truth({"a": [long], "b": [long]}, LABELS).right == ("many",)


def test_of_runs_that_repeat_each_other_the_median_counts_once_all_have_it():
    at_a_gap = StoryQuestion("When?", "Then.", "iteration", run="a", gap=0.1, high=10.0)
    quick, slow, never = trace(1.0), trace(3.0, 2.0, 1.0), trace(3.0, status="max-iter")
    assert at_a_gap.truth({"a": [slow, quick, trace(3.0, 1.0)]}, LABELS).value == 1.0
    assert at_a_gap.truth({"a": [slow, quick]}, LABELS).value == 0.0
    assert at_a_gap.truth({"a": [slow, never, quick]}, LABELS).value == 2.0
    assert at_a_gap.truth({"a": [never, never, quick]}, LABELS).value is None
    assert at_a_gap.truth({"a": [slow, trace(3.0, status="")]}, LABELS) is None


def test_an_answer_is_one_of_the_choices_or_a_number_in_its_range():
    assert FIRST.answer("b", LABELS) == "b"
    assert [FIRST.answer(given, LABELS) for given in ("d", 1, None, ["a"])] == [None] * 4
    assert SHARE.answer("few", LABELS) == "few"
    assert SHARE.answer("a", LABELS) is None
    assert LEFT.answer(7, LABELS) == 7.0
    assert [LEFT.answer(given, LABELS) for given in (11, "7", True, float("nan"))] == [None] * 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"value": "nothing"},
        {"value": "nnz", "best": "nicest"},
        {"value": "nnz", "run": "a"},
        {"value": "nnz", "run": "a", "choices": ("few", "many")},
        {"value": "step", "search": 3},
        {"value": "nnz", "until": "nnz >"},
    ],
)
def test_a_question_that_runs_cannot_answer_is_refused(wrong):
    with pytest.raises(ValueError, match=r"\w"):
        StoryQuestion("Which?", "So.", **wrong)


def test_at_least_eight_stories_ask_and_some_for_a_place_on_a_line_search():
    asks = {id: story.ask for id, story in stories().items() if story.ask}
    assert len(asks) >= 8
    assert [id for id, ask in asks.items() if ask.search] == ["exact-search", "armijo"]
    for id, ask in asks.items():
        labels = stories()[id].labels
        assert {ask.run, ask.against} <= {"", *labels}
        assert len(ask.offers(labels)) >= 2 or ask.kind == "number"
