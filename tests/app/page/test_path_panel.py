"""The tab "λ path" on the page: paths are traced in the pool, can be stopped, and end with the session."""

from __future__ import annotations

import numpy as np
import pytest

import datasets
import solvers
from app.page import path_panel
from app.page.path_panel import PathPanel
from app.settings.setting import ProblemSetting, Setting, SolverSetting

SMALL = {"data": "breast-cancer", "solvers": "prox-qn", "tol": "1e-6"}


@pytest.fixture
def problem():
    return solvers.make_problem(datasets.load("digits"), loss="multiclass-squared-hinge", penalty="l1-l2")


def setting(*ids, penalty="l1-l2", **limits):
    chosen = tuple(SolverSetting(id, id, style=k) for k, id in enumerate(ids))
    problem = ProblemSetting("digits", loss="multiclass-squared-hinge", penalty=penalty)
    return Setting(problem, chosen, **({"tol": 1e-3} | limits))


@pytest.fixture
def panel(session, problem):
    """``panel(setting)`` is the tab of a page with this setting, watched by its session."""

    def make(wanted):
        panel = PathPanel(session, lambda: (problem, wanted))
        session.watchers.append(panel)
        return panel

    return make


def finish(session, panel, wait_until):
    wait_until(lambda: not panel.alive)
    wait_until(lambda: (session.tick(), not panel.view._drawing)[1])


def test_every_chosen_solver_gets_a_path(session, panel, wait_until):
    tab = panel(setting("fista-ls", "bcd-ls"))
    tab.count.value, tab.ratio.value = 5, 0.1
    tab.press()
    assert tab.button.label == "Stop tracing"
    finish(session, tab, wait_until)
    assert tab.button.label == "Trace the path"
    results = [trace.result for trace in tab.view.traces]
    assert [result["label"] for result in results] == ["fista-ls"] * 5 + ["bcd-ls"] * 5
    assert results[4]["lam"] == pytest.approx(0.1 * results[0]["lam"])
    assert [trace.info["style"] for trace in tab.view.traces] == [0] * 5 + [1] * 5
    assert results[0]["nnz_rows"] == 0 < results[4]["nnz_rows"]
    assert tab.view.said.object.startswith("digits, multiclass-squared-hinge: 10 solutions in ")
    assert all(pane.object is not None for pane in tab.view.panes.values())


def test_pressing_again_stops_at_once_and_keeps_what_is_solved(session, panel, wait_until):
    tab = panel(setting("fista-cst", tol=1e-12, max_seconds=1000.0))
    tab.press()
    (worker,) = tab._workers
    wait_until(lambda: tab._tracings[0].found)  # λ_max takes no time, the next one very long
    wait_until(lambda: (session.tick(), "λ 2 of 10, iteration" in tab.view.said.object)[1])
    before = worker.cpu_seconds
    tab.press()
    assert worker.join(10)
    assert worker.cpu_seconds - before < 0.5
    finish(session, tab, wait_until)
    assert len(tab.view.traces) == 1


def test_the_path_ends_with_the_session(session, panel, wait_until):
    tab = panel(setting("fista-cst", tol=1e-12, max_seconds=1000.0))
    tab.press()
    wait_until(lambda: tab._tracings[0].found)
    session.close()
    assert all(worker.join(2) for worker in tab._workers)


def test_what_cannot_be_traced_is_said_in_a_sentence(session, panel, wait_until):
    tab = panel(setting("fista-ls", penalty="l2"))
    tab.press()
    finish(session, tab, wait_until)
    assert 'role="alert">penalty l2 has no λmax to start from: choose a sparse one' in tab.view.said.object


def test_a_full_pool_is_said_in_a_sentence(session, panel, monkeypatch):
    monkeypatch.setattr("app.runs.pool.MAX_PER_SHARE", 0)
    tab = panel(setting("fista-ls"))
    tab.press()
    assert "runs are alive: stop some" in tab.view.said.object
    assert not tab.alive


def test_there_is_nothing_to_press_without_a_problem(session):
    tab = PathPanel(session, lambda: None)
    assert tab.button.disabled
    tab.press()
    assert not tab._workers


def test_a_hidden_tab_does_nothing_but_goes_on(session, panel, wait_until, monkeypatch):
    tab = panel(setting("fista-ls"))
    tab.view.visible = False
    monkeypatch.setattr(tab, "_sentence", lambda alive: pytest.fail("a hidden tab was brought up to date"))
    tab.press()
    wait_until(lambda: (session.tick(), not tab.alive)[1])
    assert len(tab._tracings[0].found) == 10
    monkeypatch.undo()
    tab.view.visible = True
    session.tick()
    assert len(tab.view.traces) == 10


def test_weights_beyond_the_room_for_them_are_not_kept(session, panel, wait_until, monkeypatch):
    monkeypatch.setattr(path_panel, "MOST_BYTES", 3 * 640 * 8)
    tab = panel(setting("fista-ls"))
    tab.press()
    finish(session, tab, wait_until)
    assert [trace.w is not None for trace in tab.view.traces] == [True] * 3 + [False] * 7
    assert all(len(trace) == 0 for trace in tab.view.traces), "iterates are not kept"


def test_stopping_is_felt_while_the_problem_of_a_path_is_made(problem, as_if_huge):
    as_if_huge(problem)

    class Worker:
        def pulse(self):
            raise solvers.Interrupted

    tracing = path_panel.Tracing(problem, setting("fista-ls", penalty="l1"), SolverSetting("fista-ls", "a"))
    with pytest.raises(solvers.Interrupted):
        tracing.follow(Worker(), 5, 0.1)


def test_a_race_and_a_path_share_the_session_s_part_of_the_pool(session, panel, wait_until):
    tab = panel(setting("fista-cst", "fista-ls", tol=1e-12, max_seconds=1000.0))
    tab.press()
    wait_until(lambda: all(worker.cpu_seconds > 0.1 for worker in tab._workers))
    assert {worker.share for worker in tab._workers} == {session.share}

    def booked():
        """CPU seconds of the session, which begins at the level of the others, and of its workers."""
        return np.array([session.share.used, sum(worker.cpu_seconds for worker in tab._workers)])

    before = booked()
    wait_until(lambda: booked()[1] > before[1] + 0.5)
    session_s, workers = booked() - before
    assert session_s == pytest.approx(workers, abs=0.2)


def test_the_path_of_the_problem_on_the_page_is_traced_on_its_tab(visit, wait_until):
    page = visit(**(SMALL | {"tab": "path", "solvers": "prox-qn"}))
    (panel,) = (watcher for watcher in page.session.watchers if isinstance(watcher, PathPanel))
    page.session.tick()
    assert not panel.button.disabled
    panel.press()
    wait_until(lambda: not panel.alive)
    wait_until(lambda: (page.session.tick(), not panel.view._drawing)[1])
    assert [trace.info["problem"]["dataset"] for trace in page.tabs["path"].traces] == ["breast-cancer"] * 10
    assert page.session.state == "idle", "a path is no run of the page"
    page.controls.go()
    wait_until(lambda: not page.session.alive)
    page.session.tick()
    assert len(page.tabs["path"].traces) == 10, "nor is a run of the page a solution on the path"
