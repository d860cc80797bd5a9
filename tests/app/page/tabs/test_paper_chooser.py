"""The gallery of papers: what a choice says and fills in, and the verdicts once its runs have ended."""

from __future__ import annotations

import pytest

from solverscope.app.page.tabs.paper_chooser import PaperChooser
from solverscope.app.papers import papers
from solverscope.app.sweep.cell_progress import CellProgress
from solverscope.app.sweep.spec import Spec


@pytest.fixture
def filled():
    return []


@pytest.fixture
def chooser(filled):
    return PaperChooser(filled.append, slots=1)


def test_every_figure_and_table_of_a_paper_can_be_chosen(chooser):
    assert not chooser.choice.visible
    chooser.paper.value = "yu2010"
    assert chooser.choice.visible
    assert set(chooser.choice.options.values()) == {"", *papers()["yu2010"].exhibits}
    assert "Figure 12: The upper envelope of lines (not run)" in chooser.choice.options
    chooser.paper.value = ""
    assert not chooser.choice.visible


def test_a_figure_that_runs_fills_the_form_and_one_that_does_not_says_why(chooser, filled):
    chooser.paper.value = "yu2010"
    chooser.choice.value = "figure-3"
    (text,) = filled
    assert {cell.entrant.label for cell in Spec.parse(text).cells} == {
        "bfgs-inexact",
        "bfgs-exact",
        "subbfgs",
    }
    assert Spec.parse(text).total_seconds == 300
    said = chooser.above.objects[-1]
    assert "In the paper: BFGS with an inexact search oscillates" in said.object
    chooser.choice.value = "figure-12"
    assert "It is a drawing of an algorithm." in said.object
    assert len(filled) == 1


@pytest.mark.parametrize("value", ["zhong", "tcp://127.0.0.1:1"])
def test_what_no_menu_offers_changes_nothing(chooser, filled, value):
    chooser.paper.value = value
    chooser.choice.value = value
    assert filled == []


def test_verdicts_appear_as_runs_end_and_go_where_other_runs_are_drawn(chooser, filled):
    chooser.paper.value = "yu2010"
    chooser.choice.value = "figure-3"
    (text,) = filled
    runs = [CellProgress(cell) for cell in Spec.parse(text).cells]
    chooser.judge(text, runs)
    assert not chooser.below.visible
    for one in runs:
        one.fail("no worker")
    chooser.judge(text, runs)
    assert chooser.below.visible
    assert chooser.below.object.count("not judged") == 3
    chooser.judge(text + "\nseeds = 2", runs)
    assert not chooser.below.visible
