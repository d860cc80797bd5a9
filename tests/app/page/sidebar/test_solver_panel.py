"""The list of solvers keeps to as many as an address can bring back, and says so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from solverscope.app.page.sidebar import solver_panel
from solverscope.app.page.sidebar.solver_panel import SolverPanel
from solverscope.app.settings.experiment import MOST_SOLVERS, Experiment
from solverscope.app.settings.recipe import PAGE_LIMITS, Entrant, Recipe

PROBLEM = Recipe("breast-cancer", loss="logistic", penalty="l1")


@pytest.fixture
def panel():
    """As many copies of one solver as may race."""
    panel = SolverPanel(lambda: None)
    panel.set(PROBLEM, [Entrant("prox-qn", f"copy {k}") for k in range(MOST_SOLVERS)])
    return panel


def line(panel, label):
    return next(line for line in panel.entries if line["label"] == label)


def tell(panel, action, label, **more):
    panel.receive({"action": action, "key": line(panel, label)["key"], **more})


@pytest.mark.parametrize(("action", "label"), [("choose", "owl-qn"), ("copy", "copy 3")])
def test_one_solver_too_many_is_refused_with_a_reason_on_its_line(panel, action, label):
    labels = [entry["label"] for entry in panel.entries]
    tell(panel, action, label, value=True)
    assert f"{MOST_SOLVERS} solvers race already" in line(panel, label)["refused"]
    assert [entry["label"] for entry in panel.entries] == labels
    again, notices = Experiment.from_address(
        Experiment(PROBLEM, panel.chosen, PAGE_LIMITS).address(), Experiment(PROBLEM, ())
    )
    assert notices == []
    assert again.entrants == panel.chosen


def test_the_reason_goes_with_the_next_thing_done_and_there_is_room_again(panel):
    tell(panel, "choose", "owl-qn", value=True)
    tell(panel, "choose", "copy 0", value=False)
    assert not any(entry["refused"] for entry in panel.entries)
    tell(panel, "choose", "owl-qn", value=True)
    assert line(panel, "owl-qn")["chosen"]
    assert len(panel.chosen) == MOST_SOLVERS


def test_to_choose_again_what_is_chosen_changes_nothing(panel):
    tell(panel, "choose", "copy 3", value=True)
    assert len(panel.chosen) == MOST_SOLVERS


def test_solvers_that_fit_again_do_not_make_too_many(panel, monkeypatch):
    fit = {"prox-qn": {"l1"}, "owl-qn": {"l1", "l2"}}
    monkeypatch.setattr(
        solver_panel,
        "fits",
        lambda solver, problem: None if problem.penalty in fit.get(solver.id, ()) else "does not fit",
    )
    other = replace(PROBLEM, penalty="l2")
    panel.set_problem(other)
    assert [solver.id for solver in panel.chosen] == ["owl-qn"]
    panel.set_problem(PROBLEM)
    assert len(panel.chosen) == MOST_SOLVERS
    panel.set_problem(other)
    assert len(panel.chosen) == 1


def looks(panel):
    return {e["label"]: (e["color"], e["dash"]) for e in panel.entries if e["chosen"]}


def test_a_colour_and_a_dash_stay_with_their_solver_whatever_is_copied_removed_or_taken_out():
    panel = SolverPanel(lambda: None)
    panel.set(PROBLEM, [Entrant("prox-qn", "prox-qn"), Entrant("owl-qn", "owl-qn")])
    before = looks(panel)
    tell(panel, "copy", "prox-qn")
    assert looks(panel).items() > before.items()
    assert len(set(looks(panel).values())) == 3
    copied = looks(panel)["prox-qn-2"]
    tell(panel, "choose", "prox-qn", value=False)
    tell(panel, "remove", "prox-qn-2")
    assert looks(panel) == {"owl-qn": before["owl-qn"]}
    tell(panel, "choose", "prox-gd", value=True)
    assert looks(panel)["prox-gd"] not in (*before.values(), copied), "runs of theirs may still be there"
    tell(panel, "choose", "prox-qn", value=True)
    assert looks(panel).items() > before.items()


def test_the_runs_of_a_solver_have_its_colour_in_the_list(visit, wait_until):
    page = visit(data="breast-cancer", solvers="prox-qn;owl-qn", tol="1e-2")
    page.controls.go()
    drawn = {row["label"]: (row["color"], row["dash"]) for row in page.legend.rows}
    tell(page.solvers, "copy", "prox-qn")
    assert looks(page.solvers).items() > drawn.items()
    wait_until(lambda: not page.session.alive)
    page.controls.go()
    wait_until(lambda: not page.session.alive)
    assert {row["label"]: (row["color"], row["dash"]) for row in page.legend.rows} == looks(page.solvers)


def test_the_list_is_drawn_again_only_where_another_problem_changes_it():
    panel, drawn = SolverPanel(lambda: None), []
    panel.set(PROBLEM, [Entrant("prox-qn", "prox-qn")])
    panel.param.watch(drawn.append, "entries", onlychanged=False)
    panel.set_problem(replace(PROBLEM, lam=0.1, seed=3))
    assert drawn == []
    other = replace(PROBLEM, penalty="l2")
    panel.set_problem(other)
    assert len(drawn) == 1
