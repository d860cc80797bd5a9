"""The playground draws what the runs did, what their solvers saw, and the function as it is."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from bokeh.events import RangesUpdate

from solverscope import datasets, solvers
from solverscope.app.views import Cursor, Playground
from solverscope.app.views.playground.playground_landscape import Landscape, Window
from solverscope.app.views.playground.playground_marks import PlaneMarks
from solverscope.solvers import PLANE, Iterate, Run, Stopping, Trace
from tests.app.helpers import click, curves, happen, said, text
from tests.solvers.helpers import toy_problem

TOYS = ("toy-abs", "toy-wolfe", "toy-hull", "toy-lewis-overton")
OWN = {"pieces": "2x+y; -2x+y; 0.5x^2+y^2-2; x^2-0.5xy+0.5y^2"}
EXACT = {"line_search": "exact"}
#: Runs by label: solver and hyper-parameters.
RUNS = {
    "gd": ("gd", {}),
    "subgd": ("subgd", {}),
    "bfgs": ("bfgs", EXACT),
    "inexact": ("bfgs", {"line_search": "ils"}),
    "subbfgs": ("subbfgs", {}),
    "sublbfgs": ("sublbfgs", {}),
}
HERE = Window(-2.0, 2.0, -1.5, 1.5)


@functools.cache
def run(toy: str, label: str) -> Trace:
    id, params = RUNS[label]
    solver = solvers.make_solver(id, **params)
    made = Run(toy_problem(toy), solver, label=label, stopping=Stopping(max_iter=30), probes=(PLANE,))
    return made.execute()


def view_of(*traces: Trace, **more) -> Playground:
    """With a cursor that follows the first run."""
    cursor = Cursor()
    cursor.choose(traces[0], follow=True)
    cursor.keep_up(traces)
    return Playground(list(traces), cursor, **more)


def trajectories(view: Playground) -> dict[str, np.ndarray]:
    """What is drawn of each run: (x, y) by its label."""
    found = {}
    for curve in view.plane.curves.values():
        data = curve.feed.source.data
        if len(data["x"]):
            found[curve.renderers[-1].name] = np.stack([data["x"], data["y"]], axis=1)
    return found


def ends(source) -> np.ndarray:
    return np.stack([source.data["x1"], source.data["y1"]], axis=1)


def test_it_is_made_for_functions_of_two_variables_alone(small_problem):
    assert all(Playground.suits(toy_problem(id)) for id in (*TOYS, "toy"))
    assert not Playground.suits(small_problem)


@pytest.mark.quick("toy-abs", "toy-lewis-overton")
@pytest.mark.parametrize("toy", TOYS)
def test_the_trajectories_are_the_weights_of_the_iterates(toy):
    view = view_of(*(run(toy, label) for label in RUNS))
    for label, (id, params) in RUNS.items():
        iterates = solvers.make_solver(id, **params).iterate(toy_problem(toy))
        w = [it.w.copy() for it, _ in zip(iterates, range(31), strict=False)]
        np.testing.assert_array_equal(trajectories(view)[label], w)
    heads = np.stack([view.plane.sources["here"].data["x"], view.plane.sources["here"].data["y"]], axis=1)
    np.testing.assert_array_equal(heads, [run(toy, label).w for label in RUNS])


def test_all_runs_are_drawn_up_to_the_cursor():
    traces = [run("toy-abs", label) for label in ("bfgs", "subbfgs", "inexact")]
    view = view_of(*traces)
    assert {label: len(path) for label, path in trajectories(view).items()} == {
        trace.info.label: len(trace) for trace in traces
    }
    view.cursor.place(traces[2], 1)
    assert {len(path) for path in trajectories(view).values()} == {2}
    view.cursor.place(traces[0], 1)
    assert len(trajectories(view)["inexact"]) == len(traces[2]), "it is at the end of its run"
    view.cursor.place(traces[2], 5)
    assert len(trajectories(view)["inexact"]) == 6
    view.show(traces[:2])
    assert set(trajectories(view)) == {"bfgs", "subbfgs"}


def test_a_solver_that_gives_its_weights_alone_has_a_trajectory_and_no_direction():
    @dataclass(frozen=True)
    class Circling(solvers.Solver):
        id, name, summary, needs = "circling", "Circling", "goes round", solvers.Trait.DIRECTIONAL_DERIVATIVE

        def iterate(self, problem, w0=None):
            for k in range(8):
                yield Iterate(k, w=np.array([math.cos(k), math.sin(k)]))

    trace = Run(toy_problem("toy-abs"), Circling(), probes=(PLANE,)).execute()
    view = view_of(trace)
    assert len(trajectories(view)["circling"]) == 8
    assert (
        len(ends(view.plane.sources["direction"])) == len(view.plane.sources["ellipse"].data["across"]) == 0
    )
    np.testing.assert_allclose(view.plane.sources["subgradients"].data["x0"], [trace.w[0]])
    assert "The gradient is (10, 1)" in said(view)


@pytest.mark.parametrize(
    ("toy", "label", "k", "vertices"),
    [
        ("toy-abs", "bfgs", 1, [(-10.0, 1.0), (10.0, 1.0)]),
        ("toy-abs", "subbfgs", 1, [(-10.0, 1.0), (10.0, 1.0)]),
        ("toy-hull", "subgd", 1, [(-5.0, 2.0), (-2.0, 3.0)]),
        ("toy-lewis-overton", "bfgs", 1, [(-2.0, 1.0), (2.0, 1.0)]),
        ("toy-wolfe", "gd", 0, [(90 / math.sqrt(52), 80 / math.sqrt(52))]),
    ],
)
def test_the_arrows_are_the_subgradients_and_the_direction_of_the_solver(toy, label, k, vertices):
    trace = run(toy, label)
    view = view_of(trace)
    view.cursor.place(trace, k)
    w = trajectories(view)[label][-1]
    arrows, size = ends(view.plane.sources["subgradients"]) - w, view.window.size
    assert np.linalg.norm(arrows, axis=1).max() == pytest.approx(0.28 * size)
    drawn = arrows * np.linalg.norm(vertices, axis=1).max() / (0.28 * size)
    np.testing.assert_allclose(drawn[np.lexsort(drawn.T[::-1])], vertices, rtol=1e-9)

    seen = trace.probes.last("plane", k)[1]
    p, g = seen["p"], seen["combination"]
    np.testing.assert_allclose(seen["shares"] @ seen["met"], g, atol=1e-12)
    np.testing.assert_allclose(p, -seen["B"] @ g, rtol=1e-12, atol=1e-12)
    (tip,) = ends(view.plane.sources["direction"]) - w
    np.testing.assert_allclose(tip, 0.28 * size * p / np.linalg.norm(p), rtol=1e-12, atol=1e-15)
    slope = toy_problem(toy).line(toy_problem(toy).at(w), p).slope()
    falls = "falls" if slope < 0 else "rises"
    assert f"along it f {falls}, with slope" in said(view)
    assert PlaneMarks(seen, toy_problem(toy)).slope == pytest.approx(slope, rel=1e-9)


@pytest.mark.parametrize(
    ("toy", "label"), [("toy-abs", "subbfgs"), ("toy-hull", "bfgs"), ("toy-hull", "subgd")]
)
def test_the_ellipse_is_that_of_b_and_the_direction_ends_on_it(toy, label):
    trace = run(toy, label)
    view = view_of(trace)
    for k in range(3):
        view.cursor.place(trace, k)
        seen = trace.probes.last("plane", k)[1]
        outline = (
            np.stack([view.plane.sources["ellipse"].data[x] for x in ("across", "up")], axis=1) - seen["w"]
        )
        forms = np.einsum("ni,ij,nj->n", outline, np.linalg.inv(seen["B"]), outline)
        np.testing.assert_allclose(forms, forms[0], rtol=1e-9)
        if len(tips := ends(view.plane.sources["direction"])):
            tip = tips[0] - seen["w"]
            assert tip @ np.linalg.inv(seen["B"]) @ tip == pytest.approx(forms[0], rel=1e-9)
            assert (outline @ seen["combination"]).min() >= tip @ seen["combination"] * (1.0 + 1e-9), "lowest"


def test_algorithm_2_is_told_in_words():
    view = view_of(run("toy-abs", "subbfgs"))
    view.cursor.place(view.traces[0], 1)
    assert "A kink, with the subgradients (−10, 1) and (10, 1)" in said(view)
    assert "Algorithm 2 combines them to ḡ = " in said(view)
    bfgs = view_of(run("toy-abs", "bfgs"))
    assert "It takes g = (" in said(bfgs)
    assert "The run ended here, stalled: " in said(bfgs)


@pytest.mark.parametrize(("id", "options"), [*((id, {}) for id in TOYS), ("toy", OWN)])
def test_contours_and_kinks_are_those_of_the_function(id, options):
    problem = toy_problem(id, **options)
    land = Landscape(problem, HERE, HERE)

    def f(x: float, y: float) -> float:
        return problem.at([x, y]).objective

    x, y = (along[np.isfinite(along)] for along in land.contours)
    assert len(x) > 500
    spread = max(f(*corner) for corner in ((-2, -1.5), (2, 1.5), (-2, 1.5), (2, -1.5))) - f(0, 0)
    rounds = np.array([f(*point) for point in zip(x[::37], y[::37], strict=True)]) / land.apart
    assert np.abs(rounds - np.rint(rounds)).max() < 0.02 * spread / land.apart
    shades, grid = land.image.astype(int), np.linspace(-2, 2, land.image.shape[1])
    row = [f(place, -1.5) for place in grid[::20]]
    order = np.argsort(row, kind="stable")
    assert (np.diff(shades[0, ::20][order]) >= 0).all(), "the darker, the higher"

    x, y = (along[np.isfinite(along)] for along in land.kinks)
    for point in np.stack([x, y], axis=1)[::23]:
        jump = 0.0
        for d in np.eye(2):  # a kink across at least one of the axes
            line = problem.line(problem.at(point - 2e-3 * d), d)
            jump = max(jump, line.slope(4e-3) - line.slope(0.0))
        assert jump > 0.1, point


@pytest.mark.parametrize(
    ("id", "on", "off"),
    [
        ("toy-abs", [(0, 1.2), (0, -1.2), (1.7, 0), (-1.7, 0), (0, 0)], [(1, 1)]),
        ("toy-wolfe", [(-1.5, 0), (-0.1, 0)], [(1, 0), (1, 1), (1, -1), (0.5, 0.5)]),
        ("toy-hull", [(0, 1), (0, -1), (0.4, 1.2), (-0.4, 1.2)], [(0.4, -1.2), (1, 0)]),
        ("toy-lewis-overton", [(0, -1), (1, 1), (-1, 1), (0, 0)], [(0, 1), (1, 0)]),
    ],
)
def test_no_kink_is_left_out_and_none_is_drawn_where_f_is_smooth(id, on, off):
    land = Landscape(toy_problem(id), HERE, HERE)
    away = [np.nanmin(np.hypot(land.kinks[0] - x, land.kinks[1] - y)) for x, y in on + off]
    assert max(away[: len(on)]) < 0.02
    assert min(away[len(on) :]) > 0.1


def test_a_penalty_is_a_part_of_the_landscape():
    data = datasets.load("toy-lewis-overton")
    problem = solvers.make_problem(data, penalty="l1", lam=0.7)
    land = Landscape(problem, HERE, HERE)
    k = int(np.flatnonzero(np.isfinite(land.contours[0]))[50])
    level = problem.at(land.contours[:, k]).objective / land.apart
    assert level == pytest.approx(round(level), abs=0.05)
    assert np.nanmin(np.hypot(land.kinks[0] - 2.0, land.kinks[1])) < 0.02, "the axes are kinks"


def test_the_window_shows_what_is_near_the_start_and_all_on_wish():
    trace = run("toy-hull", "subbfgs")
    view = view_of(trace)
    assert trajectories(view)["subbfgs"][-1].tolist() == pytest.approx([100.0, -300.0])
    start = Window(3.0, 3.0, 9.0, 9.0)
    assert view.window.holds(start)
    assert view.window.height < 30.0
    assert view.plane.sources["extent"].data["y"] == [view.window.y0, view.window.y1]
    view.fit = "all"
    assert view.window.holds(Window(100.0, 100.0, -300.0, -300.0))
    assert view.window.holds(start)


def test_the_window_stays_when_the_cursor_moves():
    trace = run("toy-abs", "inexact")
    view = view_of(trace)
    box, drawn = view.window, view.plane.sources["image"].data
    for k in (0, 2, 7, 1):
        view.cursor.place(trace, k)
        assert view.window == box
        assert view.plane.sources["image"].data is drawn


def test_a_run_that_is_unbounded_keeps_the_window_and_has_a_ray():
    problem, trace = toy_problem("toy-lewis-overton"), run("toy-lewis-overton", "subbfgs")
    assert trace.status == "unbounded"
    view = view_of(trace)
    assert view.window.width < 60.0
    rays = view.plane.sources["rays"].data
    start, end = (np.array([rays[x][0], rays[y][0]]) for x, y in (("x0", "y0"), ("x1", "y1")))
    np.testing.assert_array_equal(start, trace.w)
    assert problem.at(end).objective < problem.at(0.5 * (start + end)).objective < trace.objective[-1]
    assert "The run ended here, unbounded" in said(view)
    view.cursor.place(trace, 0)
    assert len(view.plane.sources["rays"].data["x0"]) == 0


def zoom(view: Playground, x0: float | None, x1: float | None, y0: float, y1: float) -> None:
    """Look at a part of the plane."""
    happen(RangesUpdate(view.plane.figure, x0=x0, x1=x1, y0=y0, y1=y1))


def test_a_closer_look_is_drawn_finer_and_reset_comes_back():
    view = Playground(problem=toy_problem("toy-abs"))
    whole = view.plane.sources["image"].data["dw"][0]
    zoom(view, -0.01, 0.01, -0.008, 0.008)
    assert view.plane.sources["image"].data["dw"][0] < 0.04
    assert np.isfinite(view.plane.sources["contours"].data["across"]).sum() > 100
    drawn = view.plane.sources["image"].data
    zoom(view, -0.009, 0.011, -0.008, 0.008)
    assert view.plane.sources["image"].data is drawn, "a small move is inside of what is there"
    box = view.window
    side = 0.4 * box.width
    zoom(view, box.x0 - side, box.x1 + side, box.y0, box.y1)
    assert view.plane.sources["image"].data["dw"][0] == pytest.approx(whole)
    drawn = view.plane.sources["image"].data
    for bad in ((None, None, 0.0, 1.0), (math.nan, 1.0, 0.0, 1.0), (1.0, 0.0, 0.0, 1.0)):
        zoom(view, *bad)
        assert view.plane.sources["image"].data is drawn


def test_a_click_chooses_the_start_as_exactly_as_it_can():
    chosen = []
    view = Playground(problem=toy_problem("toy-abs"), on_option=lambda *option: chosen.append(option))
    assert "Click to choose the start" in text(view)
    click(view.plane.figure, 0.123456789, -0.5000001)
    click(view.plane.figure, None, 1.0)
    click(view.plane.figure, math.nan, 1.0)
    assert chosen == [("start", "0.12,-0.5")]
    alone = Playground(problem=toy_problem("toy-abs"))
    assert "Click" not in text(alone)
    click(alone.plane.figure, 1.0, 1.0)
    assert len(chosen) == 1


def test_the_start_and_the_objective_are_shown():
    trace = run("toy-abs", "subbfgs")
    view = view_of(trace)
    assert (view.plane.sources["start"].data["x"], view.plane.sources["start"].data["y"]) == ([1.0], [1.0])
    (objective,) = view.parts
    (curve,) = curves(objective.figure)
    np.testing.assert_allclose(curve.data["y"], trace.objective, rtol=1e-6)
    np.testing.assert_allclose(curve.data["x"], trace.iteration)


class Painter:
    """The gate of a run: draws whenever the run could be made to wait."""

    def __init__(self) -> None:
        self.view, self.run, self.count = Playground((), Cursor()), None, 0

    def pulse(self) -> None:
        self.count += 1
        self.view.cursor.keep_up([self.run.trace])
        self.view.show([self.run.trace])

    def step(self, run: Run, iterate: Iterate) -> None:
        self.pulse()


@pytest.mark.quick("bfgs", "subgd")
@pytest.mark.parametrize("label", RUNS)
def test_it_can_be_drawn_whenever_a_run_waits(label):
    painter, (id, params) = Painter(), RUNS[label]
    limit = Stopping(max_iter=12)
    painter.run = Run(
        toy_problem("toy-abs"),
        solvers.make_solver(id, **params),
        stopping=limit,
        probes=(PLANE,),
        gate=painter,
    )
    trace = painter.run.execute()
    assert trace.status != "failed"
    assert painter.count >= len(trace)
    assert len(trajectories(painter.view)[trace.info.label]) == len(trace)


def test_of_very_many_iterates_some_are_drawn_and_the_last_is():
    trace = Trace.from_records([{"iteration": k, "objective": 1.0} for k in range(4000)], label="long")
    trace.probes = solvers.probes.probe.ProbeStore([PLANE])
    for k in range(4000):
        trace.probes.observe(Iterate(k, w=np.array([k / 4000.0, 0.5]), objective=1.0))
    view = Playground(trace, problem=toy_problem("toy-abs"))
    path = trajectories(view)["long"]
    assert 1000 < len(path) <= 1501
    assert path[-1].tolist() == [3999 / 4000, 0.5]


def test_one_weight_or_three_are_not_kept():
    assert PLANE.take(Iterate(0, w=np.ones(3))) is None
    assert PLANE.take(Iterate(0)) is None
