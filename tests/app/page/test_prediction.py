"""What a visitor expects of a story's runs: given before Run, and answered by the runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from solverscope.app.stories import stories


def ended(page, wait_until) -> None:
    page.controls.go()
    wait_until(lambda: not page.session.alive)
    page.session.tick()


def tell(page, value) -> dict:
    page.story_card.receive({"action": "answer", "value": value})
    return page.story_card.ask


@pytest.fixture
def kink(visit):
    return visit(story="kink", speed="full")


def test_an_answer_can_be_changed_until_run_and_the_runs_answer(kink, wait_until):
    asked = kink.story_card.ask
    assert (asked["open"], asked["text"]) == (True, stories()["kink"].ask.text)
    assert asked["choices"] == ["exact", "inexact", "subbfgs"]
    assert asked["why"] == asked["said"] == "", "it would tell the answer"
    assert tell(kink, "subbfgs")["given"] == "subbfgs"
    assert tell(kink, "inexact")["answer"] == "inexact"
    assert tell(kink, "nobody")["answer"] == "inexact"
    ended(kink, wait_until)
    asked = kink.story_card.ask
    assert asked["said"].startswith("You said inexact; it was exact. Objective: exact 0.9, ")
    assert asked["why"] == stories()["kink"].ask.why
    assert tell(kink, "exact")["answer"] == "inexact", "too late"


def test_who_was_right_is_told_so_and_who_did_not_answer_is_told_what_it_was(kink, wait_until):
    tell(kink, "exact")
    ended(kink, wait_until)
    assert kink.story_card.ask["said"].startswith("You said exact, and so it was.")
    kink.load_story(stories()["steepest"])
    assert kink.story_card.ask == {}
    kink.load_story(stories()["kink"])
    kink.controls.pace.value = 0.0  # at the pace of the story it takes nine seconds
    wait_until(lambda: (kink.session.tick(), kink.problem.ready)[1])
    assert (kink.story_card.ask["open"], kink.story_card.ask["answer"]) == (True, None), "it asks again"
    ended(kink, wait_until)
    assert kink.story_card.ask["said"].startswith("It was exact.")


def test_a_number_is_asked_for_within_a_range_that_can_be_read(visit):
    asked = visit(story="shrinking").story_card.ask
    assert (asked["kind"], asked["range"]) == ("number", "from 0 to 20\u202f910")


def test_who_skips_is_not_asked_again_and_run_waits_for_nobody(kink, wait_until):
    kink.story_card.receive({"action": "skip"})
    assert kink.story_card.ask == {}
    ended(kink, wait_until)
    assert kink.story_card.ask == {}


def test_runs_with_other_settings_do_not_answer(kink, wait_until):
    tell(kink, "exact")
    kink.solvers.receive({"action": "choose", "key": 1, "value": False})
    ended(kink, wait_until)
    assert kink.story_card.ask == {}
    assert kink.prediction.answer == "exact"


def test_runs_that_repeat_each_other_answer_by_their_median(visit, wait_until):
    page = visit(story="kink", speed="full", repeat="2")
    tell(page, "exact")
    ended(page, wait_until)
    assert page.story_card.ask["said"].startswith(
        "You said exact, and so it was (median of 2 runs). Objective: "
    )


def test_a_question_is_not_asked_of_another_problem(kink, wait_until):
    tell(kink, "exact")
    elsewhere = replace(kink.setting.problem, options={"start": "2,2"})
    kink.take(replace(kink.setting, problem=elsewhere), {})
    kink.session.tick()
    assert kink.story_card.ask == {}
    kink.take(stories()["kink"].setting, {})
    wait_until(lambda: (kink.session.tick(), kink.problem.ready)[1])
    assert (kink.story_card.ask["open"], kink.story_card.ask["answer"]) == (True, "exact")


def test_a_step_is_chosen_on_phi_of_the_search_that_the_run_makes(visit, wait_until):
    page = visit(story="armijo", speed="full")
    wait_until(lambda: (page.session.tick(), page.story_card.ask["picture"])[1])
    picture = page.story_card.ask["picture"]
    assert (picture["t"][0], picture["t"][-1]) == (0.0, 2.0)
    assert not page.session.runs
    assert tell(page, 0.75)["given"] == "t = 0.75"
    ended(page, wait_until)
    assert page.story_card.ask["said"] == "You said t = 0.75; it was t = 1."
    lax = next(run.trace for run in page.session.runs if run.label == "lax")
    assert lax.objective[5] == pytest.approx(picture["phi"][0], rel=1e-12)
    one = picture["t"].index(1.0)
    assert lax.objective[6] == pytest.approx(picture["phi"][one], rel=1e-12)
