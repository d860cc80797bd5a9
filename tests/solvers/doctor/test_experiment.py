"""A second run confirms a finding if it costs less for the same, and refutes it otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from solverscope import datasets, solvers
from solverscope.solvers import Finding, Remedy, Trace
from solverscope.solvers.doctor.experiment import judge, trial_of


def run(*objectives, seconds=1.0, status="converged", **info):
    records = [
        {"iteration": k, "objective": f, "cpu_seconds": seconds * k, "passes": 1.0 * k, "violation": f}
        for k, f in enumerate(objectives)
    ]
    trace = Trace.from_records(records, status=status, **info)
    trace.result = {"status": status, "violation": objectives[-1], "test_metric": 0.9}
    return trace


@pytest.fixture(scope="module")
def problem():
    return solvers.make_problem(datasets.load("breast-cancer"), penalty="l2", lam=0.1)


@pytest.fixture
def finding():
    solver = solvers.make_solver("lbfgs", memory=20)
    return Finding("memory-too-short", "…", 0.5, "…", Remedy("memory=20", solver))


FIRST = (8.0, 4.0, 2.0, 1.5, 1.0)


def test_a_run_that_is_faster_to_the_same_objective_confirms(finding, problem):
    first = run(*FIRST)
    trial = trial_of(finding, first, problem)
    (condition,) = trial.stopping.breaks
    assert condition.holds({"objective": 1.0}, {})
    assert not condition.holds({"objective": 1.001}, {})
    outcome = judge(finding, trial, first, run(8.0, 2.0, 1.0, 0.5))
    assert outcome.confirmed
    assert (outcome.first.iterations, outcome.second.iterations, outcome.factor) == (4, 2, 2.0)
    assert outcome.text == (
        "memory=20: 2 CPU s and 2 iterations in place of 4 CPU s and 4 iterations, to f = 1.000007"
    )


@pytest.mark.parametrize("objectives", [FIRST, (8.0, 4.0, 3.0), (8.0, 7.0, 6.0, 5.0, 4.0, 1.0)])
def test_a_run_that_is_as_slow_or_does_not_get_there_refutes(finding, problem, objectives):
    first = run(*FIRST)
    trial = trial_of(finding, first, problem)
    assert not judge(finding, trial, first, run(*objectives)).confirmed


def test_what_counts_is_fixed_when_the_second_run_starts(finding, problem):
    first = run(*FIRST[:3])
    trial = trial_of(finding, first, problem)
    first.append({"iteration": 3, "objective": 0.1, "cpu_seconds": 3.0})
    assert judge(finding, trial, first, run(8.0, 2.0)).confirmed


def test_a_lower_f_confirms_where_the_first_run_stalled(finding, problem):
    first = run(*FIRST, status="stalled")
    trial = trial_of(finding, first, problem)
    outcome = judge(finding, trial, first, run(8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 0.5))
    assert outcome.confirmed
    assert outcome.text.endswith("f fell to 0.5, and stalled at 1 before")


def test_another_problem_is_compared_at_the_same_relative_violation(problem):
    finding = Finding("lam-too-small", "…", 0.5, "…", Remedy("λ=1", problem={"lam": 1.0}))
    first = run(*FIRST)
    trial = trial_of(finding, first, problem)
    assert trial.stopping.tol == pytest.approx(1.0 / problem.violation_at_zero(), rel=0.01)
    second = run(80.0, 10.0, status="stopped")
    trial = replace(trial, violation=0.125)
    assert judge(finding, trial, first, second).confirmed
    second.result["test_metric"] = 0.5
    worse = judge(finding, trial, first, second)
    assert not worse.confirmed, "a λ that spoils the model is no cure"
    assert worse.text.endswith("0.5, before 0.9")


def test_set_up_counts_where_it_is_the_disease(problem):
    finding = Finding("time-in-setup", "…", 0.5, "…", Remedy("less", problem={"x": 1}, setup=True))
    first, second = run(*FIRST), run(8.0, 4.0, 2.0, 1.5, 1.0)
    first.result["setup_seconds"], second.result["setup_seconds"] = 10.0, 0.0
    trial = replace(trial_of(finding, first, problem), violation=1.0)
    assert trial.before.seconds == 14.0
    assert judge(finding, trial, first, second).confirmed


def test_a_finding_is_proved_in_python(problem):
    trace = solvers.solve(problem, solvers.make_solver("gd", line_search="armijo"), max_iter=100)
    finding = Finding("wrong-tool", "…", 0.5, "…", Remedy("lbfgs", solvers.make_solver("lbfgs")))
    outcome = solvers.prove(finding, trace, problem)
    assert outcome.confirmed
    assert outcome.second.iterations < outcome.first.iterations


def test_what_cannot_be_tried_is_refused_in_a_sentence(finding, problem):
    with pytest.raises(ValueError, match="no experiment is known for memory-too-short"):
        solvers.prove(replace(finding, remedy=None), run(*FIRST), problem)
    scaled = replace(finding, remedy=Remedy("scale=standard", problem={"options": {"scale": "standard"}}))
    with pytest.raises(
        ValueError, match="scale=standard needs the recipe of the data: use `solverscope why`"
    ):
        solvers.prove(scaled, run(*FIRST), problem)
