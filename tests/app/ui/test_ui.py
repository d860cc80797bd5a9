"""Numbers as the page writes them; runs told apart by colour and dash."""

from __future__ import annotations

import math

import numpy as np
import pytest

from solverscope.app import ui
from solverscope.app.views import Convergence
from solverscope.solvers import Trace


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (812, "812"),
        (20910, "20\u202f910"),
        (1163.3233, "1\u202f163"),
        (0.03, "0.03"),
        (0.008312345, "0.008312"),
        (-0.5, "−0.5"),
        (1.5e-7, "1.5e−7"),
        (2.0e12, "2e12"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
    ],
)
def test_numbers_have_few_digits_and_thin_spaces(value, text):
    assert ui.number(value) == text


def test_seconds_have_a_unit():
    assert ui.seconds(3.14159) == "3.14 s"
    assert ui.seconds(1234.5) == "1\u202f234 s"
    assert ui.seconds(None) == "–"


def test_two_dozen_runs_all_look_different():
    looks = {(ui.COLORS[k % len(ui.COLORS)], ui.dash(k)) for k in range(24)}
    assert len(looks) == 24


def test_what_counts_or_numbers_something_has_all_its_digits():
    assert ui.number(11_670_000) == "11\u202f670\u202f000"
    assert ui.number(np.int64(121_866_804)) == "121\u202f866\u202f804"
    assert ui.number(1.167e7) == "1.167e7", "a measured number has those that mean something"


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([12345.678, 9876.5], ["12\u202f345.68", "9\u202f876.50"]),
        ([0.25, 0.0312345, None], ["0.2500000", "0.0312345", "–"]),
        ([-2.5, 0.0], ["−2.50000", "0.00000"]),
        ([1.5e8, 12.0], ["1.50000e8", "12.0000"]),
        ([0.9, 2e-9], ["0.900000", "2.00000e−9"]),
        ([2e-5], ["2.00000e-5".replace("-", "−")]),
        ([2e-5, 0.0], ["2.00000e−5", "0"]),
        ([math.nan, None], ["–", "–"]),
        ([], []),
    ],
)
def test_the_numbers_of_a_column_have_equally_many_decimals(values, texts):
    assert ui.aligned(values) == texts


def test_a_name_is_escaped_and_that_of_pixels_says_how_large_their_picture_is():
    said = ui.pixel_label("pixel (3, 6) × pixel (6, 3) for <b>", (16, 8))
    assert said == (
        '<span class="pixel-label" data-shape="16 8">pixel (3, 6) × pixel (6, 3) for &lt;b&gt;</span>'
    )
    assert ui.pixel_label("pixel (3, 6)", None) == "pixel (3, 6)"
    assert ui.pixel_label("a → <b>", (16, 8)) == "a → &lt;b&gt;", "a transition is no pixel"


def test_a_part_that_is_hidden_is_hidden_in_the_browser_too():
    """The style sheet's grid would be stronger than the way Bokeh hides things."""
    part = ui.column(kind="plots")
    part.visible = False
    assert "hidden" in part.css_classes
    part.visible = True
    assert part.css_classes == ["plots"]
    assert ":host(.hidden) { display: none !important; }" in ui.asset("layout.css")


def test_an_axis_of_iterations_has_no_ticks_between_whole_numbers():
    trace = Trace.from_records([{"iteration": k, "objective": 1.0} for k in range(2)], label="a")
    view = Convergence(trace, x="iteration", measure="objective")
    assert view.figure.xaxis[0].ticker.min_interval == 1.0
    view.x = "cpu_seconds"
    assert view.figure.xaxis[0].ticker.min_interval == 0.0
    assert (
        ui.plot("a", x_label="iteration  ·  click to go there", y_label="").xaxis[0].ticker.min_interval
        == 1.0
    )
