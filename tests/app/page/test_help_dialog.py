"""The card that says what a plot shows."""

from __future__ import annotations

from solverscope.app.page.help_dialog import HelpDialog
from solverscope.app.views.base.help import Help

ABOUT = Help("Distance", "One. Two.", r"f(w)", "here", ())


def asked(dialog: HelpDialog, figure: object) -> list[dict]:
    """What it answers to the "?" of a figure."""
    sent: list[dict] = []
    dialog.answer = sent.append
    dialog.receive({"figure": figure})
    return sent


def test_it_answers_for_a_figure_that_is_there_and_is_silent_for_one_that_is_gone():
    dialog = HelpDialog({"p1": ABOUT}.get)
    assert asked(dialog, "p1") == [{"title": "Distance", "html": ABOUT.html()}]
    assert asked(dialog, "p2") == []
    assert asked(dialog, None) == []


def test_the_page_knows_what_each_figure_on_it_shows(visit, wait_until):
    page = visit(data="breast-cancer", solvers="prox-qn", tol="1e-6", tab="shrinking")
    page.open_tabs()
    page.controls.go()
    wait_until(lambda: not page.session.alive)
    page.session.tick()
    for id in ("memory", "steps", "line-search"):
        page.tab_bar.chosen = id
        page.session.tick()
    shown = {drawn.name: drawn for view in page.session.views for _, drawn in view.shown_figures()}
    assert {
        "convergence",
        "sparsity",
        "shrinking-test",
        "working-set",
        "why-left",
        "memory-pairs",
    } <= shown.keys()
    told = {name: page.explain(drawn.id) for name, drawn in shown.items()}
    assert [name for name, about in told.items() if about is None] == []
    assert told["convergence"].title == "Distance to f*"
    assert page.explain("no figure") is None


def test_two_plots_of_the_same_kind_tell_of_what_each_draws(visit):
    page = visit(data="breast-cancer", solvers="prox-qn", tab="steps")
    page.open_tabs()
    titles = [page.explain(drawn.id).title for _, drawn in page.tabs["steps"].shown_figures()]
    assert len(set(titles)) == 2, titles
