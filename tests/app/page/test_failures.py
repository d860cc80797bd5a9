"""A part of the page that fails keeps nothing else from being brought up to date."""

from __future__ import annotations

import tempfile

import panel as pn
import pytest
from bokeh.document import Document

from solverscope.app.views import Convergence, Memory
from tests.app.helpers import covered, curves, hint, mark

SMALL = {"data": "breast-cancer", "solvers": "prox-qn", "tol": "1e-6", "tab": "memory"}
SORRY = "This view cannot be drawn: IndexError: no row &lt;0&gt;."


def broken(*args):
    raise IndexError("no row <0>")


def broken_draw(view):
    if view.traces:
        broken()


class BrokenWatcher:
    update = broken


def finished(page, wait_until):
    page.open_tabs()
    page.controls.go()
    wait_until(lambda: not page.session.alive)
    for _ in range(5):
        page.session.tick()
    return page


def points(view):
    return sum(len(source.data["x"]) for source in curves(view.figure))


def test_a_view_that_fails_says_so_in_its_place_and_the_others_are_drawn(
    visit, wait_until, monkeypatch, caplog
):
    monkeypatch.setattr(Convergence, "draw", broken_draw)
    page = finished(visit(**SMALL), wait_until)
    assert SORRY in hint(page.convergence)
    assert covered(page.convergence)
    assert points(page.sparsity) > 3
    assert page.legend.rows[0]["state"] == "finished"
    assert caplog.text.count("Traceback") == 1, "once, with the place"
    assert "no row <0>" in caplog.text
    caplog.clear()

    monkeypatch.undo()
    page.session.tick()
    assert points(page.convergence) > 3
    assert SORRY not in hint(page.convergence)
    assert not covered(page.convergence)


def test_a_view_that_fails_at_a_moved_cursor_keeps_the_cursor_and_the_others(
    visit, wait_until, monkeypatch, caplog
):
    page = finished(visit(**SMALL), wait_until)
    monkeypatch.setattr(Convergence, "draw", broken_draw)
    page.session.cursor.place(page.session.runs[0].trace, 2)
    assert page.cursor_bar.state["iteration"] == 2
    assert list(mark(page.sparsity.figure)["x"]) != []
    assert SORRY in hint(page.convergence)
    caplog.clear()


def test_a_watcher_or_the_end_of_a_task_that_fails_stops_nothing_else(visit, wait_until, caplog):
    page = visit(**SMALL | {"tab": "summary"})
    page.session.watchers.insert(0, BrokenWatcher())
    ends = []
    tasks = [page.session.task(lambda worker: None, then) for then in (broken, ends.append)]
    wait_until(lambda: all(task.done.is_set() for task in tasks))
    finished(page, wait_until)
    assert ends == tasks[1:]
    assert page.cursor_bar.state["head"] > 3
    assert caplog.text.count("Traceback") == 2
    caplog.clear()


def test_a_view_that_fails_when_its_tab_is_opened_is_there_with_its_sentence(
    visit, wait_until, monkeypatch, caplog
):
    page = finished(visit(**SMALL | {"tab": "summary"}), wait_until)
    monkeypatch.setattr(Memory, "draw", broken_draw)
    page.tab_bar.chosen = "memory"
    assert page.tabs["memory"].visible
    assert SORRY in hint(page.tabs["memory"])
    caplog.clear()


def test_a_page_whose_document_is_gone_ends_its_lesson_its_run_and_its_upload(visit, tmp_path, monkeypatch):
    """Bokeh empties the models of a document before it says that the session is over."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    page = visit(**SMALL | {"max_iter": "1000000", "tol": "1e-300"})
    document = Document()
    for part in (page.view(), page.teaching, page.problem.own, page.own_loops):
        document.add_root(pn.panel(part).get_root(document))
    page.teaching.receive({"action": "teach"})
    page.problem.own.receive({"action": "begin", "name": "mine.svm", "size": 100})
    page.problem.own.receive({"action": "piece", "data": b"1 1:2"})
    assert any(path.is_file() for path in tmp_path.rglob("*"))
    page.controls.go()
    document.models.destroy()
    page.close()
    assert page.session.closed
    assert page.teaching.lesson is None
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_a_part_that_fails_while_a_page_closes_keeps_no_other_from_its_end(visit, monkeypatch):
    page = visit(**SMALL)
    page.teaching.receive({"action": "teach"})
    monkeypatch.setattr(page.session_restore, "close", broken)
    monkeypatch.setattr(page.own_loops, "close", broken)
    with pytest.raises(IndexError, match="no row"):
        page.close()
    assert page.teaching.lesson is None
    assert page.session.closed
