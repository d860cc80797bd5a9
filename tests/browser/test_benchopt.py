"""Results of benchopt are opened in the tab Runs, and their plot offers what it can show."""

from __future__ import annotations

import re

import pytest

from solverscope.app.benchopt import results
from solverscope.solvers import Trace

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytestmark = pytest.mark.slow


HAS_ARROW = "(name) => Bokeh.index.find_one(figureOf(name)).shadow_el.querySelector('.alone') !== null"


def options(tab, label: str) -> list[str]:
    """What a menu of the plot of benchopt offers."""
    tab.page.get_by_role("combobox", name=label).last.click()
    offered = tab.page.get_by_role("listbox").get_by_role("option").all_inner_texts()
    tab.page.keyboard.press("Escape")
    tab.page.get_by_role("listbox").wait_for(state="detached")
    return offered


def test_curves_are_drawn_with_measures_that_have_values_and_no_button_for_a_window(visit, tmp_path):
    traces = []
    for label in ("fast", "slow"):
        made = Trace.from_records(
            [{"iteration": k, "objective": 1.0 / (k + 1), "cpu_seconds": 0.1 * k} for k in range(9)],
            **{"label": label, "solver": label, "problem": {"dataset": "d"}},
        )
        traces.append(made)
    results.write(traces, tmp_path / "a.parquet")
    tab = visit(data="breast-cancer", solvers="prox-gd")
    tab.open_tab("Runs")
    with tab.page.expect_file_chooser() as chooser:
        tab.page.get_by_role("button", name=re.compile("Open results of benchopt")).click()
    chooser.value.set_files(tmp_path / "a.parquet")
    tab.wait_until(lambda: tab.points("benchopt") == 18, "its curves")
    assert options(tab, "Show") == ["Relative gap", "Absolute gap", "Objective"]
    assert options(tab, "Against") == ["Wall seconds", "Iterations"]
    tab.button("What does this plot show? (benchopt)").wait_for()
    assert [tab.page.evaluate(HAS_ARROW, name) for name in ("convergence", "benchopt")] == [True, False]
