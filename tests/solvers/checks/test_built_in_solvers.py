"""No false alarm on any solver of the registry that is written down here."""

from __future__ import annotations

import pytest

from solverscope import solvers
from solverscope.solvers.checks.bank import cases_for
from tests.solvers.helpers import HOUSE

#: The step that FOBOS chooses on a few samples is far too short, as in the tests of all pairs.
PARAMS = {"fobos": {"eta0": 0.5}}
QUICK = ("prox-qn", "lbfgs")


@pytest.mark.quick(*QUICK)
@pytest.mark.parametrize("id", HOUSE)
def test_a_built_in_solver_is_left_in_peace(id):
    solver = solvers.make_solver(id, **PARAMS.get(id, {}))
    report = solvers.check_solver(solver, cases=cases_for(solver)[:1], shrink=False)
    assert [str(finding) for finding in report.findings] == []
    assert report.left == []
