"""The two lines of tabs: which views are offered, and where."""

from types import SimpleNamespace

import pytest
from bokeh.document import Document
from panel.models.esm import DataEvent

from solverscope import solvers
from solverscope.app import views
from solverscope.app.page.tabs.tab_bar import MORE, PLUGINS, STORY, UNUSED, TabBar, used_by
from solverscope.app.settings.recipe import Recipe
from solverscope.app.stories import stories
from solverscope.app.views import TABS, VIEW_GROUPS, View


@pytest.fixture
def bar():
    return TabBar()


@pytest.fixture
def top(bar):
    """The line of groups."""
    return bar.__panel__()[0]


@pytest.fixture
def below(bar):
    """The line of the views of a group."""
    return bar.__panel__()[1]


def tabs(line):
    return [item["label"] for item in line.items]


def fitting(*ids, problem=None):
    return [view for view in TABS.values() if view.fits(problem, [solvers.SOLVERS[id] for id in ids])]


def test_every_view_stands_in_one_group_and_a_group_has_few():
    members = [view for group in VIEW_GROUPS.values() for view in group]
    assert len(members) == len(set(members)) == len(TABS)
    assert max(map(len, VIEW_GROUPS.values())) <= 6


def test_a_group_shows_its_views_and_what_was_chosen_there_last(bar, top, below):
    assert tabs(top) == list(VIEW_GROUPS)
    assert tabs(below) == [view.title for view in VIEW_GROUPS["Inside the solver"]]
    below.active = 2
    assert bar.chosen == "line-search"
    top.active = list(VIEW_GROUPS).index("Compare")
    assert bar.chosen == "summary"
    assert tabs(below) == [view.title for view in VIEW_GROUPS["Compare"]]
    top.active = list(VIEW_GROUPS).index("Inside the solver")
    assert (bar.chosen, below.active) == ("line-search", 2)


def test_what_has_nothing_to_show_stands_apart_with_what_it_needs(bar, top, below):
    bar.offer(fitting("fista-cst"))
    assert tabs(top) == [*VIEW_GROUPS, UNUSED]
    top.active = len(VIEW_GROUPS)
    there = {item["label"]: item["tooltip"] for item in below.items}
    inside = {"Shrinking", "Memory", "Direction finding", "Bundle"}
    assert set(there) == inside | {"Phases", "Race", "Rules"}
    assert there["Bundle"].startswith("Run a bundle method")


def test_in_place_of_a_view_without_anything_to_show_one_beside_it_is_chosen(bar, top):
    bar.offer(fitting("fista-cst"))
    assert (bar.chosen, tabs(top)[top.active]) == ("line-search", "Inside the solver")
    bar.chosen = "memory"
    bar.offer(fitting("sgd-l1", "fobos"))
    assert bar.chosen == "memory", "it was chosen though it does not fit"


def test_a_view_of_runs_that_are_there_stays_when_it_no_longer_fits(bar, top, below):
    bar.chosen = "memory"
    bar.offer(fitting("fista-cst"), stay=True)
    assert bar.chosen == "memory"
    assert tabs(top)[top.active] == UNUSED
    bar.offer(fitting("prox-qn", "owl-qn"))
    assert tabs(top)[top.active] == "Inside the solver"
    assert tabs(below)[below.active] == "Memory"


def test_a_click_on_a_tab_that_is_gone_chooses_nothing(bar, top, below):
    bar.offer(fitting("prox-qn", "owl-qn"))
    for line in (below, top):
        document, gone = Document(), len(line.items)
        model = line.get_root(document)
        document.add_root(model)
        model.data.active = gone  # as the browser tells of a click, twice
        document.callbacks.trigger_event(DataEvent(model, {"type": "click", "item": gone}))
    assert bar.chosen == "shrinking"


def test_a_view_of_a_plug_in_has_a_group_of_its_own(monkeypatch):
    class Mine(View):
        id, title = "mine", "Mine"

    monkeypatch.setitem(TABS, "mine", Mine)
    assert tabs(TabBar().__panel__()[0]) == [*VIEW_GROUPS, PLUGINS]


def test_of_a_solver_that_does_not_tell_what_it_carries_everything_fits():
    class Unknown(solvers.Solver):
        id = "unknown"

    assert Unknown.carries is None
    assert all(view.fits(None, [Unknown, Unknown]) for view in TABS.values())


def test_accuracy_is_for_data_with_a_test_part():
    whole, held = SimpleNamespace(has_test=False), SimpleNamespace(has_test=True)
    assert [views.Accuracy.fits(problem, []) for problem in (whole, held, None)] == [False, True, True]


@pytest.fixture
def storied(bar):
    """A bar as a story opens it that uses two tabs."""
    bar.fold()
    bar.offer(fitting("prox-qn", "owl-qn"), own=[views.Shrinking, views.EventLog])
    return bar


def test_a_story_opens_with_its_tabs_alone_and_more_opens_the_others(storied, top, below):
    assert (tabs(top), tabs(below)) == ([STORY, MORE], ["Shrinking", "Events"])
    below.active = 1
    assert storied.chosen == "events"
    top.active = 1
    assert tabs(top) == [STORY, *VIEW_GROUPS, UNUSED]
    assert tabs(top)[top.active] == "Progress"
    assert storied.chosen == views.Steps.id
    reached = {TABS[storied.chosen].title}
    for at in range(1, len(top.items)):
        top.active = at
        reached |= set(tabs(below))
    assert reached >= {view.title for view in TABS.values()}
    top.active = 0
    assert (storied.chosen, tabs(below)) == ("events", ["Shrinking", "Events"])


def test_a_click_on_more_that_is_told_twice_opens_the_groups_once(storied, top):
    document = Document()
    model = top.get_root(document)
    document.add_root(model)
    model.data.active = 1
    document.callbacks.trigger_event(DataEvent(model, {"type": "click", "item": 1}))
    assert storied.chosen == views.Steps.id


def test_a_view_in_two_groups_stays_in_the_one_that_was_opened(storied, top, below):
    top.active = 1
    top.active = tabs(top).index("Inside the solver")
    assert storied.chosen == "shrinking"
    unfit = views.Bundle, views.DirectionFinding
    assert tabs(below) == [view.title for view in VIEW_GROUPS["Inside the solver"] if view not in unfit]


def test_a_view_that_is_not_the_storys_opens_the_groups(storied, top):
    storied.chosen = "race"
    assert tabs(top)[top.active] == "Compare"
    storied.fold()
    storied.offer(fitting("prox-qn", "owl-qn"), own=[views.Race])
    assert tabs(top) == [STORY, MORE]


def test_tabs_of_a_story_are_those_that_it_opens_points_at_or_names(visit):
    used = {id: {view.title for view in used_by(story)} for id, story in stories().items()}
    assert used["shrinking"] == {"Shrinking", "Events", "Memory"}
    assert used["early-bird"] == {"Bundle", "Record"}
    assert max(map(len, used.values())) <= 4
    page = visit(story="early-bird")
    top, below = page.tab_bar.__panel__()[:2]
    assert (tabs(top), set(tabs(below))) == ([STORY, MORE], used["early-bird"])
    page.load_story(stories()["shrinking"])
    assert (tabs(top), set(tabs(below))) == ([STORY, MORE], used["shrinking"])
    page.problem.set(Recipe.of("breast-cancer"))
    assert STORY not in tabs(top), "other data are not the story's"
