"""Runs without a page: their files, their failures, and what Ctrl-C leaves behind."""

from __future__ import annotations

import csv
import json
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from solverscope import solvers
from solverscope.app.command import headless, printing
from solverscope.app.runs import watchdog
from solverscope.app.settings.columns import REPEATED_TABLE


@pytest.fixture
def two_runs(command, tmp_path):
    """Standard output of two runs, and the file they were also written to."""

    def run(ending):
        out = tmp_path / f"trace.{ending}"
        arguments = ("--solver", "prox-qn", "--solver", "gd=prox-gd", "--max-iter", "4", "--json")
        answer = command("run", "digits", *arguments, "--out", str(out))
        assert answer.status == 0
        return answer, out

    return run


def test_jsonl_file_holds_what_standard_output_had(two_runs):
    answer, out = two_runs("jsonl")
    assert [json.loads(line) for line in out.read_text().splitlines()] == answer.records


def test_csv_file_holds_the_iterates(two_runs):
    answer, out = two_runs("csv")
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    iterates = answer.of_type("iterate")
    assert [row["label"] for row in rows] == [record["label"] for record in iterates]
    assert [float(row["objective"]) for row in rows] == [record["objective"] for record in iterates]
    assert rows[0]["step"] == ""


def test_npz_file_holds_columns_and_weights_without_pickles(two_runs):
    answer, out = two_runs("npz")
    with np.load(out, allow_pickle=False) as arrays:
        objectives = arrays["gd/objective"]
        result = json.loads(str(arrays["gd/info"]))["result"]
        w = np.zeros(int(arrays["gd/w_size"]))
        w[arrays["gd/w_indices"]] = arrays["gd/w_values"]
        assert json.loads(str(arrays["problem"])) == answer.records[0]
    expected = [r["objective"] for r in answer.of_type("iterate") if r["label"] == "gd"]
    assert objectives.tolist() == expected
    assert np.count_nonzero(w) == result["nnz"] == answer.of_type("result")[1]["nnz"]


def press_ctrl_c_at(monkeypatch, iteration, times=1):
    """Send this process the signal of Ctrl-C when the record of ``iteration`` is printed."""
    print_json = headless.print_json

    def printing(record):
        print_json(record)
        if record["type"] == "iterate" and record["iteration"] == iteration:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(headless, "print_json", printing)


def test_ctrl_c_ends_the_run_writes_its_trace_and_gives_130(command, monkeypatch, tmp_path):
    # a test run in the background starts with the signal ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    press_ctrl_c_at(monkeypatch, 3)
    out = tmp_path / "trace.jsonl"
    arguments = ("--solver", "prox-gd", "--solver", "prox-qn", "--tol", "0", "--json", "--out", str(out))
    answer = command("run", "digits", *arguments)
    assert answer.status == 130
    (result,) = answer.of_type("result")  # the second solver never began
    assert (result["status"], result["iterations"]) == ("stopped", 3)
    assert [json.loads(line) for line in out.read_text().splitlines()] == answer.records
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_impatient_second_ctrl_c_does_not_cost_the_file(command, monkeypatch, tmp_path):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    press_ctrl_c_at(monkeypatch, 3, times=2)
    save, out = headless.save, tmp_path / "trace.jsonl"

    def saving(*arguments):
        signal.raise_signal(signal.SIGINT)  # a third one, while the file is written
        save(*arguments)

    monkeypatch.setattr(headless, "save", saving)
    answer = command("run", "digits", "--solver", "prox-gd", "--tol", "0", "--json", "--out", str(out))
    assert answer.status == 130
    assert json.loads(out.read_text().splitlines()[-1])["status"] == "stopped"


@pytest.mark.usefixtures("registries")
def test_ctrl_c_is_felt_inside_a_long_iteration(command, tmp_path):
    @solvers.register
    @dataclass(frozen=True)
    class Endless(solvers.Solver):
        id, name, summary = "endless", "Endless", ""

        def iterate(self, problem, w0=None):
            yield solvers.Iterate.at(problem.at(w0), 0)
            if problem.loss.n_instances > 100:  # not while warming up
                signal.raise_signal(signal.SIGINT)
            while problem.loss.n_instances > 100:
                problem.pulse()

    out = tmp_path / "trace.csv"
    answer = command("run", "digits", "--solver", "endless", "--json", "--out", str(out))
    assert answer.status == 130
    assert answer.of_type("result")[0]["status"] == "stopped"
    assert len(out.read_text().splitlines()) == 2


SPINNING = """
import signal
from dataclasses import dataclass
from solverscope import solvers

@solvers.register
@dataclass(frozen=True)
class Spinning(solvers.Solver):
    id, name, summary = "spinning", "Spinning", ""

    def iterate(self, problem, w0=None):
        for n in range(3):
            yield solvers.Iterate.at(problem.at(w0), n)
        if problem.loss.n_instances > 100:  # not while warming up
            prox(problem)

def prox(problem):
    INTERRUPT
    while True:
        pass
"""


@pytest.fixture
def spinning(registries, tmp_path, monkeypatch):
    """A plug-in whose loop never pulses; ``spinning(text)`` executes some text before it."""
    monkeypatch.setattr(watchdog, "AFTER_LIMIT", 0.2)
    monkeypatch.setattr(watchdog, "AFTER_STOP", 0.2)

    def write(before="pass"):
        plugin = tmp_path / "own.py"
        plugin.write_text(SPINNING.replace("INTERRUPT", before))
        return str(plugin)

    return write


def test_a_loop_without_pulses_ends_after_its_limit_and_the_next_solver_runs(command, spinning, tmp_path):
    out = tmp_path / "trace.jsonl"
    arguments = ("--solver", "spinning", "--solver", "prox-gd", "--max-seconds", "0.1", "--out", str(out))
    answer = command("run", "digits", "--plugin", spinning(), *arguments, "--json")
    assert answer.status == 3
    first, second = answer.of_type("result")
    assert (first["status"], first["iterations"], second["status"]) == ("failed", 2, "max-seconds")
    assert (
        "did not answer its limit of 0.1 CPU seconds, and was given up at own.py, line " in first["message"]
    )
    assert "own.py, line 15, in iterate: prox(problem)\n" in answer.err
    assert [json.loads(line) for line in out.read_text().splitlines()] == answer.records


@pytest.mark.parametrize("times", [1, 2])
def test_a_loop_without_pulses_ends_at_ctrl_c(command, spinning, tmp_path, times):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    out = tmp_path / "trace.jsonl"
    plugin = spinning(f"[signal.pthread_kill(threading.main_thread().ident, 2) for _ in range({times})]")
    Path(plugin).write_text("import threading\n" + Path(plugin).read_text())
    answer = command("run", "digits", "--plugin", plugin, "--solver", "spinning", "--out", str(out))
    assert answer.status == 130
    *_, iterate, result = map(json.loads, out.read_text().splitlines())
    assert (iterate["iteration"], result["status"], result["iterations"]) == (2, "stopped", 2)
    assert "did not answer Stop" in result["message"]


def test_ctrl_c_ends_a_loop_without_pulses_while_f_star_is_solved_for(command, spinning, monkeypatch):
    def endless(problem, gate, most):
        signal.raise_signal(signal.SIGINT)
        while True:
            pass

    monkeypatch.setattr(headless, "reference", endless)
    arguments = ("--gap", "1e-3", "--solver", "prox-qn", "--json")
    assert command("run", "digits", *arguments, "--plugin", spinning()).status == 130


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("--max-iter", "2", "--require", "converged"), 5, "it ended as max-iter"),
        (("--tol", "1e-3", "--require", "converged"), 0, ""),
        (("--tol", "1e-3", "--require", "gap"), 0, ""),
        (
            ("--gap", "1e-9", "--f-star", "-1", "--max-iter", "2", "--require", "gap"),
            5,
            "of the minimum, not",
        ),
    ],
)
def test_what_is_required_of_a_run_sets_the_exit_status(command, arguments, status, said):
    answer = command("run", "breast-cancer", "--solver", "prox-qn", *arguments, "--json")
    assert answer.status == status
    assert said in answer.err
    (result,) = answer.of_type("result")
    assert result["dual_gap"] >= 0.0


def test_a_run_without_a_proved_bound_does_not_meet_what_is_required(command):
    toy = ("toy-abs", "--solver", "subgd", "--max-iter", "3", "--require", "gap")
    assert "no bound of f - f* is proved" in command("run", *toy).err


def test_what_cannot_be_required_is_refused(command):
    answer = command("run", "digits", "--solver", "prox-qn", "--require", "speed")
    assert (answer.status, "choose one of converged, gap" in answer.err) == (2, True)


def test_ctrl_c_while_solving_for_f_star_gives_130(command, monkeypatch):
    def interrupted(problem, gate, most):
        signal.raise_signal(signal.SIGINT)
        gate.pulse()

    monkeypatch.setattr(headless, "reference", interrupted)
    answer = command("run", "digits", "--gap", "1e-3", "--solver", "prox-qn", "--json")
    assert answer.status == 130
    assert [record["type"] for record in answer.records] == ["problem"]


@pytest.mark.parametrize(
    ("given", "most"), [((), 3600.0), (("--max-seconds", "1"), 60.0), (("--max-seconds", "100"), 500.0)]
)
def test_f_star_takes_a_few_times_the_limit_of_a_run(command, monkeypatch, given, most):
    asked = []

    def cut(problem, gate, most):
        asked.append(most)
        raise ValueError("enough")

    monkeypatch.setattr(headless, "reference", cut)
    answer = command("run", "breast-cancer", "--gap", "1e-3", "--solver", "prox-qn", *given)
    assert asked == [most]
    assert "enough: give f* as a number" in answer.err


def test_second_ctrl_c_interrupts_at_once():
    interrupts = headless.Interrupts()
    with interrupts.listening():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(solvers.Interrupted):
            interrupts.pulse()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("registries")
def test_a_solver_that_lies_is_disputed_with_both_numbers_and_gives_3(command):
    @solvers.register
    @dataclass(frozen=True)
    class Lying(solvers.Solver):
        id, name, summary = "lying", "Lying", ""

        def iterate(self, problem, w0=None):
            point = problem.at(w0)
            for n in range(60):
                yield solvers.Iterate.at(point, n, violation=0.5**n)

    answer = command("run", "digits", "--solver", "lying", "--tol", "1e-5", "--json")
    assert answer.status == 3
    (result,) = answer.of_type("result")
    assert result["status"] == "disputed"
    last = answer.of_type("iterate")[-1]
    assert (
        f"violation {last['violation']:.3g}, and at its weights it is {result['violation']:.3g}" in answer.err
    )
    assert "lying: disputed after" in answer.err


@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize("how", ["exception", "nan"])
def test_numerical_failure_gives_3_keeps_the_trace_and_lets_the_next_solver_run(command, tmp_path, how):
    @solvers.register
    @dataclass(frozen=True)
    class Failing(solvers.Solver):
        id, name, summary = "failing", "Failing", ""

        def iterate(self, problem, w0=None):
            yield solvers.Iterate.at(problem.at(w0), 0)
            if how == "exception":
                raise FloatingPointError("the matrix is singular")
            yield solvers.Iterate(iteration=1, objective=float("nan"))

    out = tmp_path / "trace.jsonl"
    solvers_asked = ("--solver", "failing", "--solver", "prox-qn")
    answer = command("run", "digits", *solvers_asked, "--max-iter", "2", "--json", "--out", str(out))
    assert answer.status == 3
    failed, fine = answer.of_type("result")
    assert failed["status"] == "failed"
    assert ("singular" if how == "exception" else "nan") in failed["message"]
    assert "failed" in answer.err
    assert "Traceback" not in answer.err
    assert fine["status"] == "max-iter"
    assert [json.loads(line) for line in out.read_text().splitlines()] == answer.records


def test_repeat_runs_each_solver_with_the_next_seeds_and_prints_medians(command, monkeypatch):
    arguments = ("run", "digits", "--solver", "sgd=sgd-l1,seed=5", "--solver", "prox-qn", "--max-iter", "3")
    answer = command(*arguments, "--repeat", "3", "--json")
    runs = answer.of_type("run")
    assert [run["label"] for run in runs] == [
        f"{name} ({k})" for k in (1, 2, 3) for name in ("sgd", "prox-qn")
    ]
    assert [run["params"]["seed"] for run in runs[::2]] == [5, 6, 7]
    results = answer.of_type("result")
    objectives = sorted(result["objective"] for result in results[::2])
    assert objectives[0] < objectives[1] < objectives[2]
    assert len({result["objective"] for result in results[1::2]}) == 1, "it makes no random choices"

    head, *rows = [line.split() for line in command(*arguments, "--repeat", "3").out.splitlines()]
    assert head[:4] == ["run", "runs", "status", "objective"]
    assert [row[:3] for row in rows] == [["sgd", "3", "max-iter"], ["prox-qn", "3", "max-iter"]]
    assert float(rows[0][3]) == pytest.approx(objectives[1], rel=1e-9)
    assert float(rows[1][3]) == pytest.approx(results[1]["objective"], rel=1e-9)


def test_repetitions_that_end_differently_are_counted(capsys):
    records = [{"type": "problem", "loss": "logistic", "penalty": "l1"}]
    for k, status in enumerate(["converged", "stalled", "converged", "converged"]):
        result = {
            "type": "result",
            "label": f"a ({k})",
            "status": status,
            "passes": None,
            "cpu_seconds": 2.0**k,
        }
        records.append({**result, "objective": 1.0, "metric_name": "accuracy"})
    printing.show_results(REPEATED_TABLE, records, {f"a ({k})": "a" for k in range(4)})
    _, row = capsys.readouterr().out.splitlines()
    assert row.split() == ["a", "4", "3", "converged,", "1", "stalled", "1", "3.000"]


@pytest.mark.parametrize("times", ["0", "1.5", "many"])
def test_repeat_takes_a_whole_number_from_1(command, times):
    answer = command("run", "digits", "--solver", "prox-qn", "--repeat", times)
    assert answer.status == 2
    assert answer.err.strip().endswith(f"--repeat {times} is not possible: give a whole number from 1")


def test_whole_weights_of_a_table_are_repeated_rows(command, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{a!r},{b!r},{'yes' if a + c > 0.3 else 'no'}" for a, b, c in rng.normal(size=(80, 3)).tolist()]
    times = rng.integers(0, 4, 80).tolist()
    weighted, repeated = tmp_path / "weighted.csv", tmp_path / "repeated.csv"
    weighted.write_text("a,b,label,times\n" + "".join(f"{r},{k}\n" for r, k in zip(rows, times, strict=True)))
    repeated.write_text("a,b,label\n" + "".join(f"{r}\n" * k for r, k in zip(rows, times, strict=True)))
    shared = ("--option", "split=none", "--lam", "0.03", "--penalty", "l1", "--solver", "newton-cd")
    limits = ("--tol", "1e-12", "--json", "--out", str(tmp_path / "run.npz"))
    ours = command("run", f"csv:{weighted}", "--option", "weights=times", *shared, *limits)
    theirs = command("run", f"csv:{repeated}", *shared, "--tol", "1e-12", "--json")
    (one,), (other,) = ours.of_type("result"), theirs.of_type("result")
    assert one["objective"] == pytest.approx(other["objective"], rel=1e-12)
    assert one["train_metric"] == pytest.approx(other["train_metric"], rel=1e-14)
    assert ours.records[0]["options"]["weights"] == "times"
    assert ours.records[0]["weighted"]
    again = command("run", "--from", f"{tmp_path / 'run.npz'}#newton-cd@1", "--tol", "1e-12", "--json")
    assert again.of_type("result")[0]["objective"] == pytest.approx(one["objective"], rel=1e-12)


def test_a_solver_that_takes_no_weights_is_refused_before_the_run(command):
    choice = ("--solver", "dual-cd", "--loss", "binary-hinge", "--penalty", "l2")
    answer = command("run", "breast-cancer", "--option", "class_weight=balanced", *choice)
    assert answer.status == 2
    assert "dual-cd needs a loss without sample weights, unlike binary-hinge with penalty l2" in answer.err
    assert answer.out == ""
