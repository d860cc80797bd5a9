"""The lines of a file that are executed are collected, in one thread and of one file."""

from __future__ import annotations

import sys

from solverscope.solvers.compute.line_tracer import LineTracer

SOURCE = """def steps(n):
    for k in range(n):
        if k == 1:
            yield "one"
        else:
            yield "other"
"""


def test_lines_of_a_generator_are_those_from_one_yield_to_the_next():
    made = {}
    exec(compile(SOURCE, "own.py", "exec"), made)
    steps, found = made["steps"](3), []
    for _ in range(3):
        tracer = LineTracer("own.py", {made["steps"].__code__})
        with tracer.following():
            next(steps)
        found.append(tracer.lines)
    assert found == [{2, 3, 6}, {2, 3, 4}, {2, 3, 6}]
    assert tracer.seconds > 0.0
    assert sys.gettrace() is None


def test_another_file_and_another_tracer_are_left_alone():
    made, tracer = {}, LineTracer("other.py", ())
    exec(compile(SOURCE, "own.py", "exec"), made)
    with tracer.following():
        next(made["steps"](1))
    assert tracer.lines == set()

    if sys.version_info >= (3, 12):  # which has tools of their own for debuggers
        return

    def debugger(frame, event, argument):
        return None

    before = sys.gettrace()
    sys.settrace(debugger)
    try:
        with LineTracer("own.py", {made["steps"].__code__}).following():
            next(made["steps"](1))
            assert sys.gettrace() is debugger
    finally:
        sys.settrace(before)
