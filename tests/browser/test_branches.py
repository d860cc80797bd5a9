"""In the browser: from the iterate under the cursor a run goes on beside the old one."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

LONG = {
    "data": "digits",
    "solvers": "prox-qn,memory=7",
    "lam": "0.0005",
    "tol": "1e-5",
    "x": "iteration",
    "y": "objective",
}


def test_a_branch_with_another_memory_is_the_old_run_up_to_there_and_another_one_after(visit):
    tab = visit(**LONG)
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["finished"], "the end")
    slider = tab.page.get_by_label("Iteration under the cursor")
    go, choice = tab.button("Go on from here"), tab.page.get_by_label("Solver to continue with")
    slider.fill("20")
    tab.wait_until(lambda: "to iteration 20" in go.get_attribute("title"), "the cursor")
    go.click()
    tab.wait_until(lambda: tab.states() == ["finished"] * 2, "the end of the same")
    tab.button("Settings of prox-qn").click()
    tab.enter("pairs kept m", "2")
    tab.wait_until(lambda: choice.locator("option").nth(1).text_content().endswith("memory=2"), "the offer")
    choice.select_option(index=1)
    go.click()
    tab.wait_until(lambda: tab.states() == ["finished"] * 3, "the end of the other")
    labels = tab.page.locator(".row.run").evaluate_all("rows => rows.map((row) => row.dataset.label)")
    assert labels == ["prox-qn", "prox-qn from 20", "prox-qn from 20 (2)"]
    colours = tab.page.locator(".row.run .chip line").evaluate_all(
        "ls => ls.map((l) => l.getAttribute('stroke'))"
    )
    assert len(set(colours)) == 3
    tab.wait_until(lambda: len(tab.curves("convergence")) == 3, "the curves")
    drawn = tab.table("convergence", "x", "y")
    old, same, other = (dict(drawn[label]) for label in labels)
    assert list(same) == [n for n in old if n >= 20]
    assert all(same[n] == old[n] for n in same)
    assert min(other) == 20
    assert other[20] == old[20]
    assert all(other[n] != old[n] for n in other.keys() & old.keys() if n > 20)
    assert len(other.keys() & old.keys()) > 5
