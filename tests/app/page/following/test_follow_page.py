"""A lesson: who follows sees the teacher's page, changes nothing in it, and may look around alone."""

from __future__ import annotations

import pytest
from bokeh.document import Document

from app.page.following.follow_page import HELD, OVER, FollowPage
from app.serving import classroom


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
    assert OVER in page.notice.object
    assert page.top_views.convergence.traces == before
    with pytest.raises(ValueError, match="no lesson at this address"):
        classroom.find(code)


def test_each_tab_answers_once_and_is_counted(visit):
    teacher = visit()
    teacher.teaching.receive({"action": "teach"})
    page = FollowPage(classroom.find(teacher.teaching.code))
    assert "How many" in page.ballot.state["text"]
    for who, answer in (("a", 480), ("a", 12), ("b", 480), ("c", 12), ("d", "no number"), (5, 12)):
        page.ballot.receive({"who": who, "answer": answer})
    teacher.teaching.update()
    assert teacher.teaching.counts == [["480 weights", 2], ["12 weights", 1]]
    page.close()


def test_a_shared_document_takes_nothing_but_an_answer(teacher, follow):
    page, document = follow(), Document()
    document.add_root(page.ballot.get_root(document))
    document.add_root(page.legend.get_root(document))
    classroom.look_only(document, "Ballot")
    heard = []
    page.ballot.receive = heard.append
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
