"""In the browser: events are gone through by clicks, and the summary is copied."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

SMALL = {"data": "breast-cancer", "solvers": "prox-qn;owl-qn", "lam": "0.005", "tol": "1e-8"}


def test_a_click_on_an_event_puts_the_cursor_there(visit):
    tab = visit(**SMALL, tab="events")
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["finished", "finished"], "the end")
    lines = tab.page.locator(".events button")
    tab.wait_until(lambda: lines.count() > 2, "the events")
    line = lines.filter(has_text="epoch 1 begins")
    line.click()
    slider = tab.page.get_by_label("Iteration under the cursor")
    iteration = line.get_attribute("data-iteration")
    tab.wait_until(lambda: slider.input_value() == iteration, "the cursor")
    tab.wait_until(lambda: line.get_attribute("aria-current") == "true", "the mark")


def test_the_summary_is_copied_as_text(visit):
    tab = visit(**SMALL, tab="summary")
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["finished", "finished"], "the end")
    tab.wait_until(lambda: tab.page.locator("td", has_text="converged").count() == 2, "the table")
    copied = tab.page.get_by_role("button", name="Copied")
    for name, start in (("Markdown", "| run |"), ("LaTeX", r"\begin{tabular}"), ("CSV", "run,status,")):
        tab.page.get_by_role("button", name=f"Copy as {name}").click()
        copied.wait_for()
        text = tab.page.evaluate("navigator.clipboard.readText()")
        copied.wait_for(state="detached")
        assert text.startswith(start)
        assert "prox-qn" in text
        assert "owl-qn" in text


def test_a_heading_sorts_by_number_and_a_field_filters(visit):
    tab = visit(**SMALL | {"solvers": "prox-qn;owl-qn;prox-gd", "tab": "summary"})
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["finished"] * 3, "the end")
    labels, first = ["prox-qn", "owl-qn", "prox-gd"], tab.page.locator("tbody tr td:first-child")
    tab.wait_until(lambda: first.all_text_contents() == labels, "the order of start")
    spent = {run: tab.iteration(run) for run in labels}
    upwards = sorted(spent.values())
    heading = tab.page.get_by_role("columnheader", name="iterations")
    for state, wanted in (("ascending", upwards), ("descending", upwards[::-1])):
        heading.get_by_role("button").press("Enter")
        tab.wait_until(lambda state=state: heading.get_attribute("aria-sort") == state, state)
        assert [spent[run] for run in first.all_text_contents()] == wanted
    tab.open_tab("Runs")
    lines = tab.page.locator(".runs tbody tr")
    tab.wait_until(lambda: lines.count() >= 3, "the list")
    tab.page.get_by_role("searchbox").fill("breast QN")
    names = tab.page.locator(".runs tbody td.solver")
    tab.wait_until(lambda: set(names.all_text_contents()) == {"prox-qn", "owl-qn"}, "those that match")
    tab.open_tab("Events")
    events = tab.page.locator(".events button")
    tab.wait_until(lambda: events.count() > 2, "the events")
    tab.page.get_by_role("searchbox").fill("epoch")
    tab.wait_until(lambda: 0 < events.count() == events.filter(has_text="epoch").count(), "epochs alone")
