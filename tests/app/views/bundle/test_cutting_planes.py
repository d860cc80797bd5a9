"""The bundle view draws the cuts that the solver had: below the function, with their weights and bounds."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.app.views import Bundle, Cursor, Playground
from solverscope.app.views.bundle import cut_section as section_module
from solverscope.app.views.bundle.cut_section import CutSection
from solverscope.app.views.bundle.cut_weights import MAX_IMAGE_LINES, first_seen, picture
from solverscope.solvers import CUTS, PLANE, Run, Stopping, Trace
from solverscope.solvers.probes import cut_models as cuts_module
from tests.app.helpers import curves, drawn, hint, lines, said
from tests.solvers.helpers import toy_problem

RIDGE = {"penalty": "l2", "lam": 0.5}
TOYS = {
    "line": {"pieces": "0.5x^2-x; -2x-1; x^2-3", "start": "3,0", **RIDGE},
    "plane": {"pieces": "x^2+0.5y^2+0.5xy; 2x+y", "start": "2,1.5", **RIDGE},
}


@functools.cache
def run(name: str, id: str, most: int = 40, **params: float) -> Trace:
    solver = solvers.make_solver(id, **params)
    stopping = Stopping(tol=1e-6, max_iter=most)
    return Run(toy_problem(**TOYS[name]), solver, label=id, stopping=stopping, probes=(CUTS, PLANE)).execute()


def at(trace: Trace, iteration: int) -> Cursor:
    cursor = Cursor()
    cursor.place(trace, iteration)
    return cursor


def columns(view: CutSection, name: str) -> np.ndarray:
    data = view.sources[name].data
    return np.stack([data["t"], data["f"]])


def straight_ends(view: CutSection) -> np.ndarray:
    """The ends of the line that is drawn."""
    return section_module.drawn_ends(view.chosen, view.along, view.cursor.iteration)


def straight(view: CutSection) -> tuple[np.ndarray, np.ndarray]:
    """The line w + t d that is drawn."""
    t, (first, last) = columns(view, "curve")[0], straight_ends(view)
    d = (last - first) / (t[-1] - t[0])
    return first - t[0] * d, d


@pytest.mark.quick("plane-ls-bmrm-f-start", "line-bmrm-L-next")
@pytest.mark.parametrize("along", ["start", "next"])
@pytest.mark.parametrize("shown", ["f", "L"])
@pytest.mark.parametrize(("name", "id"), [("line", "bmrm"), ("line", "ls-bmrm"), ("plane", "ls-bmrm")])
def test_the_model_on_the_line_is_below_the_function_and_touches_it_where_it_was_cut(name, id, shown, along):
    trace, problem = run(name, id), toy_problem(**TOYS[name])
    view = CutSection([trace], at(trace, 0), along=along, shown=shown)
    heights = []
    for k in range(len(trace)):
        view.cursor.place(trace, k)
        t, f = columns(view, "curve")
        w, d = straight(view)
        points = [problem.at(w + x * d) for x in t]
        expected = np.array([p.objective if shown == "f" else p.loss for p in points])
        np.testing.assert_allclose(f, expected, rtol=1e-9, atol=1e-9)
        _, model = columns(view, "model")
        assert (model <= f + 1e-7).all()
        heights.append(model)
        drawn = [
            np.nanmax(columns(view, s)[1]) for s in ("carrying", "idle", "newest") if columns(view, s).size
        ]
        assert max(drawn) <= f.max() + 1e-7
    if along == "start":  # the line stays while the cursor moves, so that the model is seen to grow
        assert (np.diff(heights, axis=0) >= -1e-9).all()
        w, d = straight(view)
        assert w == pytest.approx(problem.start)
        assert problem.at(w + d).objective == pytest.approx(trace.objective[-1])


def test_every_cut_is_drawn_once_and_those_with_weight_apart():
    trace = run("line", "bmrm")
    view = CutSection([trace], at(trace, 6))
    _, seen = trace.probes.last("cuts", 6)
    newest = np.argmax(seen["numbers"])
    carrying = np.delete(seen["alpha"] > 1e-9, newest).sum()
    gaps = {name: int(np.isnan(columns(view, name)[1]).sum()) for name in ("carrying", "idle")}
    assert gaps == {"carrying": carrying, "idle": len(seen["numbers"]) - 1 - carrying}


def test_the_minimum_of_the_model_and_the_best_point_are_marked_where_they_are():
    trace, problem = run("line", "ls-bmrm"), toy_problem(**TOYS["line"])
    view = CutSection([trace], at(trace, 3), along="next")
    _, seen = trace.probes.last("cuts", 3)
    np.testing.assert_allclose(columns(view, "here")[:, 0], [0.0, trace.objective[3]], atol=1e-9)
    np.testing.assert_allclose(columns(view, "low")[:, 0], [1.0, float(seen["bound"])], atol=1e-9)
    assert lines(view.figure)[0].location == float(seen["bound"]) <= problem.at(trace.w).objective


def test_the_curve_of_a_large_problem_is_computed_later_and_the_picture_before_stays(monkeypatch):
    monkeypatch.setattr(section_module, "MAX_INLINE_WEIGHTS", 1)
    trace, waiting = run("line", "bmrm"), []
    view = CutSection([trace], at(trace, 3), along="next", later=lambda *work: waiting.append(work))
    assert not columns(view, "curve").size
    view.cursor.place(trace, 4)
    assert len(waiting) == 1, "one at a time"
    work, then = waiting.pop()
    then(work(lambda: None))
    assert len(waiting) == 1, "what is wanted by now"
    assert not columns(view, "curve").size
    work, then = waiting.pop()
    then(work(lambda: None))
    assert columns(view, "curve").size
    assert not waiting


def test_a_curve_that_comes_when_the_cursor_has_left_for_a_run_without_cuts_is_not_drawn(monkeypatch):
    monkeypatch.setattr(section_module, "MAX_INLINE_WEIGHTS", 1)
    trace, other, waiting = run("line", "bmrm"), run("line", "subbfgs"), []
    cursor = at(trace, 3)
    view = CutSection([trace, other], cursor, along="next", later=lambda *work: waiting.append(work))
    cursor.place(other, 1)
    ((work, then),) = waiting
    then(work(lambda: None))
    assert "Run a bundle method" in hint(view)


def test_of_many_weights_no_section_is_drawn_and_it_says_why(monkeypatch):
    monkeypatch.setattr(cuts_module, "MAX_CUT_WEIGHTS", 1)
    trace = Run(
        toy_problem(**TOYS["line"]),
        solvers.make_solver("bmrm"),
        stopping=Stopping(max_iter=4),
        probes=(CUTS,),
    )
    view = Bundle([trace.execute()])
    assert not view.section.has_content()
    assert "too many weights" in hint(view.section)
    assert view.weights.has_content()


def test_the_picture_has_a_line_a_cut_that_begins_where_the_cut_was_made():
    trace = run("line", "bmrm")
    entries = trace.probes.entries("cuts")
    image, width, each = picture(entries)
    assert (width, each) == (1, 1)
    assert image.shape == (len(entries), len(entries))
    for k, seen in entries:
        np.testing.assert_allclose(image[seen["numbers"], k], seen["alpha"], rtol=1e-6)
        assert np.isnan(image[k + 1 :, k]).all(), "not made yet"
    assert np.nansum(image, axis=0) == pytest.approx(np.ones(len(entries)), rel=1e-5)


def test_where_another_method_goes_first_the_picture_begins_with_the_cuts():
    problem = solvers.make_problem(
        datasets.load("breast-cancer"), loss="binary-hinge", penalty="l2", lam=1e-2
    )
    solver = solvers.make_solver("ls-bmrm", warm="sublbfgs")
    trace = Run(problem, solver, label="warm", stopping=Stopping(max_iter=60), probes=(CUTS,)).execute()
    entries = trace.probes.entries("cuts")
    first = entries[0][0]
    assert first > 0
    image, width, _ = picture(entries)
    assert width == 1
    assert np.isnan(image[:, :first]).all()
    assert np.isfinite(image[:, first]).sum() == len(entries[0][1]["numbers"])


def test_dropped_cuts_end_and_what_combines_them_is_marked_and_said():
    problem = solvers.make_problem(
        datasets.load("breast-cancer"), loss="binary-hinge", penalty="l2", lam=1e-2
    )
    solver = solvers.make_solver("bmrm", max_cuts=2)
    trace = Run(problem, solver, label="bmrm", stopping=Stopping(max_iter=200), probes=(CUTS,)).execute()
    entries = trace.probes.entries("cuts")
    last = entries[-1][1]
    dropped = int(last["numbers"].max()) + 1 - len(last["numbers"])
    image, _, _ = picture(entries)
    assert np.isnan(image[:, -1]).sum() == dropped > 0
    view = Bundle([trace], at(trace, entries[-1][0]))
    assert f"{dropped} inactive cuts were dropped" in said(view)
    born = first_seen(entries)
    assert len(born["cut"]) > 0
    assert drawn(view.weights.figure, "cut").data["cut"].tolist() == born["cut"].tolist()
    for k, cut in zip(born["iteration"], born["cut"], strict=True):
        assert trace.probes.last("cuts", int(k))[1]["alpha"][-1] == 1.0, f"cut {cut} stands for all"


def test_many_cuts_share_lines_with_the_largest_weight_and_many_iterations_columns():
    def seen(k):
        numbers = np.arange(max(k - 300, 0), k + 1)
        alpha = np.zeros(numbers.size)
        alpha[-1] = 1.0
        return {"numbers": numbers, "alpha": alpha, "combined": np.zeros(numbers.size, dtype=bool)}

    image, width, each = picture([(k, seen(k)) for k in range(1000)])
    assert image.shape[0] <= MAX_IMAGE_LINES
    assert (width, each) == (4, 5)
    for column in range(image.shape[1]):
        newest = min(column * width + width - 1, 999)
        assert image[newest // each, column] == 1.0
        assert np.nanmax(np.delete(image[:, column], newest // each), initial=0.0) == 0.0


def test_the_bounds_are_the_best_value_and_what_the_gap_leaves_of_it():
    traces = [run("line", id) for id in ("bmrm", "ls-bmrm")]
    view = Bundle(traces, at(traces[0], 4), x="iteration")
    for curve, trace in zip(curves(view.bounds.figure), traces, strict=True):
        data = curve.data
        np.testing.assert_allclose(data["y"], trace.objective, rtol=1e-6)
        np.testing.assert_allclose(data["bound"], trace.objective - trace.dual_gap, rtol=1e-5)
        assert (data["bound"] <= data["y"]).all()


def test_the_sentence_counts_cuts_and_tells_what_is_proved():
    trace = run("line", "bmrm")
    view = Bundle([trace], at(trace, 4))
    _, seen = trace.probes.last("cuts", 4)
    assert "<b>bmrm</b> at iteration 4: 5 cuts, 2 active." in said(view)
    assert float(seen["bound"]) == pytest.approx(-0.911785, abs=1e-5)
    assert "lower bound of f* is −0.91178" in said(view)


def test_a_run_without_cuts_has_a_hint():
    trace = run("line", "sublbfgs")
    view = Bundle([trace])
    assert not view.has_content()
    assert "Run a bundle method" in hint(view)


def test_the_playground_draws_the_line_of_a_bundle_run_in_its_plane():
    bundle, other = run("plane", "ls-bmrm"), run("plane", "sublbfgs")
    view = Playground([bundle, other], at(bundle, 3))
    line = view.plane.sources["line"]
    ends = np.stack([line.data["across"], line.data["up"]], axis=1)
    np.testing.assert_allclose(ends, straight_ends(CutSection([bundle], at(bundle, 3))))
    view.cursor.place(other, 1)
    assert [len(column) for column in line.data.values()] == [0, 0]
