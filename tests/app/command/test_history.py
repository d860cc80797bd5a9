"""``solverscope diff`` compares two runs of the history or of files."""

from __future__ import annotations

import pytest

from solverscope.app.runs.archive import PERSISTENT_LIMITS, Archive, default_path
from solverscope.solvers.traces.trace import Trace, save

PROBLEM = {
    "type": "problem",
    "key": "k",
    "dataset": "digits",
    "loss": "logistic",
    "penalty": "l1",
    "lam": 0.1,
}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("SOLVERSCOPE_HOME", str(tmp_path / "own"))


def run(label, *objectives, memory=10, step=1.0):
    records = [{"iteration": k, "objective": f, "step": step} for k, f in enumerate(objectives)]
    return Trace.from_records(
        records, label=label, solver="lbfgs", params={"memory": memory}, problem=PROBLEM
    )


@pytest.fixture
def file(tmp_path):
    """``file(name, runs)`` writes runs to a file, and returns its path."""

    def write(name, *runs):
        save(list(runs), tmp_path / name)
        return str(tmp_path / name)

    return write


def test_the_first_quantity_that_differs_is_told_with_status_1(command, file):
    a = file("a.jsonl", run("a", 3.0, 2.0, 1.0))
    b = file("b.npz", run("b", 3.0, 2.0, 1.5, memory=3))
    answer = command("diff", a, b)
    assert (answer.status, answer.err) == (1, "")
    assert "first difference: iteration 2, objective f: 1 of a and 1.5 of b (they differ by 0.5" in answer.out
    assert ["solver:", "pairs", "kept", "m", "10", "3"] in list(map(str.split, answer.out.splitlines()))


def test_equal_runs_have_status_0(command, file):
    a, b = (file(f"{name}.jsonl", run(name, 3.0, 2.0)) for name in "ab")
    answer = command("diff", a, b)
    assert answer.status == 0
    assert "are the same in 2 iterates: accepted step t, objective f" in answer.out


def test_a_tolerance_decides_what_is_equal(command, file):
    a, b = file("a.jsonl", run("a", 1.0)), file("b.jsonl", run("b", 1.0 + 1e-12))
    assert command("diff", a, b).status == 0
    assert command("diff", a, b, "--tol", "0").status == 1
    assert "--tol x is not possible" in command("diff", a, b, "--tol", "x").err


def test_records_are_for_programs(command, file):
    both = file("both.jsonl", run("a", 3.0, 2.0), run("b", 3.0, 2.0, step=0.5))
    answer = command("diff", f"{both}#a", f"{both}#b", "--json")
    (record,) = answer.records
    assert answer.status == 1
    assert (record["type"], record["same"], record["iterates"]) == ("diff", False, 2)
    assert record["parting"] is None
    assert record["message"].startswith("the same in 2 iterates: objective f; first difference: iteration 0")
    first = record["first"]
    assert (first["iteration"], first["name"], first["left"], first["right"]) == (0, "step", 1.0, 0.5)


def test_runs_of_the_history_are_named_by_their_ids(command, file):
    archive = Archive(default_path(), PERSISTENT_LIMITS)
    archive.enter(run("a", 3.0, 2.0))
    archive.close()
    b = file("b.jsonl", run("b", 3.0, 2.5))
    answer = command("diff", "1", b)
    assert answer.status == 1
    assert "2 of a #1 and 2.5 of b" in answer.out
    unknown = command("diff", "2", b)
    assert (unknown.status, unknown.err) == (2, "solverscope: there is no run 2: see `solverscope runs`\n")


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (("none.jsonl", "a.jsonl"), "there is no such file"),
        (("both.jsonl", "a.jsonl"), "has the runs a, b: name one, as '"),
        (("both.jsonl#c", "a.jsonl"), "has no run labelled 'c', only a, b"),
        (("late.jsonl", "a.jsonl"), "cannot be compared: the runs have no iterate in common"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence(command, file, tmp_path, names, why):
    file("a.jsonl", run("a", 3.0))
    file("both.jsonl", run("a", 3.0), run("b", 3.0))
    late = Trace.from_records(
        [{"iteration": 7, "objective": 1.0}], label="late", solver="lbfgs", params={}, problem=PROBLEM
    )
    file("late.jsonl", late)
    answer = command("diff", *(str(tmp_path / name) for name in names))
    assert answer.status == 2
    assert why in answer.err
