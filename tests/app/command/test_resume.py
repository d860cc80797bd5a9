"""``solverscope run --from``: a run in a file goes on from one of its iterates."""

from __future__ import annotations

import json

import numpy as np
import pytest

from solverscope.solvers.traces.reading import read
from tests.solvers.helpers import Dial

#: Fields that depend on how much time a run had.
TIMED = {"label", "cpu_seconds", "wall_seconds", "violation", "dual_gap"}


@pytest.fixture(scope="module")
def race(tmp_path_factory):
    """A file with two runs of twelve iterations, and its records."""
    from solverscope.app.command.cli import main

    path = tmp_path_factory.mktemp("race") / "race.jsonl"
    choice = ["--option", "positive=3", "--solver", "qn=prox-qn,memory=7", "--solver", "sgd-l1"]
    arguments = ["run", "digits", *choice, "--seed", "5", "--max-iter", "12", "--out", str(path)]
    assert main(arguments) == 0
    return path


def iterates(path, label):
    found = next(trace for trace in read(path) if trace.info.label == label)
    return [{k: v for k, v in record.items() if k not in TIMED} for record in found.records()]


@pytest.mark.slow
@pytest.mark.parametrize("label", ["qn", "sgd-l1"])
@pytest.mark.parametrize("ending", ["jsonl", "npz"])
def test_a_run_of_a_file_goes_on_as_it_did(command, race, tmp_path, label, ending):
    out = tmp_path / f"branch.{ending}"
    answer = command("run", "--from", f"{race}#{label}@5", "--max-iter", "12", "--out", str(out))
    assert answer.status == 0, answer.err
    assert f"{label} from 5: {label} is replayed up to iteration 5, some" in answer.err
    assert iterates(out, f"{label} from 5") == iterates(race, label)[5:]
    (branch,) = read(out)
    old = next(trace for trace in read(race) if trace.info.label == label)
    assert branch.info.params == old.info.params
    assert (branch.cpu_seconds[0], branch.info.origin["iteration"]) == (old.cpu_seconds[5], 5)


def test_what_is_given_overrides_what_the_run_had_and_its_file_can_be_gone_on_from(command, race, tmp_path):
    out = tmp_path / "branch.jsonl"
    choice = ("--solver", "prox-qn,shrinking=false", "--solver", "gd=prox-gd", "--set", "max_inner=2")
    answer = command("run", "--from", f"{race}#qn@5", *choice, "--max-iter", "9", "--out", str(out))
    assert answer.status == 0, answer.err
    traces = read(out)
    assert [trace.info.label for trace in traces] == ["prox-qn from 5", "gd"]
    params = traces[0].info.params
    assert (params["memory"], params["shrinking"], params["max_inner"]) == (7, False, 2)
    assert "and prox-gd starts from the weights there" in answer.err
    old = iterates(race, "qn")
    for trace in traces:
        found = iterates(out, trace.info.label)
        assert found[0] == old[5]
        assert [record["iteration"] for record in found] == [5, 6, 7, 8, 9]
        assert found[1]["objective"] != old[6]["objective"]
    again = command("run", "--from", f"{out}#gd@7", "--max-iter", "9", "--json")
    assert again.status == 0, again.err
    objectives = [record["objective"] for record in again.of_type("iterate")]
    assert objectives == [record["objective"] for record in iterates(out, "gd")[2:]]
    assert again.of_type("run")[0]["from"]["from"]["label"] == "qn"
    assert again.of_type("result")[0]["replay_seconds"] >= 0.0


def test_a_smaller_tolerance_is_not_kept_from_being_met_by_that_of_the_old_run(command, tmp_path):
    out = tmp_path / "loose.jsonl"
    problem = ("breast-cancer", "--lam-ratio", "0.1")
    assert command("run", *problem, "--solver", "prox-qn", "--tol", "1e-2", "--out", str(out)).status == 0
    (loose,) = read(out)
    answer = command("run", "--from", f"{out}@{loose.iteration[-1]}", "--tol", "1e-7", "--json")
    (result,) = answer.of_type("result")
    assert result["status"] == "converged"
    assert result["violation"] < 1e-3 * loose.result["violation"]


def test_parameters_of_the_penalty_are_given_again(command, tmp_path):
    out = tmp_path / "net.jsonl"
    rho = ("--penalty-set", "rho=0.9")
    problem = ("breast-cancer", "--penalty", "elastic-net", *rho, "--max-iter", "6")
    assert command("run", *problem, "--solver", "prox-gd", "--out", str(out)).status == 0
    refused = command("run", "--from", f"{out}@3", "--max-iter", "6")
    assert refused.status == 2
    assert "--penalty-set" in refused.err
    answer = command("run", "--from", f"{out}@3", *rho, "--max-iter", "6", "--json")
    assert [r["iteration"] for r in answer.of_type("iterate")] == [3, 4, 5, 6]


def test_a_run_that_a_path_started_warm_is_found_not_to_be_the_replay(command, tmp_path):
    out = tmp_path / "path.jsonl"
    limits = ("--n-lams", "3", "--max-iter", "3")
    assert command("path", "breast-cancer", "--solver", "prox-gd", *limits, "--out", str(out)).status == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    third = [k for k, line in enumerate(lines) if line["type"] == "problem"][2]  # the first one ends at w = 0
    alone = tmp_path / "third.jsonl"
    alone.write_text("\n".join(json.dumps(line) for line in lines[third:]) + "\n")
    answer = command("run", "--from", f"{alone}@1")
    assert answer.status == 3
    assert "the replay is not prox-gd: at iteration 0 f is" in answer.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--from RACE", "RACE names no iterate: write --from FILE[#LABEL]@ITERATION"),
        ("--from @3", "write --from FILE[#LABEL]@ITERATION"),
        ("--from RACE@", "give a whole number from 0"),
        ("--from RACE@-1", "give a whole number from 0"),
        ("--from RACE@1.5", "give a whole number from 0"),
        ("--from RACE@5", "has the runs qn, sgd-l1: name one"),
        ("--from RACE#owl@5", "has no run labelled 'owl', only qn, sgd-l1"),
        ("--from RACE#qn@13", "qn has no record of iteration 13: it has 13 from 0 to 12, the nearest is 12"),
        ("--from nowhere.jsonl@5", "there is no such file"),
        ("--from race.csv@5", "a .csv holds no settings"),
        ("--from RACE#qn@5 --lam 3", "--lam is 3.0 instead of"),
        ("--from RACE#qn@5 --seed 4", "--seed is 4 instead of 5"),
        ("--from RACE#qn@5 --option positive=4", "--option is"),
        ("--from RACE#qn@5 --sum --lam-ratio 0.1", "is not that of"),
        ("breast-cancer --from RACE#qn@5", "DATASET is breast-cancer instead of digits"),
        ("--from RACE#qn@5 --set growth=2", "none of the solvers has a parameter 'growth'"),
        ("--from RACE#qn@5 --solver dual-cd", "choose one of prox-qn"),
        ("--from RACE#qn@5 --solver prox-qn,memory=0", "memory must be a whole number from 1"),
    ],
)
def test_what_cannot_be_gone_on_from_gets_one_sentence(command, race, arguments, said):
    answer = command("run", *arguments.replace("RACE", str(race)).split())
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.count("\n") == 1, answer.err
    assert said.replace("RACE", str(race)) in answer.err


def changed(race, tmp_path, change):
    lines = [json.loads(line) for line in race.read_text().splitlines()]
    change(lines)
    path = tmp_path / "changed.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path


def test_a_replay_that_is_not_what_the_file_says_fails_in_a_sentence(command, race, tmp_path):
    def change(lines):
        line = next(line for line in lines if line.get("iteration") == 4)
        line["objective"] = float(np.nextafter(line["objective"], 1.0))

    answer = command("run", "--from", f"{changed(race, tmp_path, change)}#qn@5", "--json")
    assert answer.status == 3
    assert answer.of_type("iterate") == []
    (result,) = answer.of_type("result")
    assert "the replay is not qn: at iteration 4 f is" in result["message"]


@pytest.mark.parametrize(
    "change",
    [
        {"params": None},
        {"params": {"memory": "many"}},
        {"solver": "prox"},
        {"from": {"label": "x"}},
        {"from": 3},
    ],
    ids=str,
)
def test_a_file_that_does_not_tell_how_its_run_came_about_gets_one_sentence(command, race, tmp_path, change):
    def spoil(lines):
        next(line for line in lines if line["type"] == "run").update(change)

    answer = command("run", "--from", f"{changed(race, tmp_path, spoil)}#qn@5")
    assert answer.status == 2
    assert answer.err.count("\n") == 1, answer.err
    assert "Traceback" not in answer.err


def test_a_run_whose_lambda_was_changed_goes_on_at_the_lambda_of_its_iterate(command, tmp_path):
    from solverscope import datasets, solvers

    problem = solvers.make_problem(datasets.load("digits", positive=3), lam=0.01)
    old = solvers.solve(problem, solvers.make_solver("prox-qn"), max_iter=10, gate=Dial({4: 0.002}))
    path, out = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.save(path)
    for at, lam in ((3, 0.01), (7, 0.002)):
        answer = command("run", "--from", f"{path}@{at}", "--max-iter", "10", "--out", str(out))
        assert answer.status == 0, answer.err
        (branch,) = read(out)
        assert branch.info.problem["lam"] == lam
        until = 5 if at == 3 else 11
        np.testing.assert_array_equal(branch.objective[: until - at], old.objective[at:until])
    wrong = command("run", "--from", f"{path}@7", "--lam", "0.01", "--max-iter", "10")
    assert wrong.status == 2
    assert "--lam is 0.01 instead of 0.002" in wrong.err
