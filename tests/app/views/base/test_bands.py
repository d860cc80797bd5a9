"""The median and the band of runs that repeat each other."""

from __future__ import annotations

import numpy as np
import pytest
from bokeh.models import Line, VArea

from solverscope.app.views import Convergence, Sparsity
from solverscope.app.views.base.bands import band, families
from solverscope.app.views.base.curves import Curves
from solverscope.app.views.bundle.cutting_planes import BundleBounds
from solverscope.solvers import Trace


def run(
    label: str,
    objectives: list[float],
    *,
    pace: float = 1.0,
    result: bool = True,
    working: int = -1,
    **more: object,
) -> Trace:
    about = {"problem": {"dataset": "d", "key": "k", "lam": 1.0}, "solver": "s", **more}
    trace = Trace({"label": label, **about})
    for k, f in enumerate(objectives):
        seconds = {"cpu_seconds": pace * k, "wall_seconds": pace * k}
        counts = {"nnz": 10 - k, "working_set": working + k if working > 0 else -1}
        trace.append({"iteration": k, "objective": f, **counts, **seconds})
    trace.finish("converged")
    trace.result = {"status": "converged"} if result else {}
    return trace


def curve(x: list[float], y: list[float]) -> dict[str, np.ndarray]:
    return {"x": np.array(x), "y": np.array(y), "iteration": np.arange(len(x))}


def test_runs_repeat_each_other_by_label_solver_and_problem():
    mine = [run(f"mine ({k})", [1.0]) for k in (1, 2, 3)]
    single, other = run("lone (1)", [1.0]), run("mine", [1.0])
    elsewhere = [run(f"mine ({k})", [1.0], problem={"dataset": "other"}) for k in (1, 2)]
    earlier = [run(f"mine ({k}) #{k + 7}", [1.0]) for k in (1, 2)]
    found = families([single, *mine, other, *elsewhere, *earlier])
    assert found == [("mine", mine), ("mine", elsewhere), ("mine", earlier)]


def test_median_and_quantiles_are_those_of_the_curves_at_each_place():
    rng = np.random.default_rng(0)
    x = np.linspace(1.0, 4.0, 7)
    values = rng.uniform(1.0, 2.0, (9, 7))
    found = band([curve(list(x), list(y)) for y in values])
    np.testing.assert_array_equal(found["x"], x)
    np.testing.assert_allclose(found["y"], np.median(values, axis=0))
    np.testing.assert_allclose(found["low"], np.quantile(values, 0.1, axis=0))
    np.testing.assert_allclose(found["high"], np.quantile(values, 0.9, axis=0))
    np.testing.assert_array_equal(found["iteration"], np.arange(7))


def test_between_its_points_a_curve_is_the_line_that_is_drawn():
    curves = [curve([1.0, 100.0], [1.0, 1e-4]), curve([1.0, 10.0, 100.0], [1.0, 1e-2, 1e-4])]
    found = band(curves, log_x=True, log_y=True)
    np.testing.assert_allclose(found["y"], [1.0, 1e-2, 1e-4])
    np.testing.assert_allclose(found["low"], found["high"])


def test_a_run_that_ended_keeps_its_value_and_the_median_ends_with_half_of_them():
    short, middle, long = (curve(list(range(n)), [1.0 / (k + 1) for k in range(n)]) for n in (3, 5, 9))
    found = band([short, middle, long])
    assert found["x"][-1] == 4.0
    np.testing.assert_allclose(found["y"][-1], 1.0 / 5)
    np.testing.assert_allclose(found["high"][-1], np.quantile([1 / 3, 1 / 5, 1 / 5], 0.9))
    assert band([short, middle, long], [True, False, False])["x"][-1] == 2.0


def test_what_an_axis_cannot_show_is_left_out():
    found = band(
        [curve([0.0, 1.0, 2.0], [1.0, 0.0, 0.25]), curve([0.0, 1.0, 2.0], [1.0, np.nan, 0.25])], log_y=True
    )
    np.testing.assert_allclose(found["x"], [0.0, 2.0])
    assert len(band([curve([0.0], [-1.0])], log_y=True)["x"]) == 0


def test_a_long_family_is_drawn_at_few_places():
    found = band(
        [curve(list(np.sort(np.random.default_rng(k).uniform(0, 1, 5000))), [1.0] * 5000) for k in range(5)]
    )
    assert 200 < len(found["x"]) <= 300
    assert (np.diff(found["x"]) > 0).all()


@pytest.mark.parametrize("view", [Convergence, Sparsity, BundleBounds])
def test_a_plot_draws_one_line_with_a_band_in_place_of_all_runs(view):
    traces = [run(f"mine ({k})", [4.0, 2.0 + k, 1.5], pace=k) for k in (1, 2, 3)] + [run("lone", [4.0, 3.0])]
    plot = view(traces, x="cpu_seconds", scale="linear")
    with_points = [r for r in plot.figure.renderers if len(r.data_source.data.get("iteration", ()))]
    lines = {r.name for r in with_points if isinstance(r.glyph, Line)}
    assert lines == {"lone", "mine, median of 3"}
    (area,) = [r for r in with_points if isinstance(r.glyph, VArea)]
    assert area in plot.figure.y_range.renderers
    assert area.data_source.data["x"].max() == 4.0  # the second of the three ends there
    plot.show(traces[2:])  # one of the three alone
    assert not len(area.data_source.data["x"])
    names = {
        r.name for r in plot.figure.renderers if isinstance(r.glyph, Line) and len(r.data_source.data["x"])
    }
    assert names == {"lone", "mine (3)"}


def test_a_thin_line_is_that_of_the_median_too():
    traces = [run(f"mine ({k})", [4.0, 2.0, 1.5], working=4 + k) for k in (1, 2, 3)]
    plot = Sparsity(traces, x="iteration", scale="linear")
    lines = [r for r in plot.figure.renderers if isinstance(r.glyph, Line) and r.glyph.y == "working_set"]
    (thin,) = [line for line in lines if len(line.data_source.data["x"])]
    assert thin.data_source.data["working_set"].tolist() == [6.0, 7.0, 8.0]


def test_a_band_is_not_computed_again_for_nothing(monkeypatch):
    traces = [run(f"mine ({k})", [4.0, 2.0, 1.0]) for k in (1, 2)]
    plot = Convergence(traces)
    calls = []
    monkeypatch.setattr("solverscope.app.views.base.bands.band", lambda *given, **axes: calls.append(1) or {})
    plot.update()
    assert calls == []
    assert isinstance(plot.curves, Curves)


def test_holoviews_draws_the_band_too():
    traces = [run(f"mine ({k})", [4.0, 2.0 + k, 1.5]) for k in (1, 2, 3)]
    elements = Convergence(traces, measure="objective").to_holoviews()
    assert "Area" in [type(element).__name__ for element in elements]
