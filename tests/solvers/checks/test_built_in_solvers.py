"""No false alarm on any solver of the registry that is written down here."""

from __future__ import annotations

import pytest

from solverscope import solvers
from solverscope.solvers.checks.bank import SOLVER_CHECKS, cases_for
from solverscope.solvers.checks.bench import Bench
from tests.solvers.helpers import HOUSE

#: The step that FOBOS chooses on a few samples is far too short, as in the tests of all pairs.
PARAMS = {"fobos": {"eta0": 0.5}}
QUICK = ("prox-qn", "lbfgs")


#: Checks of a few iterates.
SHORT = (
    "start_is_left_as_it_is",
    "first_iterate_is_the_start",
    "data_are_left_as_they_are",
    "runs_repeat_bit_for_bit",
)


@pytest.mark.parametrize("id", HOUSE)
def test_a_run_begins_at_its_start_repeats_and_changes_nothing_of_the_callers(id):
    solver = solvers.make_solver(id, **PARAMS.get(id, {}))
    bench = Bench(solver, cases_for(solver)[0], max_iter=4)
    names = {*SHORT, "bounds_hold_at_the_optimum"} if solver.knows.dual_gap else {*SHORT}
    found = {check.name: check.outcome(bench) for check in SOLVER_CHECKS if check.name in names}
    assert found.keys() == names
    if id == "dual-cd":  # it tells a bound now and then, none of its first iterates
        assert found.pop("bounds_hold_at_the_optimum") == "no iterate tells dual_gap"
    if not solver.takes_start:
        assert found.pop("start_is_left_as_it_is") == "it takes no start"
    if solvers.Trait.DUAL_COORDINATES in solver.needs:
        assert found.pop("first_iterate_is_the_start") == "it starts from variables of the dual"
    assert {*found.values()} == {None}


@pytest.mark.quick(*QUICK)
@pytest.mark.parametrize("id", HOUSE)
def test_a_built_in_solver_is_left_in_peace(id):
    solver = solvers.make_solver(id, **PARAMS.get(id, {}))
    report = solvers.check_solver(solver, cases=cases_for(solver)[:1], shrink=False)
    assert [str(finding) for finding in report.findings] == []
    assert report.left == []
