"""A plug-in whose loss has kinks and whose solver proves its gap: on the command line and in the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from solverscope.app.plugins import load_file
from solverscope.app.views import TABS
from tests.app.helpers import covered, curves

pytestmark = pytest.mark.usefixtures("registries")

PLUGIN = Path(__file__).with_name("hinge_plugin.py")
CALL = (
    "run",
    "breast-cancer",
    "--plugin",
    str(PLUGIN),
    "--loss",
    "hinge",
    "--solver",
    "averaged-subgradient",
)


def test_the_plug_in_is_short():
    assert len(PLUGIN.read_text(encoding="utf-8").splitlines()) <= 80


def test_tol_ends_the_run_by_its_proved_gap(command):
    answer = command(*CALL, "--penalty", "l2", "--lam", "0.1", "--tol", "0.05", "--json")
    assert answer.status == 0, answer.err
    (result,) = answer.of_type("result")
    assert result["status"] == "converged"
    assert "the proved bound of f - f* is at most" in result["message"]
    assert 0.0 < result["dual_gap"] <= 0.05 * result["objective"]
    assert result["violation"] is None
    *before, last = answer.of_type("iterate")
    assert last["dual_gap"] <= 0.05 * last["objective"]
    assert all(record["dual_gap"] > 0.05 * record["objective"] for record in before if record["dual_gap"])
    assert answer.records[0]["lam_max"] is None


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--penalty", "l1", "--lam", "0.1"), "needs a ridge penalty, unlike hinge with penalty l1"),
        (
            ("--penalty", "l2", "--lam-ratio", "0.1"),
            "loss hinge has no gradient and so has no λ_max",
        ),
        (("--penalty", "l2", "--gap", "0.1"), "no solver here finds f* of this problem: give f* as a number"),
        (
            ("--penalty", "l2", "--solver", "prox-qn"),
            "solver prox-qn needs a smooth loss, unlike hinge with penalty l2: choose one of bmrm,",
        ),
    ],
)
def test_what_needs_a_gradient_is_refused_in_a_sentence(command, more, said):
    answer = command(*CALL, *more)
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err
    assert len([line for line in answer.err.splitlines() if line.startswith("solverscope: ")]) == 1


def test_tol_is_refused_where_nothing_proves_a_gap(command, tmp_path):
    text = PLUGIN.read_text(encoding="utf-8").replace("dual_gap=True", "dual_gap=False")
    path = tmp_path / "without_proof.py"
    path.write_text(text.replace("needs = solvers.Trait.RIDGE", "needs = solvers.Trait(0)"))
    call = [word if word != str(PLUGIN) else str(path) for word in CALL]
    answer = command(*call, "--penalty", "l1", "--lam", "0.1", "--tol", "0.1")
    assert answer.status == 2
    assert (
        "a tol of 0.1 needs a smooth loss, a penalty with ridge or a solver that proves its gap" in answer.err
    )
    # with a ridge any subgradient proves one
    answer = command(*call, "--penalty", "l2", "--lam", "0.1", "--tol", "0.1", "--max-iter", "3", "--json")
    assert answer.status == 0, answer.err
    assert answer.of_type("result")[0]["dual_gap"] > 0.0


def test_the_page_draws_its_curves_and_says_what_the_other_views_are_for(visit, wait_until):
    load_file(PLUGIN)
    page = visit(
        data="breast-cancer",
        loss="hinge",
        penalty="l2",
        lam="0.1",
        solvers="averaged-subgradient",
        tol="0.05",
    )
    assert page.notices.objects == []
    page.controls.go()
    (run,) = page.session.runs
    wait_until(lambda: (page.session.tick(), not run.alive)[1])
    page.session.tick()
    assert (run.word, run.message) == ("converged", run.trace.message)
    assert len(run.trace) > 10
    (curve,) = curves(page.convergence.figure)
    assert len(curve.data["y"]) > 10
    for view in TABS.values():
        page.tab_bar.chosen = view.id
        page.session.tick()
        tab = page.tabs[view.id]
        if view.id in ("shrinking", "memory"):
            assert not tab.has_content()
            assert covered(tab)
