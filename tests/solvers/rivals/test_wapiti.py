"""Wapiti: its features are our weights, and its objective is ours. Where the program is not named, a stand-in
reads and writes its files."""

from __future__ import annotations

import io
import os
import stat
import sys
import threading

import numpy as np
import psutil
import pytest

from solverscope import solvers
from solverscope.solvers import Run, Stopping
from solverscope.solvers.rivals.external_solver import Task
from solverscope.solvers.rivals.wapiti import WHERE, Wapiti, lines, trained, weights
from tests.solvers.helpers import chains
from tests.solvers.rivals.test_crfsuite import Clocks
from tests.waiting import wait_until

real = pytest.mark.skipif(
    Wapiti.why_not_here() is not None, reason=f"Wapiti is not here: {WHERE} names no program"
)
#: A model of three labels, two features and the pairs, seen in another order than ours.
MODEL = """#mdl#2#4
#rdr#0/0/0
#qrk#3
1:2,
1:0,
1:1,
#qrk#3
2:u1,
1:b,
2:u0,
0=0x1.8p+0
4=-0x1p-2
10=0x1.8000000000001p+1
14=0x1p-1074
"""
#: Writes that model, as Wapiti does after its work, or works without end in its fourth run, or fails.
STAND_IN = """#!{python}
import pathlib, sys
say = lambda text: print(text, file=sys.stderr, flush=True)
*_, most, data, model = sys.argv
say("* Train the model with l-bfgs")
for k in range(min(int(most), 4)):
    sum(range(2_000_000))  # long enough for a busy machine to see it begin
    say(f"  [{{k + 1:4d}}] obj={{10.0 / (k + 1):<10.2f}} act=4        err= 0.00%/ 0.00%")
while {forever} and int(most) > 3:
    sum(range(100_000))
if {wrong!r}:
    say({wrong!r})
    sys.exit(1)
say("* Save the model")
pathlib.Path(model).write_text({model!r})
"""


class Watched(Clocks):
    def started(self, pid):
        assert pid != os.getpid()

    def end(self, cpu):
        self.ended += 1
        self.cpu = cpu


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """``stand_in(forever=…, wrong=…)`` puts the stand-in in the program's place."""

    def put(*, forever: bool = False, wrong: str = "") -> None:
        path = tmp_path / "program"
        path.write_text(STAND_IN.format(python=sys.executable, forever=forever, wrong=wrong, model=MODEL))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv(WHERE, str(path))

    return put


@pytest.fixture
def problem():
    return solvers.make_problem(chains(d=2, m=3), penalty="l1", lam=0.1)


def test_weights_of_a_model_are_ours_with_all_digits(problem):
    w = weights(io.StringIO(MODEL), Task.of(problem, None, 0.0))
    W, T = problem.unpack(w)
    assert W.tolist() == [[0.0, 5e-324, 0.0], [0.0, 0.0, 1.5]]
    assert (T[2, 0], T[1, 0], np.count_nonzero(T)) == (-0.25, 3.0000000000000004, 2)


def test_each_token_is_a_line_with_its_features_and_its_label(problem):
    task = Task.of(problem, None, 0.0)
    written = "".join(lines(task, task.offsets)).split("\n\n")[:-1]
    assert len(written) == task.offsets.size - 1
    tokens = [line.split() for sequence in written for line in sequence.splitlines()]
    assert [int(token[-1]) for token in tokens] == problem.loss.y.tolist()
    assert {token[-2] for token in tokens} == {"b"}
    X = np.zeros((len(tokens), 2))
    for t, token in enumerate(tokens):
        X[t, [int(name[1:]) for name in token[:-2]]] = 1.0
    np.testing.assert_array_equal(X, task.X if isinstance(task.X, np.ndarray) else task.X.toarray())


def test_the_environment_names_the_program_and_without_it_one_sentence_says_so(
    stand_in, monkeypatch, command
):
    stand_in()
    assert Wapiti.why_not_here() is None
    monkeypatch.setenv(WHERE, "/no/such/program")
    assert Wapiti.why_not_here() == f"needs the program Wapiti: name its file in {WHERE}"
    monkeypatch.delenv(WHERE)
    answer = command("run", "synthetic-chain", "--solver", "wapiti")
    assert (answer.status, len(answer.err.strip().splitlines())) == (2, 1)
    assert f"wapiti needs the program Wapiti: name its file in {WHERE}" in answer.err


def test_it_is_run_anew_until_it_ends_by_itself_and_its_work_alone_is_timed(stand_in, problem):
    stand_in()
    trace = solvers.solve(problem, Wapiti(), max_seconds=60)
    assert trace.iteration.tolist() == [0, 1, 2, 3, 5]
    assert trace.message.startswith("Wapiti: its own tolerance is met; ")
    assert trace.objective[-1] == problem.at(trace.w).objective
    assert 0.0 < trace.cpu_seconds[-1] < trace.cpu_seconds[1:].sum()
    assert all(np.diff(trace.cpu_seconds) >= 0.0)


def test_a_program_that_fails_is_a_failed_run_that_says_how(stand_in, problem):
    stand_in(wrong="error: out of memory")
    trace = solvers.solve(problem, Wapiti(), max_seconds=60, on_error="keep")
    assert (trace.status, len(trace)) == ("failed", 1)
    assert trace.message == "Wapiti: RuntimeError: ended with status 1: error: out of memory"


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_the_program_stands_still_with_its_run_ends_with_it_and_fails_it_where_it_is_killed(
    stand_in, problem, end
):
    """It computes without end in its fourth run."""
    stand_in(forever=True)
    at, go = threading.Event(), threading.Event()

    class Gate(solvers.Gate):
        def pulse(self):
            if len(run.trace) == 4:
                at.set()
                assert go.wait(60)

    run = Run(problem, Wapiti(), stopping=Stopping(max_seconds=60), gate=Gate())
    thread = threading.Thread(target=run.execute)
    thread.start()
    assert at.wait(60)
    (working,) = [
        one for one in psutil.Process().children(recursive=True) if str(os.environ[WHERE]) in one.cmdline()
    ]
    wait_until(lambda: working.status() == psutil.STATUS_STOPPED, "the program to stand still")
    if end == "stop":
        run.interrupt()
    else:
        working.kill()
    go.set()
    thread.join(60)
    assert run.trace.status == ("stopped" if end == "stop" else "failed")
    assert run.trace.iteration.tolist() == [0, 1, 2, 3]
    wait_until(lambda: not working.is_running(), "the program to end")


def test_what_it_does_not_take_is_refused_in_a_sentence(problem):
    assert solvers.make_solver("wapiti").refuses(problem) is None
    dense = solvers.make_problem(chains(storage="dense"), lam=0.1)
    assert solvers.make_solver("wapiti").refuses(dense).endswith("take data whose X has ones alone")
    assert "wapiti" not in solvers.compatible("chain-crf", "l1-l2")


@real
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("penalty", ["l1", "l2", "elastic-net"])
def test_the_objective_that_it_prints_is_our_f(tmp_path, penalty, average):
    """It prints two digits after the point."""
    lam = 0.0005 if average else 2.0
    problem = solvers.make_problem(
        chains(n=4000, d=12, longest=20), penalty=penalty, lam=lam, average=average
    )
    solver, task = Wapiti(), Task.of(problem, None, 0.0)
    data, model = tmp_path / "data", tmp_path / "model"
    data.write_text("".join(lines(task, task.offsets)))
    n, printed = trained(
        ["train", *solver.settings(task), "--maxiter", "9", str(data), str(model)], Watched()
    )
    assert n == 9
    with model.open() as file:
        f = problem.at(weights(file, task)).objective / task.scale
    assert f > 10_000
    assert f == pytest.approx(printed, abs=0.0051)


@real
@pytest.mark.parametrize("algorithm", ["l-bfgs", "bcd"])
@pytest.mark.parametrize("penalty", ["l1", "elastic-net"])
def test_its_algorithms_come_to_our_optimum(algorithm, penalty):
    problem = solvers.make_problem(chains(n=80), penalty=penalty, lam=0.5)
    best = solvers.solve(problem, solvers.make_solver("prox-qn"), tol=1e-9).result["objective"]
    trace = solvers.solve(problem, Wapiti(algorithm=algorithm), max_seconds=1)
    assert abs(trace.result["objective"] - best) <= 1e-8 * best
