"""Odd yields, errors and texts of solvers end in a sentence, never in a traceback or a wrong number."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers import Iterate, Run, Solver
from tests.solvers.helpers import binary

NAN = float("nan")


@pytest.fixture(scope="module")
def problem():
    return solvers.make_problem(binary(n=40), penalty="l2", lam=0.1)


@dataclass(frozen=True)
class Odd(Solver):
    """Yields what ``makes(point, n)`` returns, after one good iterate."""

    id, name, summary = "odd", "Odd", "for tests"

    makes: object = None

    def iterate(self, problem, w0=None):
        point = problem.at(w0)
        yield Iterate.at(point, 0)
        for n in itertools.count(1):
            yield self.makes(point, n)


def _at(**known):
    return lambda point, n: Iterate.at(point, n, **known)


def _weights(w):
    return lambda point, n: Iterate(n, objective=point.objective, w=w(point.w))


ODD = {
    "no-iterate": (lambda point, n: (n, point.objective), "odd yields tuple: yield solvers.Iterate.at"),
    "same-number": (
        lambda point, n: Iterate.at(point, 0),
        "iterate 0 after iterate 0: number iterates upwards",
    ),
    "fraction": (lambda point, n: Iterate.at(point, n + 0.5), "number 1.5: give it a whole number"),
    "true": (lambda point, n: Iterate.at(point, True), "number True: give it a whole number"),
    "text-as-number": (_at(violation="small"), "'small' for violation at iteration 1: give a number"),
    "array-as-number": (_at(step=np.ones(3)), "for step at iteration 1: give a number"),
    "negative-violation": (_at(violation=-1.0), "the violation -1 at iteration 1: it is 0 or more"),
    "event-no-text": (_at(events=("kink", 3)), "3 in events at iteration 1: give a text"),
    "events-one-text": (_at(events="kink"), "'kink' for events at iteration 1: give a tuple of texts"),
    "own-text": (_at(own={"radius": "wide"}), "radius is a str: give a number, true or false"),
    "own-taken": (_at(own={"label": 1.0}), "'label' cannot be a field of its own: take another name"),
    "phase-no-text": (_at(phase=3), "3 in phase at iteration 1: give a text"),
    "nan-weight": (_weights(lambda w: np.full(w.size, NAN)), "weight 0 became nan at iteration 1"),
    "inf-weight": (_weights(lambda w: np.append(w[1:], np.inf)), "became inf at iteration 1, 1 of"),
    "weights-list": (_weights(list), "for w at iteration 1: give an array of"),
    "weights-texts": (_weights(lambda w: w.astype(str)), "for w at iteration 1: give an array of"),
    "weights-too-few": (_weights(lambda w: w[1:]), "for w at iteration 1: give an array of"),
}


@pytest.mark.parametrize(("makes", "said"), ODD.values(), ids=ODD)
def test_what_is_no_iterate_fails_in_a_sentence_and_the_trace_stays(problem, makes, said):
    trace = solvers.solve(problem, Odd(makes), max_iter=5, on_error="keep")
    assert trace.status == "failed"
    assert said in trace.message
    assert "Error" not in trace.message
    assert len(trace) == 1
    assert trace.result["message"] == trace.message


def test_a_bare_line_is_refused_in_a_sentence_and_a_log_is_drawn(problem):
    def bare(point, n):
        return Iterate.at(point, n, live={"line": problem.line(point, np.ones(problem.size))})

    trace = solvers.solve(problem, Odd(bare), probes=[solvers.LINE], max_iter=1, on_error="keep")
    assert "yields a Line as its line at iteration 1: give the result of its search" in trace.message

    def own_search(point, n):
        log = problem.line(point, np.ones(problem.size)).log()
        log.note(1.0, point.objective + 1.0, point.objective)
        return Iterate.at(point, n, step=0.0, ls_trials=1, live={"line": log})

    trace = solvers.solve(problem, Odd(own_search), probes=[solvers.LINE], max_iter=1)
    assert isinstance(problem.line(problem.at(), np.ones(problem.size)).log(), solvers.Search)
    ((_, seen),) = trace.probes.entries("line")
    assert seen["t"].tolist() == [1.0]
    assert seen["straight"]


def test_iterates_that_go_back_are_said(problem):
    trace = solvers.solve(
        problem, Odd(lambda point, n: Iterate.at(point, 7 - n)), max_iter=50, on_error="keep"
    )
    assert (trace.status, len(trace)) == ("failed", 2)
    assert "iterate 5 after iterate 6" in trace.message


def test_numbers_of_numpy_are_numbers(problem):
    known = {"violation": np.float32(1.0), "nnz": np.int64(3), "step": np.array(0.5)}
    trace = solvers.solve(problem, Odd(lambda point, n: Iterate.at(point, np.int64(n), **known)), max_iter=2)
    assert trace.status == "max-iter", trace.message
    assert trace.step[-1] == 0.5


def test_commands_to_a_terminal_and_marks_of_direction_reach_no_record(problem):
    bad = "re\x1b[31md\u202e\x07\u2066"
    said = {"events": (bad,), "phase": bad, "ls_kind": bad}
    makes = _at(**said)

    def then_raises(point, n):
        if n == 2:
            raise ArithmeticError(bad)
        return makes(point, n)

    trace = solvers.solve(problem, Odd(then_raises), max_iter=5, on_error="keep")
    assert trace.events[-1] == ("red",)
    assert trace.phase[-1] == trace.ls_kind[-1] == "red"
    assert trace.message.startswith("ArithmeticError: red (")
    assert trace.result["message"] == trace.message


@pytest.mark.parametrize("code", [None, 0, 3, "enough"])
def test_a_solver_that_ends_the_program_fails_alone(problem, code):
    def exits(point, n):
        raise SystemExit(code)

    trace = solvers.solve(problem, Odd(exits), max_iter=5, on_error="keep")
    assert (trace.status, len(trace)) == ("failed", 1)
    how = "sys.exit" if code is None else f"sys.exit ({code})"
    assert trace.message.startswith(f"the solver raised {how}, which ends a program")


def test_a_keyboard_interrupt_in_a_thread_is_the_solver_s_own(problem):
    """Ctrl-C reaches the main thread alone."""

    def interrupts(point, n):
        raise KeyboardInterrupt

    run = Run(problem, Odd(interrupts))
    thread = threading.Thread(target=run.execute)
    thread.start()
    thread.join()
    assert run.trace.status == "failed"
    assert run.trace.message.startswith("the solver raised KeyboardInterrupt")
