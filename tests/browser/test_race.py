"""In the browser: a run is pinned, stays as a ghost beside the next one, and the order of finish is told."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

SMALL = {"data": "breast-cancer", "solvers": "prox-qn,memory=3;owl-qn", "tol": "1e-8", "lam": "0.02"}


def labels(tab):
    return tab.page.locator(".row.run").evaluate_all("rows => rows.map((row) => row.dataset.label)")


def test_a_pinned_run_is_a_ghost_of_the_next_race_whose_finish_is_told(visit):
    tab = visit(**SMALL, tab="race")
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["finished"] * 2, "the end")
    pin = tab.button("Pin prox-qn: keep it beside the next runs")
    tab.wait_until(lambda: pin.is_enabled(), "the pin")
    pin.click()
    tab.button("Unpin prox-qn").wait_for()
    tab.enter("λ", "0.01")
    tab.button("Run").click()
    tab.wait_until(lambda: len(labels(tab)) == 3, "the ghost's row")
    tab.wait_until(lambda: tab.states() == ["finished"] * 3, "the end")
    ghost = labels(tab)[2]
    assert ghost.startswith("prox-qn ")
    row = tab.page.locator(f'.row.run[data-label="{ghost}"]')
    assert "ghost" in row.get_attribute("class")
    note = row.locator(".label small")
    tab.wait_until(lambda: note.text_content() == "λ = 0.02, pairs kept m 3", "what the ghost was set to")
    tab.wait_until(lambda: set(tab.curves("convergence")) == {"prox-qn", "owl-qn", ghost}, "its curve")
    alphas = tab.page.evaluate(
        """() => Object.fromEntries(figureOf("convergence")
          .renderers.filter((r) => r.glyph?.type === "Line" && r.name)
          .map((r) => [r.name, r.glyph.line_alpha.value]))"""
    )
    assert alphas[ghost] < alphas["prox-qn"] == alphas["owl-qn"]
    finish = tab.page.locator("table", has_text="order of finish").locator("tbody tr")
    tab.wait_until(lambda: finish.count() == 3, "the order of finish")
    said = finish.first.locator("td").last.text_content()
    assert said.startswith("1. ")
    assert ghost not in said, "another λ is another race"
    tab.page.locator(f'.row.run[data-label="{ghost}"] .label').click()
    tab.wait_until(lambda: ghost in finish.first.locator("td").last.text_content(), "the race of the ghost")
