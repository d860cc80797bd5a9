"""What the bank of checks makes of what it finds."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from unittest import SkipTest

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.checks.bank import SOLVER_CHECKS, cases_for, checks_of
from solverscope.solvers.checks.bench import Bench
from solverscope.solvers.checks.observed import Observed
from solverscope.solvers.checks.runs import twin_checks
from solverscope.solvers.checks.suggestion import suggestion
from solverscope.solvers.methods.descent.quasi_newton import LBFGS


@dataclass(frozen=True)
class Steps(solvers.Solver):
    """Steps of the proximal gradient, right unless a subclass changes something."""

    id, name, summary = "steps", "Steps", "for tests"
    needs = solvers.Trait.SMOOTH | solvers.Trait.PROX

    def told(self, n, violation):
        return {"violation": violation}

    def iterate(self, problem, w0=None):
        point, n = problem.at(w0), 0
        curvature = 6.0  # of a squared hinge of three classes
        step = 2.0 / (
            curvature * max(1.0, float((problem.design.column_lengths() ** 2).sum()) * problem.scale)
        )
        while True:
            g = point.gradient()
            about = self.told(n, problem.penalty.violation(point.w, g))
            yield solvers.Iterate.at(point, n, **about)
            point, n = problem.at(problem.penalty.prox(point.w - step * g, step)), n + 1


@dataclass(frozen=True)
class WrongFromThree(Steps):
    """Tells half of the violation from iteration 3 on."""

    def told(self, n, violation):
        return {"violation": violation if n < 3 else 0.5 * violation}


@dataclass(frozen=True)
class Endless(Steps):
    """Never gets to iterate 2."""

    def told(self, n, violation):
        while n == 2:
            n = 2
        return {"violation": violation}


@dataclass(frozen=True)
class Failing(Steps):
    """Divides by zero at iterate 1."""

    def told(self, n, violation):
        return {"violation": violation / (1 - n)}


def only_case(solver):
    return cases_for(solver)[:1]


def test_a_finding_names_quantity_iterate_and_both_numbers_on_a_small_problem():
    report = solvers.check_solver(WrongFromThree, cases=only_case(WrongFromThree()))
    (finding,) = [one for one in report.findings if one.check == "violation_is_that_of_w"]
    assert (finding.tested, finding.quantity, finding.iteration) == ("steps", "violation", 3)
    told, fresh = (float(word.strip(",")) for word in finding.sentence.split() if word[0].isdigit())
    assert told == pytest.approx(0.5 * fresh, rel=1e-4)
    assert finding.case.n_samples < report.cases[0].n_samples
    assert finding.describe()["problem"]["n_samples"] == finding.case.n_samples
    assert "logistic with l1" in str(finding)


@pytest.mark.slow
def test_a_loop_that_never_ends_is_ended_and_its_line_is_named():
    report = solvers.check_solver(Endless, cases=only_case(Endless()))
    (finding,) = report.findings
    assert finding.quantity == "run"
    assert "neither yields nor ends after iterate 1" in finding.sentence
    assert "test_bank.py, line" in finding.sentence
    assert report.left


def test_a_check_with_nothing_to_compare_does_not_count_as_passed():
    report = solvers.check_solver(Steps, cases=only_case(Steps()))
    assert report.inapplicable["epochs_count_from_zero"] == "no iterate tells epoch"
    assert report.inapplicable["pairs_are_counted"] == "no iterate shows its pairs"
    assert not {*report.passed} & {*report.inapplicable}
    assert report.describe()["passed"] == len(report.passed) < 36 - 10
    tests = {name: check for _, name, check in checks_of(Steps())}
    with pytest.raises(SkipTest, match="no iterate tells epoch"):
        tests["epochs_count_from_zero"](Steps())


def test_a_report_without_findings_says_in_a_line_what_would_let_more_checks_apply():
    (line,) = re.findall(r"yield (.*)", solvers.check_solver(Steps, cases=only_case(Steps())).suggestion)
    assert line == 'solvers.Iterate.at(point, n, step=t, live={"gradient": g, "prox_from": y})'
    compile(line, "line", "eval")
    reasons = dict.fromkeys((check.name for check in SOLVER_CHECKS), "no iterate shows it")
    said = suggestion(solvers.make_solver("lbfgs"), reasons)
    assert 'found=found, violation=violation, live={"gradient": g, "memory": pairs, "inverse": ' in said
    assert "prox_from" not in said
    assert not suggestion(Steps(), dict.fromkeys(reasons, "there is one sample"))


def test_an_inverse_may_be_a_function():
    s, y = np.array([1.0, 0.0]), np.array([2.0, 1.0])
    live = {"memory": [(s, y)], "inverse": lambda v: v * 0.5}
    assert Observed.of(solvers.Iterate(1, w=s, live=live)).secant == pytest.approx(0.5)


def test_an_exception_is_a_finding():
    report = solvers.check_solver(Failing, cases=only_case(Failing()), seconds=1.0)
    assert report.findings[0].sentence.startswith("ZeroDivisionError")


def test_a_solver_that_takes_nothing_is_refused():
    @dataclass(frozen=True)
    class Picky(Steps):
        needs = solvers.Trait.CHAINS | solvers.Trait.ONE_SCORE

    with pytest.raises(ValueError, match="takes no loss with any penalty"):
        solvers.check_solver(Picky)


def test_the_first_quantity_in_which_a_twin_differs_is_named():
    solver = solvers.make_solver("lbfgs", memory=3)
    report = solvers.check_solver(solver, twin=solvers.make_solver("lbfgs"), cases=only_case(solver))
    (finding,) = report.findings
    assert finding.check == "iterates_are_those_of_the_twin"
    assert (finding.quantity, finding.iteration) == ("L-BFGS pairs held", 4)


@dataclass(frozen=True)
class OtherRounding(LBFGS):
    """L-BFGS whose γ is rounded otherwise, the more the shorter its pairs are, and that ends earlier."""

    id = "other-rounding"

    def iterate(self, problem, w0=None):
        for it in super().iterate(problem, w0):
            it.gamma *= 1.0 + 1e-15 / it.violation
            yield it
            if it.violation < 1e-7:
                return


def test_twins_are_the_same_up_to_rounding_near_the_optimum_and_to_their_ends():
    solver, twin = OtherRounding(), solvers.make_solver("lbfgs")
    bench = Bench(solver, cases_for(solver)[0], twin=twin)
    (check,) = twin_checks
    both = (one.iterate(bench.problem) for one in (solver, twin))
    assert solvers.compare_runs(*both).difference.name == "gamma"
    assert check.first(bench) is None
    shorter = Bench(replace(solver, memory=2), bench.case, twin=twin)
    assert check.first(shorter).quantity == "L-BFGS pairs held"


def test_a_case_halves_its_samples_and_features_and_keeps_its_rows():
    case = solvers.CheckCase.made("sequences", "chain-crf", "l1")
    first, last, *narrow = case.smaller()
    assert first.n_samples == last.n_samples == case.n_samples // 2
    assert first.offsets[-1] == len(first.X) == len(first.y)
    np.testing.assert_array_equal(np.concatenate([first.X, last.X]), case.X)
    assert {one.X.shape[1] for one in narrow} == {case.X.shape[1] // 2}
    assert not case.savable


@pytest.mark.slow
@solvers.parametrize_with_checks([Steps()])
def test_a_sound_solver_passes_as_tests(solver, check):
    check(solver)


def test_a_test_of_a_check_fails_with_the_sentence():
    tests = {name: check for _, name, check in checks_of(WrongFromThree())}
    with pytest.raises(AssertionError, match="violation is told as"):
        tests["violation_is_that_of_w"](WrongFromThree())
    tests["iterates_are_numbered"](WrongFromThree())
