"""Guided stories: their steps can be taken, from first to last, and what they say is true."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import panel as pn
import pytest

from solverscope.app import views
from solverscope.app.page.page import Page
from solverscope.app.settings.experiment import Experiment
from solverscope.app.stories import LAST_ITERATE, Story, stories
from solverscope.app.views import TABS
from solverscope.app.views.base.view import View
from solverscope.solvers import SOLVERS
from tests.app.helpers import press

GUIDED = {id: story for id, story in stories().items() if story.steps}
#: What stories of each paper are about: one of its solvers.
PAPERS = {"Zhong": "shrinking", "Blondel": "features-die", "Yu": "kink", "Mathur": "together"}
#: Seconds between two ticks.
TICK = 0.2


@cache
def view_ids() -> set[str]:
    kinds = [*TABS.values(), *views.ABOVE_TABS, *views.REPLACEMENTS]
    return {kind.id for kind in kinds} | {part.id for kind in kinds for part in kind().parts}


def test_each_paper_has_a_guided_story():
    assert set(PAPERS.values()) <= GUIDED.keys()
    for author, id in PAPERS.items():
        papers = {SOLVERS[chosen.id].paper for chosen in GUIDED[id].setting.entrants}
        assert any(paper.startswith(author) for paper in papers), (author, papers)


@pytest.mark.parametrize("story", GUIDED.values(), ids=GUIDED)
def test_steps_name_what_there_is(story: Story):
    labels, known_views = {chosen.label for chosen in story.setting.entrants}, view_ids()
    settings = story.setting.address().keys()
    looks = {"tab", "x", "y", "scale", "speed"}
    assert story.steps[0].start, "the first step has the runs that the others talk about"
    for step in story.steps:
        assert step.text.endswith(".")
        assert len(step.text) < 260, "it is read in a moment"
        assert step.view in known_views
        assert step.run in labels
        assert step.set.keys() <= settings | looks
        assert step.set.get("tab", "shrinking") in TABS
        assert step.until in ("", LAST_ITERATE) or step.condition is not None


class Played:
    """A page on which a guided story is played."""

    def __init__(self, page: Page, wait_until) -> None:
        self.page, self.wait_until = page, wait_until

    def go(self, step: int | None) -> None:
        self.page.story_card.receive({"action": "go", "step": step})

    def tick(self) -> bool:
        self.page.session.tick()
        return not self.page.story_card.step.get("note")

    def settled(self) -> None:
        """Wait until the step has what it talks about, with as few ticks as a page has: they draw."""
        self.wait_until(self.tick, period=TICK)

    @property
    def note(self) -> str:
        return self.page.story_card.step["note"]

    def pointed(self) -> list[View]:
        return [view for view in self.page.shown() if "pointed" in pn.panel(view).css_classes]


@pytest.fixture
def play(visit, wait_until):
    def opened(story: str, **query: str) -> Played:
        page = visit(story=story, **query)
        page.open_tabs()
        return Played(page, wait_until)

    return opened


@pytest.mark.quick("kink", "features-die")
@pytest.mark.parametrize("story", GUIDED.values(), ids=lambda story: story.id)
def test_a_guided_story_is_played_from_first_to_last_step_and_back(story, play):
    played = play(story.id, speed="full")
    page = played.page
    for k, step in enumerate(story.steps):
        played.go(k)
        played.settled()
        assert page.story_card.step == {"at": k, "text": step.text, "note": ""}
        assert page.session.cursor.run.info.label == step.run
        assert [view.id for view in played.pointed()] == [step.view]
        at_work = any(run.label == step.run for run in page.session.alive)
        if step.until:
            assert not page.session.cursor.follow
        else:  # one that is over by now may have been followed
            assert page.session.cursor.follow or not at_work
        if "tab" in step.set:
            assert page.query()["tab"] == step.set["tab"]
        assert not page.story_card.changed
    runs = list(page.session.runs)
    for k in reversed(range(len(story.steps))):
        played.go(k)
        played.settled()
    assert page.session.runs == runs, "going back starts nothing anew"
    played.go(None)
    assert page.story_card.step == {}
    assert played.pointed() == []


def test_a_step_whose_runs_were_taken_away_says_so_and_run_brings_them_back(play):
    played = play("kink", speed="full")
    played.go(0)
    played.settled()
    played.page.session.clear()
    played.go(2)
    played.tick()
    assert played.note == "Press Run to start subbfgs."
    played.page.controls.go()
    played.settled()
    assert played.page.session.cursor.iteration == 1


def test_paused_runs_and_changed_settings_are_told_and_nothing_is_taken_back(play):
    played = play("kink", speed="1 a second")
    played.go(0)
    press(played.page.controls.pause)
    played.go(5)
    played.tick()
    assert "press Resume" in played.note
    played.page.limits.enter("tol", "1e-2")
    played.tick()
    assert "have left the story" in played.note
    assert played.page.story_card.changed
    played.go(4)
    assert played.page.limits.values["tol"] == 1e-2, "what a visitor has set stays"
    assert played.page.query()["tab"] == "line-search", "a look is no setting"
    played.page.story_card.receive({"action": "back"})
    assert played.page.story_card.step["at"] == 4
    assert not played.page.story_card.changed


def test_a_run_that_ends_before_it_comes_there_says_so(play):
    story = stories()["kink"]
    played = play("kink", speed="full")
    played.page.story = replace(
        story, steps=(*story.steps[:1], replace(story.steps[2], until="iteration > 99"))
    )
    played.page.story_card.show(played.page.story)
    played.go(0)
    played.settled()
    played.go(1)
    played.wait_until(lambda: (played.tick(), "ended before that" in played.note)[1])
    assert played.note.startswith("subbfgs ended")


def test_a_step_may_set_what_an_address_may(play):
    played = play("kink", speed="full")
    page, story = played.page, stories()["kink"]
    step = replace(story.steps[3], set={"solvers": "subbfgs", "tol": "0.001"}, start=True)
    page.story = replace(story, steps=(story.steps[0], step))
    page.story_card.show(page.story)
    played.go(0)
    played.settled()
    played.go(1)
    played.settled()
    assert [run.label for run in page.session.runs] == ["subbfgs"]
    wanted: Experiment = replace(
        story.setting, entrants=page.setting.entrants, limits=replace(story.setting.limits, tol=1e-3)
    )
    assert page.setting == wanted
    assert not page.story_card.changed


def test_no_other_message_moves_it(play):
    played = play("kink")
    for message in ({"action": "go", "step": "x"}, {}, {"action": "fly"}):
        played.page.story_card.receive(message)
    played.go(99)
    assert played.page.story_card.step["at"] == len(stories()["kink"].steps) - 1
