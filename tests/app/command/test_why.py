"""``solverscope why`` lists why a run is slow, and what second runs say of it."""

from __future__ import annotations

import json
import shlex

import pytest

from solverscope import datasets, solvers
from solverscope.app.runs.archive import PERSISTENT_LIMITS, Archive, default_path


@pytest.fixture(scope="module")
def trace():
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l2", lam=1e-4)
    return solvers.solve(problem, solvers.make_solver("lbfgs", memory=1), label="one pair", tol=1e-6)


@pytest.fixture
def file(trace, tmp_path):
    trace.save(tmp_path / "run.jsonl")
    return str(tmp_path / "run.jsonl")


def test_findings_have_numbers_a_reference_and_a_proof(command, file):
    answer = command("why", file)
    assert answer.status == 0
    said = answer.out.splitlines()
    assert said[0].startswith("one pair: ")
    assert "1. memory-too-short, about 80 % of the cost" in said
    assert any("held 1 pair (s, y) in" in line for line in said)
    assert any("confirmed: memory=20: " in line for line in said)
    assert "   see Nocedal and Wright, Numerical Optimization, section 7.2, memory of L-BFGS" in said


def test_its_records_are_json(command, file):
    answer = command("why", file, "--json")
    run, *findings = map(json.loads, answer.out.splitlines())
    assert (run["type"], run["solver"], run["findings"]) == ("run", "lbfgs", len(findings))
    assert [finding["rank"] for finding in findings] == list(range(1, len(findings) + 1))
    first = findings[0]
    assert (first["id"], first["remedy"]) == ("memory-too-short", "memory=20")
    assert first["second"]["iterations"] < first["first"]["iterations"]
    assert first["confirmed"] is (first["second"]["seconds"] <= 0.9 * first["first"]["seconds"])


def test_an_experiment_can_be_run_by_hand(command, file):
    answer = command("why", file, "--no-prove", "--json")
    first = json.loads(answer.out.splitlines()[1])
    assert (first["confirmed"], first["result"], first["second"]) == (None, None, None)
    _, *arguments = shlex.split(first["command"])
    result = json.loads(command(*arguments, "--json").out.splitlines()[-1])
    assert result["label"] == "one pair memory 20"
    assert result["status"] in ("stopped", "max-seconds")


def test_a_run_of_the_history_is_named_by_its_number(command, trace, tmp_path, monkeypatch):
    monkeypatch.setenv("SOLVERSCOPE_HOME", str(tmp_path))
    archive = Archive(default_path(), PERSISTENT_LIMITS)
    number = archive.enter(trace)
    archive.close()
    answer = command("why", str(number), "--no-prove")
    assert answer.out.startswith("one pair: ")


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("99", "there is no run 99: see `solverscope runs`"),
        ("nothing.jsonl", "cannot read nothing.jsonl: there is no such file"),
    ],
)
def test_what_is_no_run_is_said_in_a_sentence(command, run, said, tmp_path, monkeypatch):
    monkeypatch.setenv("SOLVERSCOPE_HOME", str(tmp_path))
    answer = command("why", run)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.strip() == f"solverscope: {said}"


def test_a_branch_is_refused_in_a_sentence(command, tmp_path):
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l2", lam=0.1)
    solver = solvers.make_solver("lbfgs")
    first = solvers.solve(problem, solver, max_iter=5)
    branch = solvers.Run(problem, solver, origin=solvers.origin_of(first, 3), label="branch")
    branch.execute().save(tmp_path / "branch.jsonl")
    answer = command("why", str(tmp_path / "branch.jsonl"))
    assert answer.status == 2
    assert "branch is a branch, or its λ was changed: ask about a run from its start at one λ" in answer.err
