"""No false alarm on other people's programs that are installed here."""

from __future__ import annotations

import pytest

from solverscope import solvers
from solverscope.solvers.checks.bank import cases_for
from tests.solvers.helpers import HERE, HOUSE

#: Those that take a minute each: every run is that of a new process, which compiles.
SLOW_TO_START = {"skglm", "skglm-multitask-lasso"}
RIVALS = [id for id in HERE if id not in HOUSE and id != "relay" and id not in SLOW_TO_START]


@pytest.mark.slow
@pytest.mark.parametrize("id", RIVALS)
def test_a_program_of_others_is_left_in_peace(id):
    solver = solvers.make_solver(id)
    report = solvers.check_solver(solver, cases=cases_for(solver)[:1], shrink=False)
    assert [str(finding) for finding in report.findings] == []
    assert report.left == []
    anew = "iterates_are_numbered" in report.inapplicable
    assert anew == (solver.observation_mode == "run anew")
    # they show neither pairs nor sets
    assert {"pairs_are_counted", "working_set_holds_what_moves"} <= {*report.inapplicable}
