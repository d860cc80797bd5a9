"""In the browser: a run from yesterday beside one of now, names, deletion and its undoing."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from solverscope import datasets, solvers
from solverscope.app import views
from solverscope.app.runs.archive import PERSISTENT_LIMITS, Archive

from .conftest import Server, complaints

pytestmark = pytest.mark.slow

SMALL = {"data": "breast-cancer", "solvers": "prox-qn", "lam": "0.005", "tol": "1e-6", "tab": "runs"}


@pytest.fixture(scope="module")
def yesterday(tmp_path_factory) -> Path:
    """A home with two runs of yesterday, which no server has written."""
    home = tmp_path_factory.mktemp("home")
    problem = solvers.make_problem(datasets.load("breast-cancer"), loss="logistic", penalty="l1", lam=0.005)
    archive = Archive(home / "runs.sqlite", PERSISTENT_LIMITS)
    for label, params in (("prox-qn", {"memory": 2}), ("slow", {"shrinking": False})):
        solver = solvers.make_solver("prox-qn", **params)
        probes = views.probes(problem)
        stopping = solvers.Stopping(tol=1e-6)
        trace = solvers.Run(problem, solver, label=label, stopping=stopping, probes=probes).execute()
        archive.enter(trace, time.time() - 86_400.0)
    archive.close()
    return home


@pytest.fixture(scope="module")
def server(tmp_path_factory, yesterday):
    server = Server(tmp_path_factory.mktemp("server") / "log", yesterday)
    yield server
    log = server.stop()
    assert complaints(log) == [], log


def lines(tab):
    """What the list says of each run: when, and what it is called."""
    code = "rows => rows.map((row) => [row.cells[1].textContent.split(' ')[0], row.cells[2].textContent])"
    return tab.page.locator(".runs tbody tr").evaluate_all(code)


def listed(tab, *titles):
    tab.wait_until(lambda: {title for _, title in lines(tab)} >= set(titles), f"{titles} in the list")


def test_a_run_from_yesterday_is_compared_with_one_of_now(visit):
    tab = visit(**SMALL)
    listed(tab, "prox-qn #1", "slow #2")
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["finished"], "the end")
    listed(tab, "prox-qn #3")
    # a line of a run that goes on is drawn again and again, maybe between two halves of a click
    tab.page.locator(".runs tbody tr.alive").wait_for(state="detached")
    assert sorted(map(tuple, lines(tab))) == [
        ("today", "prox-qn #3"),
        ("yesterday", "prox-qn #1"),
        ("yesterday", "slow #2"),
    ]
    tab.button("Show prox-qn #1").click()
    tab.wait_until(lambda: len(tab.states()) == 2, "the ghost's row")
    tab.wait_until(lambda: set(tab.curves("convergence")) == {"prox-qn", "prox-qn #1"}, "its curve")
    curves = tab.curves("convergence")
    assert curves["prox-qn"][0] == curves["prox-qn #1"][0]
    assert curves["prox-qn"] != curves["prox-qn #1"]

    for title in ("prox-qn #1", "prox-qn #3"):
        box = tab.page.get_by_label(f"Select {title}")
        box.click()
        tab.wait_until(box.is_checked, f"{title} to be chosen")
    differs = tab.page.locator(".differences tr", has_text="solver: pairs kept m")
    differs.wait_for()
    assert differs.locator("td").all_text_contents() == ["solver: pairs kept m", "2", "auto"]
    assert (
        tab.page.locator(".differences p", has_text="First difference: iteration 3, L-BFGS pairs").count()
        == 1
    )
    tab.button("Show this iterate").click()
    tab.wait_until(
        lambda: tab.page.get_by_role("slider", name="Iteration").input_value() == "3", "the cursor"
    )

    tab.button("Run").click()  # the ghost stays
    listed(tab, "prox-qn #4")
    tab.wait_until(lambda: tab.states() == ["finished", "finished"], "the end")
    tab.button("Remove prox-qn #1 from the plots").click()
    tab.wait_until(lambda: set(tab.curves("convergence")) == {"prox-qn"}, "one curve")


def test_runs_are_deleted_and_put_back(visit):
    tab = visit(**SMALL)
    listed(tab, "prox-qn #1", "slow #2")
    tab.button("Delete slow #2").click()
    tab.wait_until(lambda: "slow #2" not in dict(map(reversed, lines(tab))), "the line to go")
    tab.page.get_by_text("1 run was deleted.").wait_for()
    tab.button("Undo").click()
    listed(tab, "slow #2")
    tab.wait_until(lambda: tab.button("Undo").count() == 0, "nothing to be undone")


def test_a_run_is_renamed_and_pinned_for_all_pages(visit):
    tab = visit(**SMALL)
    listed(tab, "slow #2")
    tab.button("Rename slow #2").click()
    field = tab.page.get_by_label("Name of slow #2")
    field.fill("without shrinking")
    listed_before = len(lines(tab))
    other = visit(**SMALL)
    other.button("Run").click()
    other.wait_until(lambda: len(lines(other)) > listed_before, "one more run in the list of the other page")
    assert field.input_value() == "without shrinking"
    field.press("Enter")
    listed(tab, "without shrinking #2")
    tab.button("Pin without shrinking #2: never delete it").click()
    tab.wait_until(lambda: lines(tab)[0][1] == "without shrinking #2", "the pinned run to stand first")
    other.page.reload()
    listed(other, "without shrinking #2")
    assert lines(other)[0][1] == "without shrinking #2"
