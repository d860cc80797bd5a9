"""The card of the story: what it says, and that it tells when the settings have left the story."""

from __future__ import annotations

import pytest

from solverscope.app.settings.recipe import Recipe
from solverscope.app.stories import FREE, stories
from solverscope.solvers import PENALTIES

#: Its data are not loaded here.
HUGE = {"tree"}


def test_the_card_has_the_question_and_all_that_there_is_to_look_for(visit):
    page = visit()
    for story in list(stories().values())[:3]:
        page.load_story(story)
        told = {"question": story.question, "points": list(story.look_for), "steps": len(story.steps)}
        assert page.story_card.text == told
        assert story.question in page.question.object


@pytest.mark.quick("shrinking", "kink")
@pytest.mark.parametrize("id", [id for id in stories() if id not in HUGE])
def test_a_story_as_it_is_loaded_is_not_changed(visit, id):
    page = visit(story=id)
    assert page.setting == page.story.setting
    assert not page.story_card.changed
    assert "changed" not in page.question.object


def test_every_story_names_its_lam():
    for story in stories().values():
        problem = story.setting.problem
        assert (problem.lam is None) == (not PENALTIES[problem.penalty].takes_lam), story.id


def test_settings_that_leave_the_story_are_told_and_one_click_goes_back(visit, wait_until):
    page = visit()
    own = page.story.setting

    def change_lam() -> None:
        page.problem.lam.value = "7"

    def change_solver() -> None:
        page.solvers.receive({"action": "choose", "key": 0, "value": False})

    def change_limit() -> None:
        page.limits.enter("tol", "1e-3")

    def change_threads() -> None:
        page.limits.enter("threads", "2")

    for change in (change_lam, change_solver, change_limit, change_threads):
        change()
        assert page.story_card.changed, change.__name__
        assert not page.story_card.holds, "what it says to look for is that of its own settings"
        assert "modified" in page.question.object
        page.story_card.receive({"action": "back"})
        wait_until(lambda: (page.session.tick(), page.problem.ready)[1])
        assert page.setting == own, change.__name__
        assert not page.story_card.changed
        assert page.story_card.holds
        assert "modified" not in page.question.object


def test_what_a_story_says_holds_while_its_own_runs_are_shown_whatever_is_set_for_the_next(visit, wait_until):
    page = visit(story="kink")
    page.controls.go()
    wait_until(lambda: (page.session.tick(), not page.session.alive)[1])
    page.limits.enter("tol", "1e-3")
    assert (page.story_card.changed, page.story_card.holds) == (True, True)
    page.controls.go()
    wait_until(lambda: (page.session.tick(), not page.session.alive)[1])
    assert (page.story_card.changed, page.story_card.holds) == (True, False)


def told_nothing_of_a_story(page) -> bool:
    card = page.story_card
    silent = (page.question.object, card.text["question"], card.ask, card.changed) == ("", "", {}, False)
    return silent and page.story_menu.value == FREE and page.address()["story"] == FREE


def test_an_experiment_of_ones_own_is_no_story(visit):
    bare = visit(data="breast-cancer", solvers="owl-qn", lam="0.01")
    assert told_nothing_of_a_story(bare)
    again = visit(**bare.address())
    assert told_nothing_of_a_story(again)
    assert (again.setting, again.query()) == (bare.setting, bare.query())
    others = visit(solvers="owl-qn")  # on the first story's data, which nobody has named
    assert told_nothing_of_a_story(others)
    named = visit(story="memory", data="breast-cancer")
    assert told_nothing_of_a_story(named)


def test_other_data_end_a_story_and_choosing_it_again_brings_it_back(visit, wait_until):
    page = visit(story="kink")
    page.prediction.take("exact")
    page.problem.set(Recipe.of("breast-cancer"))
    page.session.tick()
    assert told_nothing_of_a_story(page)
    assert page.setting.problem.data == "breast-cancer"
    page.story_menu.value = "kink"
    wait_until(lambda: (page.session.tick(), page.problem.ready)[1])
    assert page.story is stories()["kink"]
    assert page.setting == page.story.setting
    assert page.story.question in page.question.object
    assert (page.story_card.ask["open"], page.story_card.ask["answer"]) == (True, None)


def test_a_story_is_left_from_the_menu_with_all_settings_as_they_are(visit):
    page = visit(story="kink")
    setting, query = page.setting, page.query()
    page.story_menu.value = FREE
    page.session.tick()
    assert told_nothing_of_a_story(page)
    assert (page.setting, page.query()) == (setting, query | {"story": FREE})
    page.story_card.receive({"action": "go", "step": 0})
    assert page.story_card.step == {}


def test_another_tab_or_axis_is_no_change_of_the_story(visit):
    page = visit()
    page.tab_bar.chosen = "trajectories"
    page.convergence.x = "passes"
    page.controls.pace.value = 5.0
    assert not page.story_card.changed


def test_a_phones_parts_of_the_card_show_what_it_shows_and_act_as_it_does(visit):
    page = visit(story="kink")
    asked, steps = page.story_card.part("ask"), page.story_card.part("steps")
    assert asked.ask == page.story_card.ask != {}
    asked.receive({"action": "answer", "value": "exact"})
    assert asked.ask["answer"] == page.story_card.ask["answer"] == "exact"
    steps.receive({"action": "go", "step": 1})
    assert steps.step == page.story_card.step != {}
    steps.receive({"action": "go", "step": None})
    assert steps.step == {}
