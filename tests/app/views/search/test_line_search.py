"""The line search of every solver that searches, along whatever path it does."""

from __future__ import annotations

import functools
import gc
from weakref import ref

import numpy as np
import panel as pn
import pytest

from solverscope import datasets, solvers
from solverscope.app import ui
from solverscope.app.ui.material_ui import pmui
from solverscope.app.views import LineSearch
from solverscope.app.views.base.cursor import Cursor
from solverscope.app.views.search import line_search as module
from solverscope.solvers import LINE, WEIGHTS, Run, Stopping, Trace
from solverscope.solvers.probes import search_lines as lines
from tests.app.helpers import hint, in_sight, said
from tests.solvers.helpers import HOUSE, MAKERS

#: Solvers whose searches are those of single rows of W, many in an iterate.
BY_ROWS = {"bcd-ls", "crf-bcd"}
#: Of the runs here: a trace keeps no problem.
PROBLEMS: list[solvers.Problem] = []


@functools.cache
def run(id: str) -> Trace:
    """The solver's first twelve iterates on a small problem that fits it."""
    for kind, make in MAKERS.items():
        for loss in solvers.losses_for(kind):
            for penalty in ("l1", "l1-l2", "l2"):
                if id in solvers.compatible(loss=loss, penalty=penalty):
                    ratio = {"lam": 0.01} if penalty == "l2" else {"lam_ratio": 0.05}
                    problem = solvers.make_problem(make(), loss=loss, penalty=penalty, **ratio)
                    limit = Stopping(max_iter=12)
                    PROBLEMS.append(problem)
                    made = Run(problem, solvers.make_solver(id), stopping=limit, probes=(LINE,))
                    return made.execute()
    raise AssertionError(f"no problem fits {id}")


@pytest.mark.quick("owl-qn", "sublbfgs", "prox-qn", "bcd-ls")
@pytest.mark.parametrize("id", HOUSE)
def test_whoever_records_trials_shows_them(id):
    trace = run(id)
    searched = trace.iteration[trace.ls_trials > 0]
    view = LineSearch(trace, Cursor(run=trace, follow=False))
    assert view.has_content() == (len(searched) > 0)
    for k in searched:
        view.cursor.place(trace, int(k))
        data = view.figures.sources["trials"].data
        row = int(np.searchsorted(trace.iteration, k))
        shown, counted = len(data["t"]), int(trace.ls_trials[row])
        assert shown <= counted if id in BY_ROWS else shown == counted
        seen = trace.probes.last("line", int(k))[1]
        if trace.ls_kind[row] == "armijo":
            assert (np.diff(data["t"]) < 0).all(), "a search that backtracks tries shorter and shorter steps"
        rounding = 1e-9 * max(1.0, abs(float(trace.objective[row])))
        assert data["phi"][-1] <= seen["allowed"][-1] - seen["start"][0] + rounding, "it is below the rule"
        assert data["alpha"].tolist() == [0.0] * (shown - 1) + [1.0]
        if seen["straight"]:
            assert len(view.figures.sources["curve"].data["t"]) > 8
        else:
            joined, rule = (view.figures.sources[name].data for name in ("joined", "rule"))
            order = np.argsort(data["t"])
            np.testing.assert_array_equal(joined["t"][1:], data["t"][order])
            np.testing.assert_array_equal(joined["phi"][1:], data["phi"][order])
            np.testing.assert_allclose(rule["phi"][1:], (seen["allowed"] - seen["start"][0])[order])
        if id not in BY_ROWS:
            assert data["t"][-1] == pytest.approx(trace.step[row])
            assert trace.objective[row] == pytest.approx(float(seen["phi"][-1]), rel=1e-12)


def test_the_registry_has_solvers_that_search_along_every_kind_of_path():
    searching = {id for id in HOUSE if (run(id).ls_trials > 0).any()}
    assert searching >= {"prox-qn", "owl-qn", "prox-gd", "fista-ls", "sparsa", "bcd-ls", "crf-bcd"}


@pytest.mark.parametrize("id", sorted(BY_ROWS))
def test_of_the_searches_of_a_pass_the_longest_is_shown_and_its_row_named(id):
    trace = run(id)
    k = int(trace.iteration[np.argmax(trace.ls_trials)])
    view = LineSearch(trace, Cursor(run=trace, iteration=k, follow=False))
    row = int(trace.probes.last("line", k)[1]["block"])
    assert 0 <= row <= trace.info.problem["n_features"]
    name = "transitions" if row == trace.info.problem["n_features"] else trace.names.feature(row)
    assert name in said(view)
    assert "longest" in said(view)


@pytest.fixture(scope="module")
def problem() -> solvers.Problem:
    """Pairs scaled as in the paper make long steps, and many searches that back off."""
    return solvers.make_problem(
        datasets.load("breast-cancer"), loss="logistic", penalty="l1", lam_ratio=0.003
    )


@pytest.fixture(scope="module")
def observed(problem) -> Trace:
    solver = solvers.make_solver("prox-qn", gamma="ys/ss", memory=3)
    return Run(problem, solver, stopping=Stopping(max_iter=40), probes=(LINE, WEIGHTS)).execute()


def lab(trace: Trace, k: int | None = None, **params) -> LineSearch:
    """The view at an iteration, by default at that of the longest search."""
    k = int(trace.iteration[np.argmax(trace.ls_trials)]) if k is None else k
    return LineSearch(trace, Cursor(run=trace, iteration=k, follow=False), **params)


def knobs(view: LineSearch) -> list[pmui.DiscreteSlider]:
    """The sliders of σ, β, c₁ and c₂."""
    return pn.panel(view).select(pmui.DiscreteSlider)


def button(view: LineSearch) -> pmui.Button:
    return pn.panel(view).select(pmui.Button)[0]


def model(view: LineSearch) -> pmui.Checkbox:
    """The choice of the solver's model."""
    return pn.panel(view).select(pmui.Checkbox)[0]


def at(view: LineSearch, name: str) -> dict[str, np.ndarray]:
    return {key: np.asarray(column) for key, column in view.figures.sources[name].data.items()}


def ends(trace: Trace, k: int) -> tuple[np.ndarray, np.ndarray]:
    """w at the iterate before the k-th, and the direction of the step that led on from there."""
    found = []
    for at_k in (k - 1, k):
        seen = trace.probes.last("weights", at_k)[1]
        w = np.zeros(int(seen["size"]))
        w[seen["indices"]] = seen["values"]
        found.append(w)
    return found[0], (found[1] - found[0]) / trace.step[k]


def test_the_curve_is_the_objective_along_the_direction(problem, observed):
    for k in (1, 7, 20, int(observed.iteration[np.argmax(observed.ls_trials)])):
        view = lab(observed, k)
        w, d = ends(observed, k)
        f, curve = observed.objective[k - 1], at(view, "curve")
        assert curve["t"].size > 60
        assert curve["t"][0] < 0.0 < 1.0 < curve["t"][-1]
        for t, phi in zip(curve["t"][::5], curve["phi"][::5], strict=True):
            assert phi + f == pytest.approx(problem.at(w + t * d).objective, rel=1e-9)
        tried = at(view, "trials")
        on_curve = np.searchsorted(curve["t"], tried["t"])
        np.testing.assert_array_equal(curve["t"][on_curve], tried["t"])
        np.testing.assert_allclose(curve["phi"][on_curve], tried["phi"], rtol=1e-9, atol=1e-12 * abs(f))


def test_the_slopes_are_the_differences_of_the_objective_on_both_sides_of_a_kink(problem, observed):
    k = 5
    view = lab(observed, k)
    w, d = ends(observed, k)
    slopes, h = at(view, "slopes"), 1e-6
    assert (np.diff(slopes["t"]) >= 0.0).all()
    assert (np.diff(slopes["slope"]) >= -1e-9 * np.abs(slopes["slope"]).max()).all(), "φ is convex"

    def difference(t, side):
        return side * (problem.at(w + (t + side * h) * d).objective - problem.at(w + t * d).objective) / h

    for t in np.unique(slopes["t"])[::6]:
        here = slopes["slope"][slopes["t"] == t]
        assert here[0] == pytest.approx(difference(t, -1), rel=1e-3, abs=1e-6)
        assert here[-1] == pytest.approx(difference(t, 1), rel=1e-3, abs=1e-6)


def backtracked(phi, f, promised, sigma, beta):
    """Armijo's rule by the book: the step accepted and the trials it took."""
    for n in range(30):
        t = beta**n
        if phi(t) <= f + sigma * t * promised:
            return t, n + 1
    return 0.0, 30


def test_other_parameters_accept_the_step_that_a_search_of_ones_own_accepts(problem, observed):
    view = lab(observed)
    k = view.cursor.iteration
    assert observed.ls_trials[k] > 2
    w, d = ends(observed, k)
    promised, f = float(observed.probes.last("line", k)[1]["promised"]), observed.objective[k - 1]
    steps = set()
    for sigma, beta in ((0.01, 0.5), (0.5, 0.5), (0.9, 0.5), (0.9, 0.8), (0.01, 0.2), (1e-4, 0.5)):
        view.param.update(sigma=sigma, beta=beta)
        t, tried = backtracked(lambda t: problem.at(w + t * d).objective, f, promised, sigma, beta)
        assert at(view, "by_armijo")["t"] == pytest.approx(t)
        assert f"accepts t = {ui.number(t)} after {tried} trial" in said(view)
        rule = at(view, "rule")
        np.testing.assert_allclose(rule["phi"], sigma * promised * rule["t"], rtol=1e-12)
        steps.add(round(t, 12))
    assert len(steps) > 3


def test_the_sliders_begin_with_the_parameters_of_the_run(problem, observed):
    view = lab(observed)
    solver = solvers.make_solver("prox-qn")
    assert (view.sigma, view.beta) == (solver.sigma, solver.beta)
    found = at(view, "by_armijo")["t"], at(view, "trials")["t"][-1]
    assert found[0] == found[1], "with them the rule takes what it took"
    other = solvers.solve(
        problem, solvers.make_solver("prox-qn", sigma=0.123, beta=0.7), max_iter=3, probes=(LINE,)
    )
    view.show([observed, other])
    view.cursor.place(other, 2)
    assert (view.sigma, view.beta) == (0.123, 0.7)
    assert tuple(knob.value for knob in knobs(view)[:2]) == (0.123, 0.7)


def test_steps_that_both_wolfe_conditions_allow_are_marked_and_one_of_them_is_taken(problem, observed):
    view = lab(observed)
    k = view.cursor.iteration
    w, d = ends(observed, k)
    f, h = observed.objective[k - 1], 1e-7
    slope0 = problem.line(problem.at(w), d).slope(0.0)

    def holds(t, c1, c2):
        here, ahead = (problem.at(w + s * d).objective for s in (t, t + h))
        return here <= f + c1 * t * slope0 + 1e-15 and (ahead - here) / h >= c2 * slope0

    for c1, c2 in ((1e-4, 0.9), (0.3, 0.9), (1e-4, 0.2), (0.1, 0.2)):
        view.param.update(c1=c1, c2=c2)
        allowed, taken = at(view, "wolfe")["t"], float(at(view, "by_wolfe")["t"][0])
        lo, hi = allowed[0], allowed[-1]
        assert lo <= taken <= hi
        width, away = hi - lo, 0.06 * at(view, "curve")["t"][-1]
        assert holds(lo + 0.3 * width, c1, c2)
        assert holds(hi - 0.3 * width, c1, c2)
        assert not holds(hi + away, c1, c2)
        assert lo < away or not holds(lo - away, c1, c2)
    cone = at(view, "cone")
    np.testing.assert_allclose(cone["phi"][1:], slope0 * np.array([0.1, 0.2]) * cone["t"][1])


def test_zooming_in_shows_what_is_next_to_the_accepted_step(problem, observed):
    view = lab(observed)
    k = view.cursor.iteration
    whole = at(view, "curve")["t"]
    view.zoomed = True
    near = at(view, "curve")
    assert near["t"][0] < observed.step[k] < near["t"][-1]
    assert np.ptp(near["t"]) < 0.7 * np.ptp(whole)
    assert near["t"].size > 60
    assert "near the accepted step" in view.figures.phi.xaxis[0].axis_label
    assert button(view).label == "Show the whole search"
    view.zoomed = False
    np.testing.assert_array_equal(at(view, "curve")["t"][[0, -1]], whole[[0, -1]])


@pytest.mark.parametrize("id", ["owl-qn", "prox-gd", "crf-bcd"])
def test_a_path_that_is_no_line_has_its_trials_and_a_sentence(id):
    view = lab(run(id))
    assert at(view, "trials")["t"].size
    assert not at(view, "curve")["t"].size
    assert "trials are drawn" in said(view)
    assert "accepts" not in said(view)
    assert all(knob.disabled for knob in knobs(view))
    assert "line-search-slope" not in {plot.name for plot in in_sight(view)}


def test_what_cannot_be_rebuilt_is_said(monkeypatch, problem, observed, again):
    with monkeypatch.context() as patch:
        patch.setattr(lines, "MOST_ENTRIES", 1)
        trace = solvers.solve(problem, solvers.make_solver("prox-qn"), max_iter=3, probes=(LINE,))
    view = lab(trace)
    assert "too large to be kept" in said(view)
    read = again(observed)
    view.show([read])
    view.cursor.place(read, 7)
    assert "not in memory" in said(view)
    assert at(view, "trials")["t"].size
    view.show([observed])
    view.cursor.place(observed, 7)
    assert at(view, "curve")["t"].size
    assert "drawn" not in said(view)


class Later:
    """Work that a page would do in its pool, done when the test says so."""

    def __init__(self) -> None:
        self.asked: list = []

    def __call__(self, work, then) -> None:
        self.asked.append((work, then))

    def answer(self) -> None:
        work, then = self.asked.pop(0)
        then(work(lambda: None))


def test_what_takes_long_is_computed_later_and_the_trials_are_there_at_once(observed, monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE_SECONDS", 0.0)
    later = Later()
    view = lab(observed, 7, later=later)
    assert len(later.asked) == 1
    assert at(view, "trials")["t"].size
    assert not at(view, "curve")["t"].size
    view.cursor.iteration = 9
    view.sigma = 0.3
    assert len(later.asked) == 1, "one thing at a time"
    later.answer()
    assert not at(view, "curve")["t"].size, "what is no longer asked for is not drawn"
    assert len(later.asked) == 1
    later.answer()
    assert not later.asked
    assert at(view, "curve")["t"].size
    assert "σ = 0.3" in said(view)
    assert "iteration 9" in said(view)


def test_once_it_is_known_to_be_quick_it_is_computed_at_once(observed, monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE_SECONDS", 100.0)
    later = Later()
    view = lab(observed, 7, later=later)
    later.answer()
    view.cursor.iteration = 12
    view.beta = 0.8
    assert not later.asked
    assert "iteration 12" in said(view)
    assert "β = 0.8" in said(view)
    assert at(view, "curve")["t"].size


def test_while_the_cursor_follows_a_run_a_picture_stays_until_the_next_is_complete(observed, monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE_SECONDS", 0.0)
    later = Later()
    view = LineSearch(observed, Cursor(run=observed, iteration=7), later=later)
    k = view.cursor.iteration
    later.answer()
    assert at(view, "curve")["t"].size
    view.cursor.keeping_up = True
    view.cursor.iteration = k - 5
    view.draw()
    assert at(view, "curve")["t"].size
    assert f"iteration {k}" in said(view)
    later.answer()
    assert f"iteration {k - 5}:" in said(view)


def test_what_fails_is_said_and_the_trials_stay(observed):
    later = Later()
    view = lab(observed, 7, later=later)
    _, then = later.asked.pop()
    then(None)
    assert "could not be computed" in said(view)
    assert at(view, "trials")["t"].size
    view.cursor.iteration = 8
    later.answer()
    assert at(view, "curve")["t"].size


def test_where_the_solver_gives_no_model_of_f_the_choice_says_so(observed):
    view = lab(observed)
    assert model(view).disabled
    assert model(view).label == "Model of f: this solver has none"
    other = lab(run("sublbfgs"), 1)
    assert (model(other).disabled, model(other).label) == (False, "Model of f")


def test_a_hidden_lab_computes_nothing(observed):
    later = Later()
    view = lab(observed, 7, later=later, visible=False)
    view.cursor.iteration = 9
    view.sigma = 0.3
    assert not later.asked
    view.visible = True
    assert len(later.asked) == 1


def test_the_lab_keeps_no_run_and_no_problem_in_memory(problem):
    copy = problem.at_lam(0.5 * problem.lam)
    trace = solvers.solve(copy, solvers.make_solver("prox-qn"), max_iter=3, probes=(LINE,))
    view = LineSearch([trace], Cursor())
    view.cursor.place(trace, 2)
    assert at(view, "curve")["t"].size
    gone = ref(copy), ref(trace)
    del copy, trace
    view.show([])
    view.cursor.run = None
    gc.collect()
    assert [each() for each in gone] == [None, None]


@pytest.mark.parametrize("solver", ["anderson-bcd", "fista-cst"])
def test_of_a_solver_without_searches_f_is_drawn_along_its_step(small_problem, solver):
    trace = solvers.solve(small_problem, solver, max_iter=6, probes=LineSearch.probes)
    view = lab(trace, 4)
    assert "tells no line search: f along its step from iterate 3 (t = 0) to iterate 4" in said(view)
    curve, f = at(view, "curve"), dict(zip(trace.iteration.tolist(), trace.objective.tolist(), strict=True))
    assert np.interp([0.0, 1.0], curve["t"], curve["phi"]) == pytest.approx([0.0, f[4] - f[3]], abs=1e-12)
    view.cursor.place(trace, 0)
    assert "from iterate 0 (t = 0) to iterate 1" in said(view), "there is no step to the first"


def test_without_the_weights_of_iterates_the_view_says_what_to_observe(small_problem):
    trace = solvers.solve(small_problem, "fista-cst", max_iter=3)
    assert "probes=[solvers.LINE, solvers.SUPPORT, solvers.WIDE]" in hint(lab(trace, 1))
