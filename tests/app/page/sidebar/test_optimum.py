"""f* is solved for once for every problem among the runs, as long as there is a run on it."""

from __future__ import annotations

import os
import threading
from functools import partial

import pytest

from solverscope import datasets, solvers
from solverscope.app.page.sidebar.optimum import Optimum
from solverscope.app.runs import reference
from solverscope.app.runs.live import LiveRun
from solverscope.app.runs.pool import MAX_PER_SHARE
from solverscope.app.runs.reference import Reference
from solverscope.solvers import Stopping
from tests.app.helpers import press


@pytest.fixture
def optimum(session):
    optimum = Optimum(session)
    session.watchers.append(optimum)
    return optimum


@pytest.fixture
def other_problem(small_problem):
    return small_problem.with_penalty(solvers.PENALTIES["l2"]())


class Solving:
    """In place of the reference solve: what was asked for, and an answer when it is allowed."""

    def __init__(self):
        self.asked, self.may_end = [], threading.Event()
        self.may_end.set()

    def __call__(self, problem, gate):
        self.asked.append(problem.penalty.id)
        while not self.may_end.is_set():
            gate.pulse()
            os.sched_yield()
        return Reference(0.01, 0.0, None, "prox-qn", cached=False)


@pytest.fixture
def solving(monkeypatch):
    solving = Solving()
    monkeypatch.setattr("solverscope.app.page.sidebar.optimum.reference", solving)
    return solving


def run_of(problem, label="", solver="prox-gd", **stopping):
    stopping = {"tol": 1e-2, "max_iter": 200} | stopping
    return partial(
        LiveRun,
        make_problem=lambda worker: problem,
        solver=solvers.make_solver(solver),
        label=label or problem.penalty.id,
        stopping=lambda problem: Stopping(**stopping),
    )


def endless(problem):
    return run_of(problem, tol=0.0, max_iter=10**9, max_seconds=1e6)


def race(session, runs, wait_until):
    """To their end, before anybody looks: which one ends first does not matter."""
    with session.share.pool.lock:
        session.launch(runs)
    wait_until(lambda: not session.alive)


def shown(optimum):
    return optimum.button.visible


def test_f_star_of_every_problem_among_the_runs_is_found(
    session, optimum, solving, small_problem, other_problem, wait_until
):
    solving.may_end.clear()
    race(session, [run_of(small_problem), run_of(small_problem, "again"), run_of(other_problem)], wait_until)
    wait_until(lambda: (session.tick(), solving.asked)[1])
    assert optimum.text.object == "l1: solving for f* …"
    assert optimum.button.label == "Give up"
    solving.may_end.set()
    wait_until(lambda: (session.tick(), optimum.text.object == "f* known for 2 of 2 problems")[1])
    assert solving.asked == ["l1", "l2"]
    assert [trace.info.f_star for trace in session.traces] == [0.01] * 3
    assert not shown(optimum)


def test_the_button_stays_while_f_star_of_any_problem_is_not_known(
    session, optimum, solving, small_problem, other_problem, wait_until
):
    session.launch([run_of(small_problem), endless(other_problem)])
    one = "f* known for 1 of 2 problems · l2: f* not known yet"
    wait_until(lambda: (session.tick(), optimum.text.object == one)[1])
    assert solving.asked == ["l1"], "no run on the other one has ended"
    assert shown(optimum)
    assert optimum.button.label == "Find f*"
    press(optimum.button)
    wait_until(lambda: (session.tick(), optimum.text.object == "f* known for 2 of 2 problems")[1])
    assert not shown(optimum)


def test_f_star_of_a_function_without_a_minimum_is_not_offered(session, optimum, solving, wait_until):
    problem = solvers.make_problem(datasets.load("toy-wolfe"))
    race(session, [run_of(problem, "falls", "subbfgs", tol=None, max_iter=50)], wait_until)
    session.tick()
    assert session.traces[0].status == "unbounded"
    assert optimum.text.object == "f is unbounded below, so there is no f*"
    assert not shown(optimum)
    assert solving.asked == []


def test_clear_ends_the_search_and_the_next_problem_gets_its_own(
    session, optimum, solving, small_problem, other_problem, wait_until
):
    solving.may_end.clear()
    session.launch([run_of(small_problem)])
    wait_until(lambda: (session.tick(), solving.asked)[1])
    session.clear()
    wait_until(lambda: (session.tick(), not session.computing)[1])
    assert not shown(optimum)
    solving.may_end.set()
    session.launch([run_of(other_problem)])
    wait_until(lambda: (session.tick(), optimum.text.object == "f* = 0.01")[1])
    session.launch([run_of(small_problem)])
    wait_until(lambda: (session.tick(), len(solving.asked) == 3)[1])
    wait_until(lambda: (session.tick(), optimum.text.object == "f* = 0.01")[1])
    assert solving.asked == ["l1", "l2", "l1"], "what was ended for want of a run is not refused"


def test_a_new_run_on_the_same_problem_does_not_end_the_search(
    session, optimum, solving, small_problem, wait_until
):
    solving.may_end.clear()
    session.launch([run_of(small_problem)])
    wait_until(lambda: (session.tick(), solving.asked)[1])
    with session.share.pool.lock:  # no slice: the problem of the new run is not known yet
        session.launch([run_of(small_problem)])
        session.tick()
    wait_until(lambda: (session.tick(), not session.alive)[1])
    solving.may_end.set()
    wait_until(lambda: (session.tick(), optimum.text.object == "f* = 0.01")[1])
    assert solving.asked == ["l1"]


def test_what_was_given_up_is_not_begun_again_until_it_is_asked_for(
    session, optimum, solving, small_problem, other_problem, wait_until
):
    solving.may_end.clear()
    race(session, [run_of(small_problem), run_of(other_problem)], wait_until)
    wait_until(lambda: (session.tick(), solving.asked)[1])
    press(optimum.button)
    wait_until(lambda: (session.tick(), not session.computing)[1])
    session.tick()
    assert solving.asked == ["l1"]
    assert optimum.text.object == "l1: f* not known"
    assert optimum.button.label == "Find f*"
    solving.may_end.set()
    press(optimum.button)
    wait_until(lambda: (session.tick(), optimum.text.object == "f* known for 2 of 2 problems")[1])
    assert solving.asked == ["l1", "l1", "l2"]


def test_a_problem_without_f_star_does_not_keep_the_next_one_from_its_own(
    session, optimum, small_problem, other_problem, wait_until, monkeypatch
):
    def only_l2(problem, gate):
        if problem.penalty.id != "l2":
            raise ValueError("no solver here finds <f*>")
        return Reference(0.01, 0.0, None, "prox-qn", cached=False)

    monkeypatch.setattr("solverscope.app.page.sidebar.optimum.reference", only_l2)
    session.launch([run_of(small_problem), run_of(other_problem)])
    said = "f* known for 1 of 2 problems · l1: no solver here finds &lt;f*&gt;"
    wait_until(lambda: (session.tick(), optimum.text.object == said)[1])
    assert shown(optimum)


def test_a_full_pool_is_said_when_asked_and_tried_again_at_each_tick(
    session, optimum, solving, small_problem, wait_until, monkeypatch
):
    updated = []

    class Last:
        def update(self):
            updated.append(True)

    session.watchers.append(Last())
    session.launch([endless(small_problem)])
    wait_until(lambda: (session.tick(), optimum.text.object == "f* not known yet")[1])
    monkeypatch.setattr("solverscope.app.runs.pool.MAX_PER_SHARE", 1)
    updated.clear()
    press(optimum.button)
    assert updated, "the other watchers are brought up to date"
    assert "waits for a free slot: 1 runs are alive: stop some" in optimum.text.object
    monkeypatch.setattr("solverscope.app.runs.pool.MAX_PER_SHARE", MAX_PER_SHARE)
    wait_until(lambda: (session.tick(), optimum.text.object == "f* = 0.01")[1])


def test_a_full_pool_is_no_word_for_who_did_not_ask(
    session, optimum, solving, small_problem, wait_until, monkeypatch
):
    session.launch([run_of(small_problem)])
    monkeypatch.setattr("solverscope.app.runs.pool.MAX_PER_SHARE", 0)
    wait_until(lambda: (session.tick(), not session.alive)[1])
    session.tick()
    assert optimum.text.object == "f* not known yet"
    monkeypatch.setattr("solverscope.app.runs.pool.MAX_PER_SHARE", MAX_PER_SHARE)
    wait_until(lambda: (session.tick(), optimum.text.object == "f* = 0.01")[1])


def test_an_f_star_that_a_run_is_below_is_believed_no_longer(
    session, optimum, small_problem, wait_until, monkeypatch, tmp_path
):
    monkeypatch.setenv("SOLVERSCOPE_HOME", str(tmp_path))
    high = 0.9 * small_problem.at().objective
    reference.keep(small_problem, Reference(high, 0.0, None, "prox-qn", cached=False))
    known = optimum.of(small_problem, None)
    assert known == high
    session.launch([run_of(small_problem, "prox-gd", f_star=known)])
    wait_until(lambda: (session.tick(), not session.alive)[1])
    session.tick()
    assert session.runs[0].trace.info.f_star is None
    assert "is not the minimum, prox-gd is below it" in optimum.text.object
    assert optimum.button.label == "Find f*"
    assert reference.cached(small_problem) is None
