"""In the browser: a run is held at a breakpoint, and the page says which one and where."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

SMALL = {"data": "breast-cancer", "solvers": "prox-qn;prox-gd", "lam": "0.005", "tol": "1e-8"}


def test_a_breakpoint_holds_a_run_is_explained_and_left_by_resume(visit):
    tab = visit(**SMALL)
    tab.enter("condition", "nnz >> 3", role="combobox")
    wrong = tab.alert("is no condition to break at")
    wrong.wait_for()
    tab.enter("condition", "working_set < 30 or iteration >= 4", role="combobox")
    wrong.wait_for(state="detached")
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["paused", "paused"], "both to be held")
    said = tab.page.locator(".row.run .message").all_text_contents()
    for label, text in zip(("prox-qn", "prox-gd"), said, strict=True):
        assert text == f"paused at iteration {tab.iteration(label)}, where working_set < 30 or iteration >= 4"
        assert tab.iteration(label) <= 4
    slider = tab.page.get_by_label("Iteration under the cursor")
    assert slider.input_value() in [str(tab.iteration(label)) for label in ("prox-qn", "prox-gd")]
    written = "working_set < 30 or iteration >= 4"
    tab.wait_until(lambda: tab.query().get("break") == written, "the condition in the address")
    tab.enter("condition", "", role="combobox")
    tab.wait_until(lambda: not tab.query().get("break"), "the address without the condition")
    tab.button("Resume").click()
    tab.wait_until(lambda: tab.states() == ["finished", "finished"], "the end")


def test_a_condition_that_is_true_at_the_start_is_rewritten_by_a_click(visit):
    tab = visit(**SMALL | {"break": "nnz < 3"})
    tab.button("Run").click()
    tab.page.get_by_text("nnz < 3 is true at iterate 0, where runs begin.").wait_for()
    tab.button("from iterate 1").click()
    tab.wait_until(
        lambda: tab.query()["break"] == "iteration > 0 and nnz < 3", "the condition in the address"
    )
    tab.button("from iterate 1").wait_for(state="detached")
    tab.wait_until(lambda: all(tab.iteration(run) > 0 for run in ("prox-qn", "prox-gd")), "both to go on")
