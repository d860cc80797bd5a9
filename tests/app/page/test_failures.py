"""A part of the page that fails keeps nothing else from being brought up to date."""

from __future__ import annotations

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
