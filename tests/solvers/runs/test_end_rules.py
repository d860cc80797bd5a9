"""Limits and claims, tested on records without a run."""

import math

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers import Stopping
from solverscope.solvers.runs.end_rules import EndRules
from solverscope.solvers.runs.gate import RunPulse
from solverscope.solvers.runs.observer import Observer
from tests.solvers.helpers import binary


@pytest.fixture
def problem():
    return solvers.make_problem(binary(), loss="logistic", penalty="l2", lam=0.1)


def rules_of(problem, **limits):
    observer = Observer(problem, RunPulse(None))
    rules = EndRules(problem, Stopping(**limits), observer)
    rules.begin(problem)
    return rules, observer


def record_of(point, **more):
    numbers = {"objective": point.objective, "violation": point.violation(), "dual_gap": math.nan}
    return {"iteration": 3, "cpu_seconds": 1.0, **numbers, **more}


@pytest.mark.parametrize(
    ("limits", "status"), [({"max_iter": 3}, "max-iter"), ({"max_seconds": 0.5}, "max-seconds")]
)
def test_a_limit_ends_a_run_at_its_record(problem, limits, status):
    rules, _ = rules_of(problem, **limits)
    assert rules.ending(record_of(problem.at()), problem.at().w).status == status


def test_a_run_goes_on_before_its_limits(problem):
    rules, _ = rules_of(problem, max_iter=4, tol=1e-6)
    assert rules.ending(record_of(problem.at()), problem.at().w) is None


def test_the_minimum_has_converged_and_its_point_is_measured_once(problem):
    w = solvers.solve(problem, solvers.make_solver("lbfgs"), tol=1e-9).w
    rules, observer = rules_of(problem, tol=1e-6)
    assert rules.ending(record_of(problem.at(w)), w).status == "converged"
    assert observer.budget.spent >= 0.0
    assert observer.newest(np.zeros(problem.size)).w is w, "what was measured is kept until it is forgotten"


def test_a_claim_that_is_false_ends_the_run_for_the_final_check_to_dispute(problem):
    rules, _ = rules_of(problem, tol=1e-6)
    claimed = record_of(problem.at(), violation=0.0)
    assert rules.ending(claimed, problem.at().w).status == "converged"
    assert rules.excess is None


def test_a_lower_f_elsewhere_contradicts_convergence(problem):
    rules, _ = rules_of(problem, tol=1e-6)
    low = problem.at(solvers.solve(problem, solvers.make_solver("lbfgs"), tol=1e-9).w)
    rules.known.most = low.objective
    assert rules.near_minimum(low)
    assert not rules.near_minimum(problem.at())
    assert rules.excess == pytest.approx(problem.at().objective - low.objective)
    rules.begin(problem)
    assert rules.known.most == problem.at().objective, "at another λ nothing else is known"
