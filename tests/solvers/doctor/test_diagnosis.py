"""Each planted disease is found, and a run without one is left alone."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.app.plugins import load_file
from solverscope.solvers.doctor.diagnosis import DIAGNOSTIC_RULES
from solverscope.solvers.doctor.evidence import Evidence
from tests.diseases import DISEASES, UNSEEN_DISEASES
from tests.solvers.checks.bugs import STUDENTS

#: Diseases whose run takes less than half a second: these are sought in the quick suite, too.
QUICK = (
    "L-BFGS with one pair",
    "gradient descent on a hinge loss",
    "stochastic steps that are far too short",
    "a tolerance below rounding",
    "adaptive factors for a run of two iterations",
)
#: Of the twenty, so many at least are named first or second.
NAMED = 18


def ids(disease) -> list[str]:
    problem, solver, limits = disease.make()
    trace = solvers.solve(problem, solver, **limits)
    return [finding.id for finding in solvers.why_slow(trace, problem)]


@pytest.mark.parametrize(
    "disease", [one for one in DISEASES if one.name in QUICK], ids=lambda one: one.finding
)
def test_a_disease_is_named_first_or_second(disease):
    assert disease.finding in ids(disease)[:2]


@pytest.mark.slow
def test_of_the_twenty_diseases_eighteen_are_named_first_or_second():
    assert len(DISEASES) == 20
    missed = [one.name for one in DISEASES if one.finding not in ids(one)[:2]]
    assert len(DISEASES) - len(missed) >= NAMED, missed


@pytest.mark.parametrize("name", ["L-BFGS with one pair", "a tolerance below rounding"])
def test_the_cure_takes_the_finding_away(name):
    disease = next(one for one in DISEASES if one.name == name)
    problem, solver, limits = disease.make(**disease.cure)
    found = solvers.why_slow(solvers.solve(problem, solver, **limits), problem)
    assert disease.finding not in [finding.id for finding in found]


def test_a_run_that_ends_at_once_has_no_finding():
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam=0.01)
    trace = solvers.solve(problem, solvers.make_solver("newton-cd"), tol=1e-6)
    assert solvers.why_slow(trace) == []


def test_findings_say_what_they_cost_and_where_they_are_explained():
    disease = next(one for one in DISEASES if one.name == "gradient descent on a hinge loss")
    problem, solver, limits = disease.make()
    found = solvers.why_slow(solvers.solve(problem, solver, **limits), problem)
    shares = [finding.share for finding in found]
    assert shares == sorted(shares, reverse=True)
    assert all(0.0 < share <= 1.0 for share in shares)
    assert found[0].text.startswith("f has kinks, and gd follows one subgradient: it stalled after")
    assert found[0].reference == "Yu et al. 2010, section 2.1, (L)BFGS on nonsmooth objectives"
    assert found[0].remedy.solver == solvers.make_solver("ls-bmrm")


@pytest.mark.parametrize("rule", DIAGNOSTIC_RULES, ids=lambda rule: rule.__name__)
def test_a_rule_takes_a_run_whose_solver_is_not_known_here(rule):
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam=0.01)
    records = [{"iteration": k, "objective": 1.0 / (k + 1.0), "cpu_seconds": 0.01 * k} for k in range(200)]
    trace = solvers.Trace.from_records(records, label="mine", solver="own-loop")
    assert rule(Evidence(trace, problem)) is None


def test_what_cannot_be_examined_is_refused_in_a_sentence():
    trace = solvers.Trace.from_records([], label="mine")
    with pytest.raises(ValueError, match="the problem of mine is not in memory: give it as problem"):
        solvers.why_slow(trace)
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam=0.01)
    with pytest.raises(ValueError, match="mine has no iterate yet: let it run for a moment"):
        solvers.why_slow(trace, problem)


@pytest.mark.slow
@pytest.mark.parametrize(("finding", "data", "problem", "solver", "params"), UNSEEN_DISEASES)
def test_a_disease_by_somebody_who_had_not_seen_the_rules_is_named_first(
    finding, data, problem, solver, params
):
    X, y = data(np.random.default_rng(20261130))
    problem = solvers.make_problem(X, y, **problem)
    trace = solvers.solve(problem, solver, tol=1e-6, max_iter=3000, max_seconds=20, **params)
    assert solvers.why_slow(trace, problem)[0].id == finding


@pytest.mark.usefixtures("registries")
def test_a_step_that_rounding_shortens_is_not_blamed_on_the_tolerance(tmp_path):
    text = (STUDENTS / "fista.py").read_text(encoding="utf-8")
    for old, new in (
        (" + 1e-14 * abs(y.smooth_part)", ""),
        ("step=t,", "step=t, violation=new.violation(),"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    load_file(tmp_path / "mine.py")
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam=0.01)
    trace = solvers.solve(problem, "student-fista", tol=1e-12, max_iter=4000)
    (finding,) = [one for one in solvers.why_slow(trace) if one.id.endswith("-below-rounding")]
    assert finding.id == "search-below-rounding"
    assert finding.remedy.solver == solvers.make_solver("newton-cd")
    assert "The step fell from 0.25 to " in finding.text
