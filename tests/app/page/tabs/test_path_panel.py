"""The tab "λ path" on the page: paths are traced in the pool, can be stopped, and end with the session."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from random import Random
from types import SimpleNamespace

import holoviews as hv
import numpy as np
import pytest
from bokeh.models import Scatter
from bokeh.plotting import figure

from solverscope import datasets, solvers
from solverscope.app.page.tabs import path_panel
from solverscope.app.page.tabs.path_panel import PathPanel
from solverscope.app.settings.experiment import Experiment
from solverscope.app.settings.recipe import PAGE_LIMITS, Entrant, Recipe
from solverscope.app.ui import run_styles
from solverscope.app.views.path import lam_path
from solverscope.app.views.path.path_plots import PATH_PLOTS
from solverscope.solvers import Trace
from tests.app.helpers import fake_page, glyphs

SMALL = {"data": "breast-cancer", "solvers": "prox-qn", "tol": "1e-6"}


@pytest.fixture
def problem():
    return solvers.make_problem(datasets.load("digits"), loss="multiclass-squared-hinge", penalty="l1-l2")


def setting(*ids, penalty="l1-l2", **limits):
    chosen = tuple(Entrant(id, id) for id in ids)
    problem = Recipe("digits", loss="multiclass-squared-hinge", penalty=penalty)
    return Experiment(problem, chosen, replace(PAGE_LIMITS, **({"tol": 1e-3} | limits)))


@pytest.fixture
def panel(session, problem):
    """``panel(setting)`` is the tab of a page with this setting, watched by its session."""

    def make(wanted):
        panel = PathPanel(fake_page(session, wanted, problem))
        session.watchers.append(panel)
        return panel

    return make


def finish(session, panel, wait_until):
    wait_until(lambda: not panel.alive)
    wait_until(lambda: (session.tick(), not panel.view.drawing)[1])


@pytest.mark.slow
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
    assert [run_styles.style_of(trace).number for trace in tab.view.traces] == [0] * 5 + [1] * 5
    assert results[0]["nnz_rows"] == 0 < results[4]["nnz_rows"]
    assert tab.said.object.startswith("digits, multiclass-squared-hinge: 10 solutions in ")
    assert all(pane.object is not None for pane in tab.view.panes.values())
    assert [one.lam in {result["lam"] for result in results} for one in tab.view.choices] == [True, True]
    assert "is chosen, accuracy" in tab.said.object
    assert [one.lam_1se for one in tab.view.choices] == [None, None]


def test_folds_choose_the_lam_of_the_command_line(session, wait_until, command):
    wanted = Experiment(
        Recipe("breast-cancer", loss="logistic", penalty="l1"), (Entrant("prox-qn", "prox-qn"),)
    )
    wanted = replace(wanted, limits=replace(PAGE_LIMITS, tol=1e-6))
    whole = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1")
    tab = PathPanel(fake_page(session, wanted, whole))
    session.watchers.append(tab)
    tab.count.value, tab.folds.value = 5, 3
    tab.press()
    finish(session, tab, wait_until)
    (one,) = tab.view.choices
    said = (
        "path",
        "breast-cancer",
        "--solver",
        "prox-qn",
        "--n-lams",
        "5",
        "--tol",
        "1e-6",
        "--choose",
        "lam",
    )
    (choice,) = command(*said, "--folds", "3", "--json").of_type("choice")
    assert (one.lam, one.lam_1se) == (choice["lam"], choice["lam_1se"])
    assert [entry[1:] for entry in one.over] == [(mean, error) for _, mean, _, error in choice["over"]]
    assert len(tab.view.traces) == 5, "the runs on parts are not drawn"
    drawn = tab.view.panes["path-choice"].object.state
    (bars,) = [r.data_source.data for r in drawn.renderers if type(r.glyph).__name__ == "Segment"]
    np.testing.assert_allclose((bars["y1"] - bars["y0"]) / 2, [error for _, _, error in one.over if error])


def test_pressing_again_stops_at_once_and_keeps_what_is_solved(session, panel, wait_until):
    tab = panel(setting("fista-cst", tol=1e-12, max_seconds=1000.0))
    tab.press()
    (worker,) = tab.workers
    # λ_max takes no time, the next one very long
    wait_until(lambda: (session.tick(), "λ 2 of 10, iteration" in tab.said.object)[1])
    tab.press()
    assert worker.join(60)
    finish(session, tab, wait_until)
    assert len(tab.view.traces) == 1


def test_the_path_ends_with_the_session(session, panel, wait_until):
    tab = panel(setting("fista-cst", tol=1e-12, max_seconds=1000.0))
    tab.press()
    wait_until(lambda: (session.tick(), "λ 2 of 10, iteration" in tab.said.object)[1])
    (worker,) = tab.workers
    session.close()
    assert worker.join(60)


def test_what_cannot_be_traced_is_said_in_a_sentence(session, panel, wait_until):
    tab = panel(setting("fista-ls", penalty="l2"))
    tab.press()
    finish(session, tab, wait_until)
    assert 'role="alert">penalty l2 has no λmax to start from: choose a sparse one' in tab.said.object


def test_a_full_pool_is_said_in_a_sentence(session, panel, monkeypatch):
    monkeypatch.setattr("solverscope.app.runs.pool.MAX_PER_SHARE", 0)
    tab = panel(setting("fista-ls"))
    tab.press()
    assert "runs are alive: stop some" in tab.said.object
    assert not tab.alive


def test_there_is_nothing_to_press_without_a_problem(session):
    tab = PathPanel(fake_page(session))
    assert tab.button.disabled
    tab.press()
    assert not session.share.workers


def test_a_hidden_tab_does_nothing_but_goes_on(session, panel, wait_until, monkeypatch):
    tab = panel(setting("fista-ls"))
    tab.view.visible = False
    monkeypatch.setattr(tab, "_sentence", lambda alive: pytest.fail("a hidden tab was brought up to date"))
    tab.press()
    wait_until(lambda: (session.tick(), not tab.alive)[1])
    assert tab.view.traces == []
    monkeypatch.undo()
    tab.view.visible = True
    session.tick()
    assert len(tab.view.traces) == 10


def test_weights_beyond_the_room_for_them_are_not_kept(session, panel, wait_until, monkeypatch):
    monkeypatch.setattr(path_panel, "MAX_DRAWN_BYTES", 500)
    tab = panel(setting("fista-ls"))
    tab.press()
    finish(session, tab, wait_until)
    kept = [trace.rows is not None for trace in tab.view.traces]
    assert kept[0], "at λ_max there are no rows"
    assert not all(kept)
    assert all(trace.w is None for trace in tab.view.traces)
    assert all(len(trace) == 0 for trace in tab.view.traces), "iterates are not kept"


def test_of_a_path_the_largest_rows_are_kept(session, panel, wait_until, monkeypatch, problem):
    monkeypatch.setattr(path_panel, "MOST_KEPT", 7)
    tab = panel(setting("fista-ls"))
    tab.count.value = 5
    tab.press()
    finish(session, tab, wait_until)
    rows = [trace.rows for trace in tab.view.traces]
    assert max(one.features.size for one in rows) == 7
    lams = [trace.result["lam"] for trace in tab.view.traces]
    path = solvers.solve_path(problem, solvers.make_solver("fista-ls"), lams, tol=1e-3)
    norms = np.array(
        [np.linalg.norm(trace.w.reshape(-1, problem.design.n_outputs), axis=1) for trace in path]
    )
    largest = np.sort(np.argsort(-norms.max(axis=0))[:7])
    np.testing.assert_array_equal(rows[-1].features, largest)
    np.testing.assert_allclose(rows[-1].sizes, norms[-1, largest], rtol=1e-6)


def test_stopping_is_felt_while_the_problem_of_a_path_is_made(as_if_huge, problem):
    class Worker:
        def pulse(self):
            raise solvers.Interrupted

    tracing = path_panel.Tracing(problem, setting("fista-ls", penalty="l1"), Entrant("fista-ls", "a"), 0)
    with pytest.raises(solvers.Interrupted):
        tracing.follow(Worker(), 5, 0.1)


def test_a_race_and_a_path_share_the_session_s_part_of_the_pool(session, panel, wait_until):
    tab = panel(setting("fista-cst", "fista-ls", tol=1e-12, max_seconds=1000.0))
    tab.view.visible = False  # what it draws is booked, too
    tab.press()
    workers = tab.workers
    assert session.share.workers == set(workers)
    assert len(workers) == 2
    wait_until(lambda: all(worker.cpu_seconds for worker in workers))

    def booked():
        """CPU seconds of the session, which begins at the level of the others, and of its workers."""
        with session.share.pool.lock:
            return np.array([session.share.used, sum(worker.cpu_seconds for worker in workers)])

    before = booked()
    wait_until(lambda: booked()[1] > before[1])
    of_session, of_workers = booked() - before
    assert of_session == pytest.approx(of_workers, abs=1e-9)


def test_the_path_of_the_problem_on_the_page_is_traced_on_its_tab(visit, wait_until):
    page = visit(**(SMALL | {"tab": "path", "solvers": "prox-qn"}))
    (panel,) = (watcher for watcher in page.session.watchers if isinstance(watcher, PathPanel))
    page.session.tick()
    assert not panel.button.disabled
    panel.press()
    wait_until(lambda: not panel.alive)
    wait_until(lambda: (page.session.tick(), not panel.view.drawing)[1])
    assert [trace.info.problem["dataset"] for trace in page.tabs["path"].traces] == ["breast-cancer"] * 10
    assert page.session.state == "idle", "a path is no run of the page"
    page.controls.go()
    wait_until(lambda: not page.session.alive)
    page.session.tick()
    assert len(page.tabs["path"].traces) == 10, "nor is a run of the page a solution on the path"


class ByHand:
    """A share of a pool whose work is done, or stopped before it is, when a test says so."""

    def __init__(self, pool):
        self.pool, self.workers = pool, []

    def start(self, task, name, **more):
        worker = SimpleNamespace(
            task=task, name=name, done=threading.Event(), error=None, result=None, pulse=None
        )
        self.workers.append(worker)
        return worker

    def stop(self):
        for worker in list(self.workers):
            self.end(worker, undone=True)

    def end(self, worker, *, undone=False):
        self.workers.remove(worker)
        if not undone:
            worker.result = worker.task(worker)
        worker.done.set()


class Arriving:
    """A solver whose solutions come when a test says so."""

    progress = ""

    def __init__(self, base, setting, chosen, style):
        self.label, self.found, self.chosen = chosen.label, [], []

    def follow(self, worker, count, ratio, folds):
        while len(self.found) < count:
            self.arrive()

    def arrive(self):
        about = {"dataset": "a.csv", "loss": "logistic", "penalty": "l1", "n_params": 2}
        about["lam"] = 0.5 ** len(self.found)
        trace = Trace({"label": self.label, "problem": about})
        trace.result = {"cpu_seconds": 0.01, "metric_name": "accuracy", "members_start": 1}
        trace.finish("converged")
        self.found.append(trace)


@pytest.mark.quick("[0]", "[1]", "[2]", "[3]", "[4]")
@pytest.mark.parametrize("seed", range(20))
def test_all_plots_end_at_the_final_data_in_whatever_order_solutions_and_drawings_come(
    session, monkeypatch, seed
):
    random, solvers_at_work = Random(seed), []
    pool = session.share = ByHand(session.share.pool)

    def arriving(*about):
        solvers_at_work.append(Arriving(*about))
        return solvers_at_work[-1]

    computed = {}
    weights = hv.renderer("bokeh").get_plot(hv.Curve([]))

    def counted(name, paths, *chosen):
        computed[name] = f"{[len(path.traces) for path in paths]}"
        return weights if name == "path-weights" else figure(name=computed[name])

    monkeypatch.setattr(path_panel, "Tracing", arriving)
    monkeypatch.setattr(lam_path, "_plot", counted)
    tab = PathPanel(fake_page(session, setting("fista-ls", "bcd-ls", "fista-cst")))
    session.watchers.append(tab)
    tab.press()

    def at_work(*, drawing):
        return [worker for worker in pool.workers if worker.name.startswith("path") is not drawing]

    def solve():
        short = [solver for solver in solvers_at_work if len(solver.found) < 10]
        if short:
            random.choice(short).arrive()
        for worker in [] if short else at_work(drawing=False):
            pool.end(worker)

    def draw(*, undone=False):
        if drawing := at_work(drawing=True):
            pool.end(random.choice(drawing), undone=undone)

    def hide_or_show():
        tab.view.visible = not tab.view.visible

    acts = (session.tick, solve, draw, hide_or_show, partial(draw, undone=True))
    for act in random.choices(acts, (8, 8, 5, 2, 1), k=200):
        act()
    tab.view.visible = True
    while pool.workers:
        solve()
        draw()
        session.tick()
    for _ in range(20):
        draw()
        session.tick()
    shown = {name: tab.view.panes[name].object.name for name in PATH_PLOTS}
    assert {*shown.values()} == {"[10, 10, 10]"}
    assert computed == {**shown, "path-weights": "[10, 10, 10]"}


@pytest.mark.slow
def test_the_plots_of_a_quick_path_on_an_own_file_end_at_the_final_data(session, tmp_path, wait_until):
    """Thirty solutions are found before the first plot is drawn; the tab is hidden and shown meanwhile."""
    rng, file = np.random.default_rng(0), tmp_path / "few.svm"
    rows = [" ".join(f"{j}:{x:.3f}" for j, x in enumerate(row, 1)) for row in rng.normal(size=(40, 3))]
    file.write_text("".join(f"{k % 2} {row}\n" for k, row in enumerate(rows)))
    id = datasets.own_id(str(file))
    few = solvers.make_problem(datasets.load(id), loss="logistic", penalty="l1")
    small = Recipe(id, loss="logistic", penalty="l1")
    chosen = tuple(Entrant(id, id) for id in ("fista-ls", "prox-qn", "owl-qn"))
    tab = PathPanel(fake_page(session, Experiment(small, chosen, PAGE_LIMITS), few))
    session.watchers.append(tab)
    tab.press()

    def walked() -> bool:
        tab.view.visible = bool(rng.integers(3))
        session.tick()
        return not (tab.alive or tab.view.drawing) and bool(tab.view.traces)

    wait_until(walked)
    tab.view.visible = True
    finish(session, tab, wait_until)
    assert len(tab.view.traces) == 30
    for name in ("path-accuracy", "path-nnz", "path-seconds"):
        dots = [r.data_source.data["x"] for r in glyphs(tab.view.panes[name].object, Scatter)]
        assert [len(x) for x in dots] == [10, 10, 10]
