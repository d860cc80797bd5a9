"""A lesson: who follows sees the teacher's page, changes nothing in it, and may look around alone."""

from __future__ import annotations

import pytest
from bokeh.document import Document

from solverscope.app.page.following.follow_page import HELD, LESSON_OVER, FollowPage
from solverscope.app.serving import classroom, page_socket


@pytest.fixture
def teacher(visit, wait_until):
    opened = visit(data="breast-cancer", solvers="prox-qn;owl-qn", tol="1e-4", tab="steps")
    opened.teaching.receive({"action": "teach"})
    opened.controls.go()
    wait_until(lambda: (opened.session.tick(), not opened.session.alive)[1])
    opened.session.tick()
    return opened


@pytest.fixture
def follow(teacher):
    pages = []

    def make(*, alone: bool = False) -> FollowPage:
        pages.append(FollowPage(classroom.find(teacher.teaching.code), alone=alone))
        pages[-1].session.tick()
        return pages[-1]

    yield make
    for page in pages:
        page.close()


def test_it_has_the_runs_cursor_axes_and_tab_of_the_teacher(teacher, follow):
    page = follow()
    first, second = (run.trace for run in teacher.session.runs)
    assert page.top_views.convergence.traces == [first, second]
    teacher.session.cursor.place(second, 3)
    teacher.convergence.x = "passes"
    teacher.tab_bar.chosen = "events"
    page.session.tick()
    assert (page.session.cursor.run, page.session.cursor.iteration) == (second, 3)
    assert page.top_views.convergence.x == "passes"
    assert [id for id, view in page.tabs.items() if view.visible] == ["events"]


@pytest.mark.parametrize("alone", [False, True])
def test_it_changes_nothing_of_the_teachers(alone, teacher, follow):
    page, runs = follow(alone=alone), list(teacher.session.runs)
    for action in ("stop", "remove", "pin", "hide", "isolate", "choose", "pause"):
        page.legend.receive({"action": action, "key": runs[1].style})
    page.session.cursor.place(runs[1].trace, 2)
    place = teacher.session.cursor.iteration
    teacher.session.tick()
    assert teacher.session.runs == runs
    assert not any(teacher.session.hidden(run) or run.pinned for run in runs)
    assert teacher.session.cursor.iteration == place
    page.close()
    assert teacher.session.runs == runs


def test_who_looks_around_alone_has_a_cursor_and_tabs_of_their_own_and_comes_back(teacher, follow):
    page, second = follow(alone=True), teacher.session.runs[1].trace
    page.session.cursor.place(second, 2)
    page.tab_bar.chosen = "events"
    teacher.session.cursor.place(second, 4)
    page.session.tick()
    assert page.session.cursor.iteration == 2
    assert [id for id, view in page.tabs.items() if view.visible] == ["events"]
    assert len(page.tab_column) == len(page.tabs) == 2
    assert follow().session.cursor.iteration == 4


@pytest.mark.parametrize("leaves", [False, True])
def test_the_end_is_said_and_what_is_seen_stays(leaves, teacher, follow):
    page, code = follow(), teacher.teaching.code
    before = list(page.top_views.convergence.traces)
    teacher.close() if leaves else teacher.teaching.receive({"action": "end"})
    page.session.tick()
    assert LESSON_OVER in page.notice.object
    assert page.top_views.convergence.traces == before
    with pytest.raises(ValueError, match="no lesson at this address"):
        classroom.find(code)


def test_each_tab_has_one_answer_and_is_counted(visit):
    teacher = visit()
    teacher.teaching.receive({"action": "teach"})
    page = FollowPage(classroom.find(teacher.teaching.code))
    assert "How many" in page.poll.state["text"]
    for who, answer in (("a", 12), ("a", 480), ("b", 480), ("c", 12), ("d", "no number"), (5, 12)):
        page.poll.receive({"who": who, "answer": answer})
    teacher.teaching.update()
    assert teacher.teaching.counts == [["480 weights", 2], ["12 weights", 1]]
    page.close()


def test_an_answer_is_called_counted_only_once_it_is(visit, wait_until):
    teacher = visit(story="kink", speed="full")
    teacher.teaching.receive({"action": "teach"})
    page = FollowPage(classroom.find(teacher.teaching.code))
    for receipt, answer in ((1, "exact"), (2, "no choice"), (2**32, "exact"), ("3", "exact")):
        page.poll.receive({"who": "a", "answer": answer, "receipt": receipt})
    teacher.controls.go()
    wait_until(lambda: (teacher.session.tick(), page.session.tick(), not page.poll.state["open"])[2])
    page.poll.receive({"who": "b", "answer": "exact", "receipt": 4})
    page.poll.update()
    assert page.poll.receipts == [1], "the others are no answer, no receipt, or too late"
    page.close()


def test_the_poll_has_all_that_the_teachers_question_has(visit, wait_until):
    """φ to answer on, range and unit."""
    teacher = visit(story="armijo", speed="full")
    teacher.teaching.receive({"action": "teach"})
    page = FollowPage(classroom.find(teacher.teaching.code))
    wait_until(lambda: (teacher.session.tick(), page.session.tick(), page.poll.state["picture"])[2])
    own = teacher.story_card.ask
    assert page.poll.state == {name: own[name] for name in page.poll.state}
    assert page.poll.state["search"]
    assert {"low", "high", "range", "unit", "picture"} <= page.poll.state.keys()
    page.close()


def test_the_teachers_page_shows_what_the_class_has_answered_once_the_runs_have_begun(visit, wait_until):
    teacher = visit(story="kink", speed="full")
    for who, answer in (("a", "exact"), ("b", "inexact"), ("c", "exact")):
        teacher.prediction.count(who, answer)
    teacher.story_card.update()
    assert teacher.story_card.ask["others"] == [], "it would tell those who have not answered"
    teacher.controls.go()
    wait_until(lambda: (teacher.session.tick(), teacher.story_card.ask["said"])[1])
    teacher.prediction.count("d", "subbfgs")
    teacher.story_card.update()
    assert teacher.story_card.ask["others"] == [["exact", 2, True], ["inexact", 1, False]]
    assert teacher.story_card.ask["counted"] == "The class: 3 answers"


def test_numbers_of_the_class_stand_in_their_order_with_their_median(visit):
    page = visit()
    for who, answer in (("a", 900), ("b", 12), ("c", 480)):
        page.prediction.count(who, answer)
    assert page.prediction.others == {
        "others": [["12 weights", 1, False], ["480 weights", 1, False], ["900 weights", 1, False]],
        "counted": "The class: 3 answers, median 480 weights",
    }


#: What can be set in a tab, or a part of it.
SET = {
    "line-search": {"sigma": 0.3, "c2": 0.95, "models": True, "zoomed": True},
    "trajectories": {"which": "random", "count": 50, "maker": "kmeans", "clusters": 3},
    "record": {"field": "step", "scale": "linear"},
    "rate": {"measure": "scores"},
    "race": {"cost": "passes"},
}


def test_what_the_teacher_sets_in_a_tab_is_set_for_those_who_follow(teacher, follow):
    page = follow()
    teacher.open_tabs()
    for tab, wanted in SET.items():
        teacher.tab_bar.chosen = tab
        page.session.tick()
        for name, value in wanted.items():
            setattr(teacher.tabs[tab], name, value)
        page.session.tick()
        assert {name: getattr(page.tabs[tab], name) for name in wanted} == wanted, tab


def test_what_the_teacher_zooms_in_on_is_seen_by_those_who_follow(teacher, follow):
    """The tags of its ranges tell it: see ``assets/page.js``."""
    page = follow()
    teacher.convergence.figure.x_range.tags = [1.0, 3.0]
    teacher.sparsity.figure.y_range.tags = [0.5, 7.5]
    page.session.tick()
    assert page.top_views.convergence.figure.x_range.tags == [1.0, 3.0]
    assert page.top_views.sparsity.figure.y_range.tags == [0.5, 7.5]
    teacher.convergence.figure.x_range.tags = []
    page.session.tick()
    assert page.top_views.sparsity.figure.x_range.tags == [], "which both plots share"


def test_who_follows_has_the_help_of_every_figure_without_asking(teacher, follow):
    page = follow()
    shown = [*page.top_views.shown, *(view for view in page.tabs.values() if view.visible)]
    figures = [drawn.id for view in shown for _, drawn in view.shown_figures()]
    assert len(figures) > 2
    assert page.help.texts.keys() == set(figures)
    assert "<math" in page.help.texts[page.top_views.convergence.figure.id]["html"]


def test_the_cursor_is_led_where_it_follows_and_ones_own_elsewhere(teacher, follow):
    assert (follow().cursor_bar.led, follow(alone=True).cursor_bar.led, teacher.cursor_bar.led) == (
        True,
        False,
        False,
    )


def test_a_connection_speaks_for_one_tab_alone(teacher, follow, monkeypatch):
    """Else one who writes messages answers a question a thousand times."""
    page, document, heard = follow(), Document(), []
    document.add_root(page.poll.get_root(document))
    classroom.look_only(document, "Poll")
    page.poll.receive = heard.append

    class Connection:
        pass

    first, second = Connection(), Connection()

    def say(connection, who: str) -> None:
        data = {"type": "map", "entries": [["who", who], ["answer", "exact"]]}
        values = {"type": "map", "entries": [["model", {"id": document.roots[0].id}], ["data", data]]}
        sent = {"type": "event", "name": "data_event", "values": values}
        message = {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": sent}
        monkeypatch.setattr(page_socket, "sender", lambda: connection)
        document.apply_json_patch({"events": [message, message]})

    for connection, who in ((first, "a"), (first, "b"), (second, "c"), (first, "a")):
        say(connection, who)
    assert [said["who"] for said in heard] == ["a", "a", "c", "c", "a", "a"]


def test_a_shared_document_takes_nothing_but_an_answer(teacher, follow):
    page, document = follow(), Document()
    document.add_root(page.poll.get_root(document))
    document.add_root(page.legend.get_root(document))
    classroom.look_only(document, "Poll")
    heard = []
    page.poll.receive = heard.append
    page.legend.receive = heard.append
    for model in document.roots:
        data = {"type": "map", "entries": [["who", "a"], ["action", "remove"]]}
        values = {"type": "map", "entries": [["model", {"id": model.id}], ["data", data]]}
        sent = {"type": "event", "name": "data_event", "values": values}
        changed = {"kind": "ModelChanged", "model": {"id": model.id}, "attr": "visible", "new": False}
        message = {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": sent}
        document.apply_json_patch({"events": [changed, message]})
    document.replace_with_json({})
    assert [model.visible for model in document.roots] == [True, True]
    assert heard == [{"who": "a", "action": "remove"}]


def test_who_comes_late_builds_few_of_the_tabs_that_the_teacher_has_opened(teacher, follow):
    page = follow()
    opened = ["steps", "events", "memory", "record", "steps", "race"]
    for tab in opened:
        teacher.tab_bar.chosen = tab
        page.session.tick()
        assert [id for id, view in page.tabs.items() if view.visible] == [tab]
        assert page.tabs[tab].__panel__() in page.tab_column.objects
        assert len(page.tab_column) <= HELD
    assert len(set(opened)) > HELD
