"""The first thing a stranger does: open the page, press Run, look around, and stop."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope.app.views import TABS
from tests.browser.conftest import LONG, complaints


def test_a_stranger_runs_pauses_steps_moves_the_cursor_opens_all_tabs_and_stops(visit, server):
    said = len(server.log.read_text())
    tab = visit()
    slider = tab.page.get_by_role("slider", name="Iteration under the cursor")
    tab.button("Run").click()
    tab.wait_until(lambda: tab.points("convergence") > 10 and tab.points("sparsity") > 10, "points", LONG)
    tab.wait_until(lambda: int(slider.get_attribute("max")) > 2, "iterates to move the cursor on", LONG)
    tab.wait_until(lambda: "running" in tab.states(), "a run that goes on")
    before = tab.points("convergence"), tab.points("sparsity")
    tab.wait_until(lambda: tab.points("convergence") > before[0], "more points")
    tab.wait_until(lambda: tab.points("sparsity") > before[1], "more points in the other plot")

    tab.button("Pause").click()
    tab.wait_until(lambda: tab.states() == ["paused"] * 3, "all paused", LONG)
    tab.ticks()  # the plots have followed the rows
    held = tab.points("convergence"), tab.iteration("prox-qn")
    tab.ticks()
    assert (tab.points("convergence"), tab.iteration("prox-qn")) == held
    tab.button("Step").click()
    tab.wait_until(lambda: tab.iteration("prox-qn") == held[1] + 1, "one step")
    tab.wait_until(lambda: tab.states() == ["paused"] * 3, "all paused again")
    tab.ticks()
    assert tab.iteration("prox-qn") == held[1] + 1
    assert tab.states() == ["paused"] * 3

    tab.page.keyboard.press("Home")
    for at in ("0", "1", "2"):
        tab.wait_until(lambda at=at: slider.input_value() == at, f"the cursor at {at}")
        tab.page.keyboard.press("ArrowRight")
    tab.wait_until(lambda: tab.cursor("convergence") is not None, "the cursor in the first plot")
    for view in TABS.values():
        tab.open_tab(view.title)

    tab.button("Resume").click()
    tab.wait_until(lambda: tab.iteration("prox-qn") > held[1] + 3, "going on")
    tab.button("Stop").click()
    tab.wait_until(lambda: tab.states() == ["stopped"] * 3, "all stopped")
    assert tab.points("convergence") >= held[0]
    assert tab.page.get_by_text("cannot be drawn").count() == 0
    assert complaints(server.log.read_text()[said:]) == []


@pytest.mark.slow
def test_prox_qn_comes_within_1e_6_of_the_optimum_and_owl_qn_is_denser_on_the_way(visit):
    tab = visit()
    tab.button("Run").click()
    tab.wait_until(
        lambda: (gaps := tab.curves("convergence")).get("prox-qn", [1.0])[-1] <= 1e-6 and len(gaps) == 3,
        "a gap of 1e-6",
        LONG,
    )
    # prox-qn at a gap of a thousandth, and owl-qn after the same CPU time
    path = tab.table("convergence", "x", "y")["prox-qn"]
    at = next(cpu for cpu, gap in path if gap is not None and gap <= 1e-3)
    tab.button("Stop").click()
    tab.wait_until(lambda: "running" not in tab.states(), "the end")
    curves = tab.table("sparsity", "x", "y")
    sparse, dense = (np.interp(at, *np.transpose(curves[k])) for k in ("prox-qn", "owl-qn"))
    assert dense > 1.3 * sparse
