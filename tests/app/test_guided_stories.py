"""Guided stories: their steps can be taken, from first to last, and what they say is true."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from app import views
from app.page.page import Page
from app.settings.setting import Setting
from app.stories import LAST, Story, stories
from app.views import TABS
from app.views.base import View
from app.views.playground_marks import Marks
from solvers import LINE, PLANE, SOLVERS, Run, Stopping, Trace, relative_gap
from solvers.runs.breakpoints import known
from tests.app.test_stories import problem_of

GUIDED = {id: story for id, story in stories().items() if story.steps}
#: What stories of each paper are about: one of its solvers.
PAPERS = {"Zhong": "shrinking", "Blondel": "features-die", "Yu": "kink", "Mathur": "together"}
#: Seconds between two ticks.
TICK = 0.2


def view_ids() -> set[str]:
    kinds = [*TABS.values(), *views.STANDING, *views.INSTEAD]
    return {kind.id for kind in kinds} | {part.id for kind in kinds for part in kind().parts}


@pytest.fixture(scope="module")
def traces() -> dict[tuple[str, str], Trace]:
    """The runs that the steps talk about."""
    found = {}
    for story in GUIDED.values():
        wanted = {step.run for step in story.steps if step.run}
        for chosen in story.setting.solvers:
            if chosen.label in wanted:
                problem, f_star = problem_of(story), story.optimum(story.setting.problem)
                stopping = Stopping(tol=story.setting.tol, max_seconds=20.0, max_iter=400, f_star=f_star)
                solver = chosen.make().towards(story.setting.tol)
                run = Run(
                    problem, solver, stopping=stopping, probes=(PLANE, LINE) if problem.size == 2 else ()
                )
                found[story.id, chosen.label] = run.execute()
    return found


def place(traces, story: str, step: int) -> tuple[Trace, int]:
    """The run that a step talks about, and the row that its cursor is put on; steps are counted from 1."""
    wanted = stories()[story].steps[step - 1]
    trace = traces[story, wanted.run]
    if wanted.until == LAST:
        return trace, len(trace) - 1
    condition = wanted.condition
    rows = [{name: known(name, trace[name][k]) for name in condition.fields} for k in range(len(trace))]
    return trace, next(k for k in range(len(trace)) if condition.holds(rows[k], rows[k - 1] if k else {}))


def test_each_paper_has_a_guided_story():
    assert set(PAPERS.values()) <= GUIDED.keys()
    for author, id in PAPERS.items():
        papers = {SOLVERS[chosen.id].paper for chosen in GUIDED[id].setting.solvers}
        assert any(paper.startswith(author) for paper in papers), (author, papers)


@pytest.mark.parametrize("story", GUIDED.values(), ids=GUIDED)
def test_steps_name_what_there_is(story: Story):
    labels, known_views = {chosen.label for chosen in story.setting.solvers}, view_ids()
    settings = story.setting.query().keys()
    looks = {"tab", "x", "y", "scale", "speed"}
    assert story.steps[0].start, "the first step has the runs that the others talk about"
    for step in story.steps:
        assert step.text.endswith(".")
        assert len(step.text) < 260, "it is read in a moment"
        assert step.view in known_views
        assert step.run in labels
        assert step.set.keys() <= settings | looks
        assert step.set.get("tab", "shrinking") in TABS
        assert step.until in ("", LAST) or step.condition is not None


def test_shrinking(traces):
    size = 20910
    for label in ("prox-qn",):
        assert traces["shrinking", label].working_set[0] == size
    prox, half = place(traces, "shrinking", 2)
    assert prox.working_set[half] < size / 2 <= prox.working_set[:half].min()
    assert prox.epoch[half] == 0
    _, begins = place(traces, "shrinking", 3)
    assert prox.epoch[begins] == 1
    assert {"epoch-start", "memory-cleared"} <= set(prox.events[begins])
    _, back = place(traces, "shrinking", 4)
    assert prox.returned[back] > 0
    assert back == begins + 1, "one iteration later"
    _, small = place(traces, "shrinking", 5)
    assert prox.working_set[small] < 0.1 * size
    _, last = place(traces, "shrinking", 6)
    assert prox.status == "converged"
    assert relative_gap(prox.objective[last], prox.info["f_star"]) < 1e-6
    assert prox.nnz[last] < 400
    assert prox.working_set[last - 5 : last].max() <= 400


def test_of_owl_qn_and_prox_gd_the_working_set_is_always_all():
    story = stories()["shrinking"]
    for chosen in story.setting.solvers[1:]:
        trace = Run(problem_of(story), chosen.make(), stopping=Stopping(max_iter=12)).execute()
        assert set(trace.working_set.tolist()) == {20910}, chosen.label


def test_features_die(traces):
    bcd, first = place(traces, "features-die", 2)
    assert 0 < bcd.nnz_rows[first] < 200
    _, second = place(traces, "features-die", 3)
    assert bcd.nnz_rows[second] < 0.34 * bcd.nnz_rows[first]
    fista, step = place(traces, "features-die", 4)
    assert fista.nnz_rows[step] > 800
    assert (np.diff(fista.nnz_rows[step : step + 10]) < 0).all(), "bit by bit"
    fobos, fifth = place(traces, "features-die", 5)
    assert fobos.nnz_rows[fifth] > 500
    assert np.diff(fobos.nnz_rows[1 : fifth + 1]).max() > 0
    _, last = place(traces, "features-die", 6)
    assert bcd.status == "converged"
    assert bcd.nnz_rows[last] < 60


def marks(trace: Trace, k: int) -> Marks:
    return Marks.of(trace.probes.last(PLANE.name, int(trace.iteration[k]))[1], problem_of(stories()["kink"]))


def test_kink(traces):
    np.testing.assert_array_equal(problem_of(stories()["kink"]).start, [1.0, 1.0])
    exact, last = place(traces, "kink", 2)
    assert (exact.status, int(exact.iteration[last])) == ("stalled", 1)
    seen = marks(exact, last)
    np.testing.assert_allclose(seen.w, [0.0, 0.9], atol=1e-12)
    assert len(seen.subgradients) == 2
    assert seen.slope > 0, "upwards"
    mixed, first = place(traces, "kink", 3)
    seen = marks(mixed, first)
    np.testing.assert_allclose(seen.w, [0.0, 0.9], atol=1e-12)
    assert np.count_nonzero(seen.shares) == 2
    assert seen.slope < 0
    assert abs(seen.p[0]) < 1e-6 * abs(seen.p[1]), "along the kink"
    _, end = place(traces, "kink", 4)
    assert int(mixed.iteration[end]) == 2
    assert mixed.objective[end] <= 1e-12
    assert mixed.ls_kind[end] == "exact"
    inexact, near = place(traces, "kink", 6)
    assert inexact.iteration[near] > 25
    assert all(marks(inexact, k).w.all() for k in range(near)), "on no kink"


def test_together(traces):
    clustered, coarse = place(traces, "together", 2)
    assert coarse > 10
    assert list(clustered.phase[: coarse - 1]) == ["fine"] * 11
    assert clustered.working_set[coarse] == clustered.clusters[coarse] == 91
    _, rises = place(traces, "together", 3)
    assert rises == coarse, "where the coarse phase begins"
    assert clustered.phase[rises - 1] == "cluster"
    _, crossed = place(traces, "together", 4)
    assert "fine" in clustered.phase[coarse:crossed], "after the next fine phase"
    assert clustered.crossovers[crossed] > 0
    lbfgs, last = place(traces, "together", 5)
    assert lbfgs.clusters.max() == -1
    assert lbfgs.iteration[last] > 10


class Played:
    """A page on which a guided story is played."""

    def __init__(self, page: Page, wait_until) -> None:
        self.page, self._wait_until = page, wait_until

    def go(self, step: int | None) -> None:
        self.page.story_card._handle_msg({"action": "go", "step": step})

    def tick(self) -> bool:
        self.page.session.tick()
        return not self.page.story_card.step.get("note")

    def settled(self) -> None:
        """Wait until the step has what it talks about, with as few ticks as a page has: they draw."""

        def there() -> bool:
            time.sleep(TICK)
            return self.tick()

        self._wait_until(there, 180.0)

    @property
    def note(self) -> str:
        return self.page.story_card.step["note"]

    def pointed(self) -> list[View]:
        return [view for view in self.page.shown() if "pointed" in view._root.css_classes]


@pytest.fixture
def play(visit, wait_until):
    def opened(story: str, **query: str) -> Played:
        page = visit(story=story, **query)
        page._open_tabs()
        return Played(page, wait_until)

    return opened


@pytest.mark.parametrize("story", GUIDED.values(), ids=GUIDED)
def test_a_guided_story_is_played_from_first_to_last_step_and_back(story, play):
    played = play(story.id, speed="full")
    page = played.page
    for k, step in enumerate(story.steps):
        played.go(k)
        played.settled()
        assert page.story_card.step == {"at": k, "text": step.text, "note": ""}
        assert page.session.cursor.run.info["label"] == step.run
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
    assert played.note == "Press Run to have subbfgs run."
    played.page.controls.go()
    played.settled()
    assert played.page.session.cursor.iteration == 1


def test_paused_runs_and_changed_settings_are_told_and_nothing_is_taken_back(play):
    played = play("kink", speed="1 a second")
    played.go(0)
    played.page.controls._then(played.page.session.pause)
    played.go(5)
    played.tick()
    assert "press Resume" in played.note
    played.page.limits.enter("tol", "1e-2")
    played.tick()
    assert "no longer the story's" in played.note
    assert played.page.story_card.changed
    played.go(4)
    assert played.page.limits.values["tol"] == 1e-2, "what a visitor has set stays"
    assert played.page.query()["tab"] == "line-search", "a look is no setting"
    played.page.story_card._handle_msg({"action": "back"})
    assert played.page.story_card.step["at"] == 4
    assert not played.page.story_card.changed


def test_a_run_that_ends_before_it_comes_there_says_so(play):
    story = stories()["kink"]
    played = play("kink", speed="full")
    played.page.story = replace(
        story, steps=(*story.steps[:1], replace(story.steps[2], until="iteration > 99"))
    )
    played.page.story_card.tell(played.page.story)
    played.go(0)
    played.settled()
    played.go(1)
    played._wait_until(lambda: (played.tick(), "ended without" in played.note)[1])
    assert played.note.startswith("subbfgs has ended")


def test_a_step_may_set_what_an_address_may(play):
    played = play("kink", speed="full")
    page, story = played.page, stories()["kink"]
    step = replace(story.steps[3], set={"solvers": "subbfgs", "tol": "0.001"}, start=True)
    page.story = replace(story, steps=(story.steps[0], step))
    page.story_card.tell(page.story)
    played.go(0)
    played.settled()
    played.go(1)
    played.settled()
    assert [run.label for run in page.session.runs] == ["subbfgs"]
    wanted: Setting = replace(story.setting, solvers=page.setting.solvers, tol=1e-3)
    assert page.setting == wanted
    assert not page.story_card.changed


def test_no_other_message_moves_it(play):
    played = play("kink")
    for message in ({"action": "go", "step": "x"}, {}, {"action": "fly"}):
        played.page.story_card._handle_msg(message)
    played.go(99)
    assert played.page.story_card.step["at"] == len(stories()["kink"].steps) - 1
