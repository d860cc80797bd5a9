"""The figures of a sweep: what they show of given outcomes, and what a click opens."""

from __future__ import annotations

import holoviews as hv
import numpy as np
import pytest
from bokeh.models import Rect
from bokeh.plotting import figure

from solverscope.app.views import Sweep
from solverscope.app.views.sweep.sweep_figures import CellOutcome, Chosen, over_lam, profiles
from tests.app.helpers import click, drawn, figures, glyphs, text

#: Seconds to the gap of two solvers on three problems; None: not reached.
SECONDS = {
    ("a", 1.0): 1.0,
    ("b", 1.0): 2.0,
    ("a", 0.1): 8.0,
    ("b", 0.1): 2.0,
    ("a", 0.01): None,
    ("b", 0.01): 4.0,
}


def outcome(label, lam, seconds, **more):
    given = {"nnz": int(10 / lam), "metric": 1.0 - lam / 10, "metric_name": "accuracy", "state": "converged"}
    return CellOutcome(
        f"{label}{lam}", "digits", f"digits · λ {lam:g}", lam, label, **(given | {"seconds": seconds} | more)
    )


@pytest.fixture
def outcomes():
    return [outcome(label, lam, seconds) for (label, lam), seconds in SECONDS.items()]


def test_holoviews_draws_the_whole_sweep(outcomes):
    view = Sweep(outcomes=lambda gap: outcomes)
    drawn = view.to_holoviews()
    assert len(drawn) == len([*view.shown_figures()])
    assert hv.render(drawn, backend="bokeh") is not None


def test_profiles_are_those_of_dolan_and_more(outcomes):
    curves = profiles(outcomes)

    def share(name, factor):
        taus, shares = curves[name]
        return shares[np.searchsorted(taus, factor, side="right") - 1]

    assert [share("a", factor) for factor in (1.0, 2.0, 4.0)] == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    assert [share("b", factor) for factor in (1.0, 2.0, 4.0)] == pytest.approx([2 / 3, 1.0, 1.0])
    assert curves["a"][1][-1] == pytest.approx(2 / 3), "what was not reached never counts"


def test_a_problem_counts_once_all_its_runs_are_over(outcomes):
    growing = [*outcomes[:5], outcome("b", 0.01, None, over=False, state="running")]
    assert profiles(growing)["b"][1][0] == pytest.approx(1 / 2)
    assert profiles([outcome("a", 1.0, None, over=False)]) == {}


def test_times_so_short_that_the_clock_tells_nothing_are_equal():
    curves = profiles([outcome("a", 1.0, 1e-6), outcome("b", 1.0, 9e-4)])
    assert curves["a"][1][0] == curves["b"][1][0] == 1.0


def test_values_over_lam_fall_with_it(outcomes):
    runs = over_lam(outcomes[::-1], "digits")["a"]
    assert [run.lam for run in runs] == [1.0, 0.1, 0.01]
    assert [run.seconds for run in runs] == [1.0, 8.0, None]


def heat(view: Sweep) -> figure:
    """The heat map."""
    return next(plot for plot in figures(view).values() if glyphs(plot, Rect))


def test_heat_map_has_a_cell_for_each_run_and_a_click_opens_it(outcomes):
    opened = []
    outcomes[3] = outcome("b", 0.1, None, over=False, state="running")
    outcomes[5] = outcome("b", 0.01, None, state="failed")
    view = Sweep(outcomes=lambda gap: outcomes, on_open=opened.append)
    cells = drawn(heat(view), "key").data
    texts = dict(zip(cells["key"], cells["text"], strict=True))
    assert texts == {
        "a1.0": "1.00 s",
        "b1.0": "2.00 s",
        "a0.1": "8.00 s",
        "b0.1": "running",
        "a0.01": "not reached",
        "b0.01": "failed",
    }
    assert heat(view).y_range.factors[-1] == "digits · λ 1", "the largest λ is on top"
    click(heat(view), 1.4, 2.9)
    click(heat(view), 0.1, 0.1)
    click(heat(view), -0.2, 0.1)
    assert opened == ["b1.0", "a0.01"]


def test_curves_are_drawn_for_the_data_that_are_chosen(outcomes):
    others = [outcome("a", 1.0, 3.0, nnz=7)]
    others = [
        CellOutcome(**{**vars(one), "data": "news", "problem": "news · λ 1", "key": "n"}) for one in others
    ]
    view = Sweep(outcomes=lambda gap: outcomes + others)
    assert view.data.options == ["digits", "news"]
    assert view.times.points.data["y"] == [1.0, 8.0, 2.0, 2.0, 4.0]
    view.data.value = "news"
    assert view.times.points.data["y"] == [3.0]
    assert view.worth.points.data["x"] == [7.0]


def test_nothing_is_drawn_again_for_the_same_outcomes(outcomes):
    view = Sweep(outcomes=lambda gap: list(outcomes))
    before = drawn(heat(view), "key").data["key"]
    view.update()
    assert drawn(heat(view), "key").data["key"] is before


def test_the_lam_that_is_chosen_has_a_ring_and_a_sentence(outcomes):
    pooled = [CellOutcome(**{**vars(one), "pool": "digits"}) for one in outcomes]
    chosen = []
    view = Sweep(outcomes=lambda gap: pooled, choices=lambda: chosen)
    assert not view.held_out.visible, "nothing was to be chosen"
    over = ((1.0, 0.8, 0.05), (0.1, 0.9, 0.1), (0.01, 0.7, 0.05))
    words = "digits", "b", "b on digits: λ = 0.1 is chosen"
    chosen.append(Chosen(*words, 0.1, 0.9, over, lam_1se=1.0, metric_1se=0.8, metric_name="F1"))
    view.update()
    assert view.held_out.visible
    assert view.held_out.points.data["y"] == [0.8, 0.9, 0.7]
    assert view.held_out.rings.data["x"] == [0.1]
    assert view.held_out.rings.data["y"] == [0.9]
    assert view.held_out.rings.data["color"] == view.held_out.points.data["color"][:1]
    assert [view.held_out.squares.data[name] for name in "xy"] == [[1.0], [0.8]]
    assert view.held_out.bars.data["low"] == pytest.approx([0.75, 0.8, 0.65])
    assert view.held_out.bars.data["high"] == pytest.approx([0.85, 1.0, 0.75])
    assert "b on digits: λ = 0.1 is chosen" in text(view)
    assert hv.render(view.held_out.to_holoviews(), backend="bokeh") is not None
    chosen[0] = Chosen(*words, 0.1, 0.9, tuple((lam, mean, None) for lam, mean, _ in over))
    view.update()
    assert [*view.held_out.squares.data["x"], *view.held_out.bars.data["x"]] == [], "no parts, no error"
