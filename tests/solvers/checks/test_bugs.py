"""Thirty seeded bugs are found, and the plug-ins without them are left in peace."""

from __future__ import annotations

import pytest

from solverscope import solvers
from solverscope.app.plugins import load_file
from solverscope.solvers.checks.bank import SOLVER_CHECKS, cases_for
from solverscope.solvers.checks.bench import Bench
from tests.solvers.checks.bugs import BUGS, LATER_BUGS, MISSED_BUGS, SOUND, STUDENTS

pytestmark = pytest.mark.usefixtures("registries")
#: Bugs that are sought in the quick tests.
QUICK = {
    "residual in single precision, which drifts",
    "Wolfe with c2 < c1",
}
#: Checks made for bugs that the bank missed.
LATER_CHECKS = (
    "iterate_is_a_proximal_step",
    "accelerated_step_is_short_enough",
    "no_more_pairs_than_memory_says",
)
#: What is not found as what it is: the loop that w makes endless is.
NOT_NAMED = {"w changed in place by each trial"}
#: Plug-ins with one bug each that were written after the checks, with these unseen: ids, and what is wrong.
UNSEEN = {
    "armijo_wrong_sign": ("unseen-scaled", "step"),
    "direction_as_step": ("unseen-lbfgs", "pair"),
    "global_generator": ("unseen-random", "repetition"),
    "last_coordinate": ("unseen-cyclic", "violation"),
    "objective_of_y": ("unseen-fista", "objective"),
    "start_ignored": ("unseen-ista", "w0"),
}


def cases():
    for bug in BUGS:
        marks = [] if bug.title in QUICK else [pytest.mark.slow]
        yield pytest.param(bug, id=f"{bug.student}: {bug.title}", marks=marks)


def checked(path, id, most):
    load_file(path)
    solver = solvers.make_solver(id)
    return solvers.check_solver(solver, cases=cases_for(solver)[:most], shrink=False)


@pytest.mark.parametrize("bug", [*cases()])
def test_a_bug_is_found_by_a_sentence_about_what_is_wrong(bug, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(bug.text(), encoding="utf-8")
    report = checked(path, SOUND[bug.student], 1)
    assert report.findings
    named = {finding.quantity for finding in report.findings} & bug.quantities
    assert bool(named) == (bug.title not in NOT_NAMED)
    assert len(NOT_NAMED) <= 2


@pytest.mark.parametrize("bug", MISSED_BUGS, ids=lambda bug: bug.title)
def test_a_bug_that_the_bank_once_missed_is_found(bug, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(bug.text(), encoding="utf-8")
    load_file(path)
    solver = solvers.make_solver(SOUND[bug.student])
    bench = Bench(solver, cases_for(solver)[0])
    found = {check.quantity: check.first(bench) for check in SOLVER_CHECKS if check.name in LATER_CHECKS}
    assert {quantity for quantity, fault in found.items() if fault} == bug.quantities


@pytest.mark.parametrize("bug", LATER_BUGS, ids=lambda bug: bug.title)
def test_a_ridge_that_is_forgotten_shows_where_f_is_at_rest(bug, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(bug.text(), encoding="utf-8")
    load_file(path)
    assert "violation" in at_rest(bug.student)


def test_without_a_bug_no_ridge_is_forgotten():
    load_file(STUDENTS / "ista.py")
    assert [*at_rest("ista")] == []


def at_rest(student):
    """What is wrong where f is at rest, on each case with a ridge."""
    solver = solvers.make_solver(SOUND[student])
    (check,) = [check for check in SOLVER_CHECKS if check.name == "rest_is_at_a_minimum"]
    for case in cases_for(solver):
        if case.problem().penalty.ridge and (fault := check.first(Bench(solver, case))) is not None:
            assert "; without the ridge it is " in fault.sentence
            yield check.quantity


@pytest.mark.slow
@pytest.mark.parametrize("name", UNSEEN)
def test_a_bug_by_somebody_who_had_not_seen_the_checks_is_found(name):
    id, quantity = UNSEEN[name]
    report = checked(STUDENTS.parent / "unseen" / f"{name}.py", id, 1)
    assert quantity in {finding.quantity for finding in report.findings}


@pytest.mark.quick("lbfgs")
@pytest.mark.parametrize("name", SOUND)
def test_a_plug_in_without_a_bug_is_left_in_peace(name):
    report = checked(STUDENTS / f"{name}.py", SOUND[name], 1)
    assert report.findings == []
    assert len(report.passed) > 10
    assert len(report.passed) + len(report.inapplicable) > 30


def test_thirty_bugs_are_in_five_plug_ins():
    assert len(BUGS) == len({bug.text() for bug in BUGS}) == 30
    assert len({bug.student for bug in BUGS}) == 5
