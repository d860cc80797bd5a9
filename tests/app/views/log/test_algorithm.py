"""The algorithm of a run says which of its steps the iterate under the cursor tells about."""

from __future__ import annotations

import re

import numpy as np
import pytest

from solverscope.app.views import Algorithm
from solverscope.app.views.log.algorithm import typeset
from solverscope.solvers import SOLVERS, Trace, pseudocode
from solverscope.solvers.compute.user_code import UserCode
from solverscope.solvers.probes.probe import CODE_LINES, ProbeStore
from tests.app.helpers import text

RECORDS = [
    {"iteration": 0, "objective": 3.0, "working_set": 7, "nnz": 0, "violation": 0.5},
    {
        **{"iteration": 1, "objective": 2.0, "working_set": 5, "nnz": 2, "step": 0.25, "ls_trials": 3},
        **{"inner_iterations": 4, "memory_pairs": 1, "gamma": 1.5, "events": ("curvature-skipped",)},
    },
]


def trace(solver: str = "prox-qn", label: str = "run") -> Trace:
    made = Trace.from_records(RECORDS, label=label)
    made.tell(solver=solver)
    return made


def told(view: Algorithm) -> list[str]:
    return re.findall(r'<li aria-current="step"[^>]*>(.*?)</li>', text(view))


def test_the_steps_of_the_iterate_under_the_cursor_stand_out_with_its_numbers():
    run = trace()
    view = Algorithm(run)
    view.cursor.place(run, 1)
    steps = told(view)
    assert any("t = 0.25, trials: 3" in step for step in steps)
    assert any("skip the pair" in step for step in steps)
    assert not any("w ← 0" in step for step in steps)
    view.cursor.place(run, 0)
    steps = told(view)
    assert any("w ← 0" in step for step in steps)
    assert any("M = 0.5" in step for step in steps)
    assert not any("trials" in step for step in steps)


def test_an_algorithm_is_written_as_html_with_indices():
    written = text(Algorithm(trace(label="<b>x</b>")))
    assert "w<sub>j</sub>" in written
    assert "<b>x</b>" not in written
    assert "if sᵀy &gt; 0" in written


@pytest.mark.parametrize("solver", [solver for solver in SOLVERS if pseudocode(SOLVERS[solver]) is not None])
def test_an_index_is_a_whole_one_and_names_of_parameters_have_none(solver):
    for step in pseudocode(SOLVERS[solver]).steps:
        written = typeset(step.text)
        assert not re.search(r"</sub>[A-Za-z0-9]", written), written
        assert written.count("<sub>") <= step.text.count("_")


def test_a_solver_that_nobody_has_written_down_has_none():
    view = Algorithm(trace("mine"))
    assert not view.has_content()
    assert 'class="steps"' not in text(view)


def test_python_of_a_plugin_is_shown_with_the_lines_that_an_iterate_has_executed():
    run = trace("no-solver-of-ours")
    run.code = UserCode("/somewhere/mine.py", "a = 1\nb = a < 2\nc = 3\n", "12ab")
    run.probes = ProbeStore.of([(1, {CODE_LINES.name: {"lines": np.array([2, 3])}})])
    view = Algorithm(run)
    view.cursor.place(run, 1)
    assert "mine.py" in text(view)
    assert "code 12ab" in text(view)
    assert told(view) == ["b = a &lt; 2", "c = 3"]
    assert not run.follows_lines
    view.lines = True
    assert run.follows_lines
    view.cursor.place(run, 0)
    assert told(view) == []
    assert "the lines of iterate 0 were not followed" in text(view)
