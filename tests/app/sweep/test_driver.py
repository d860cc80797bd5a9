"""Sweeps on two worker processes: what comes out, and that nothing is lost or done twice."""

from __future__ import annotations

import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import Future
from types import SimpleNamespace

import psutil
import pytest
from distributed import Client

from solverscope import solvers
from solverscope.app.runs.watchdog import Heartbeat
from solverscope.app.sweep import cells, cluster
from solverscope.app.sweep.cell_store import Store
from solverscope.app.sweep.cluster import ClusterSpec
from solverscope.app.sweep.driver import SchedulerGone, SweepDriver
from solverscope.app.sweep.spec import Spec

SCRIPT = """
if __name__ == "__main__":
    from solverscope.app.console import main
    main()
"""

#: A sweep of one run.
ONE = {"data": "breast-cancer", "solvers": ["prox-qn"]}


def slow_spec(n=3, **more):
    params = ",".join(f"{name}={value}" for name, value in more.items())
    texts = [f"{k}=slow,number={k}" + (f",{params}" if params else "") for k in range(1, n + 1)]
    return {"data": "breast-cancer", "lam": 0.01, "solvers": texts, "limits": {"max_iter": 1000}}


def test_cells_have_the_objectives_of_runs_one_after_another(start):
    given = {
        "data": ["breast-cancer", {"id": "digits", "positive": "3"}],
        "lam_ratio": [0.2, 0.02],
        "solvers": ["prox-qn", "owl-qn"],
        "limits": {"max_iter": 8},
    }
    sweep = start(given).join()
    assert len(sweep.cells) == 8
    for watched in sweep.cells.values():
        cell = watched.cell
        data = cell.problem.load()
        problem = solvers.make_problem(data, lam_ratio=cell.problem.lam_ratio)
        trace = solvers.solve(problem, solvers.make_solver(cell.entrant.id), max_iter=8)
        assert list(watched.trace.objective) == list(trace.objective), cell
        assert watched.record["objective"] == trace.result["objective"]
        assert watched.trace.info.problem == trace.info.problem
        assert watched.record["test_metric"] == trace.result["test_metric"]
    assert sweep.store.records().keys() == sweep.cells.keys()


def test_a_gap_is_to_one_reference_of_each_problem(start):
    given = {"data": "breast-cancer", "lam_ratio": 0.1, "solvers": ["prox-qn", "owl-qn"]}
    sweep = start({**given, "limits": {"gap": 1e-4}}).join()
    f_stars = {watched.trace.info.f_star for watched in sweep.cells.values()}
    assert len(f_stars) == 1
    assert None not in f_stars
    assert {watched.status for watched in sweep.cells.values()} == {"converged"}


def test_traces_grow_while_cells_run_and_pause_and_stop_reach_them(start, slow, wait_until):
    going = start(slow_spec(2, naps=2000))
    cells = list(going.sweep.cells.values())
    wait_until(lambda: all(watched.trace is not None and len(watched.trace) > 3 for watched in cells))
    assert {watched.state for watched in cells} == {"running"}
    going.sweep.pause()
    wait_until(lambda: {watched.state for watched in cells} == {"paused"})
    seen = [len(watched.trace) for watched in cells]
    assert [len(watched.trace) for watched in cells] == seen
    going.sweep.resume()
    wait_until(lambda: all(len(watched.trace) > n for watched, n in zip(cells, seen, strict=True)))
    going.sweep.stop()
    sweep = going.join()
    assert {record["status"] for record in sweep.store.records().values()} == {"stopped"}
    assert all(len(sweep.store.trace(watched.cell)) == len(watched.trace) for watched in cells)


def test_a_limit_of_all_ends_a_sweep(start, slow):
    spec = slow_spec(3, naps=2000)
    spec["limits"]["total_seconds"] = 1.0
    sweep = start(spec).join()
    assert sweep.message == "the 1 s of the whole sweep are used up"
    assert {watched.state for watched in sweep.cells.values()} == {"stopped"}


class Asked:
    """A client of a cluster of two threads that runs nothing."""

    def __init__(self):
        self.turns = []

    def nthreads(self):
        return {"a worker": 1, "another": 1}

    def submit(self, work, *given, **options):
        self.turns.append(given[-1])
        return Future()


def test_a_limit_of_all_is_shared_by_what_is_left_when_the_turn_comes(monkeypatch, tmp_path):
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    grid = {"data": "breast-cancer", "lam": [0.1, 0.01, 0.001], "solvers": ["prox-qn"]}
    sweep, asked = SweepDriver(Spec.of(grid), ClusterSpec("tcp://127.0.0.1:1"), Store(tmp_path)), Asked()
    sweep.submit(asked, "name", 90.0)
    first, second, last = asked.turns
    assert [turn.due for turn in asked.turns] == [1090.0] * 3
    assert first.limit(None) == pytest.approx(0.8 * 90.0 * 2 / 3)
    assert first.limit(5.0) == 5.0, "its own limit is shorter"
    monkeypatch.setattr(time, "time", lambda: 1060.0)
    assert second.limit(600.0) == last.limit(600.0) == pytest.approx(0.8 * 30.0)
    monkeypatch.setattr(time, "time", lambda: 1100.0)
    assert last.limit(None) == 0.0
    sweep.submit(asked, "name", None)
    assert asked.turns[3:] == [None] * 3


def test_a_cell_stops_at_the_share_of_its_turn():
    cell = Spec.of({"data": "breast-cancer", "lam": 1e-3, "solvers": ["sgd-l1"], "limits": {"tol": 0}}).cells[
        0
    ]
    reporter = SimpleNamespace(
        **{"pulse": lambda: None, "step": lambda run, iterate: None, "follow": lambda trace: None},
        heartbeat=lambda: Heartbeat(math.inf, False),
    )
    trace = cells.execute(cell, reporter, None, cells.TimeSlice(time.time() + 1e-3, 1.0))
    assert trace.status == "max-seconds"


def test_a_cell_that_fails_is_recorded_and_the_others_go_on(start, slow):
    good, bad = slow_spec(1, naps=3), slow_spec(1, naps=3, fails_at=2)
    given = {**good, "solvers": [*good["solvers"], "bad=" + bad["solvers"][0].partition("=")[2]]}
    given["solvers"].append("lying=slow,naps=3,lies=true")
    given["lam"] = [0.01, 0.02]
    sweep = start(given).join()
    lying = [watched for watched in sweep.cells.values() if watched.cell.entrant.label == "lying"]
    assert [watched.word for watched in lying] == ["disputed"] * 2
    states = {
        (watched.cell.entrant.label, watched.cell.problem.lam): watched.state
        for watched in sweep.cells.values()
        if watched not in lying
    }
    assert states == {
        ("1", 0.01): "finished",
        ("bad", 0.01): "failed",
        ("1", 0.02): "finished",
        ("bad", 0.02): "failed",
    }, [watched.message for watched in sweep.cells.values()]
    failed = [watched for watched in sweep.cells.values() if watched.state == "failed"]
    assert all("this solver was told to fail" in watched.message for watched in failed)
    assert [len(watched.trace) for watched in failed] == [2, 2], "what came before it is kept"


def test_a_problem_that_cannot_be_made_is_a_failed_cell(start, tmp_path):
    wrong = tmp_path / "wrong.svm"
    wrong.write_text("1 a:b\n")
    good = tmp_path / "good.svm"
    good.write_text("".join(f"{1 if k % 2 else -1} 1:{k % 2 + 0.1 * k} 2:{k % 3}\n" for k in range(12)))
    given = {"data": [f"svmlight:{wrong}", f"svmlight:{good}"], "solvers": ["prox-qn"], "lam": 0.01}
    sweep = start({**given, "loss": "logistic", "limits": {"max_iter": 3}}).join()
    states = {watched.cell.problem.data: (watched.state, watched.message) for watched in sweep.cells.values()}
    assert states[f"svmlight:{wrong}"][0] == "failed"
    assert "wrong.svm" in states[f"svmlight:{wrong}"][1]
    assert states[f"svmlight:{good}"][0] == "finished", states


@pytest.mark.slow
def test_cells_of_a_worker_that_is_killed_run_again_and_no_others(start, slow, begun, wait_until, place):
    with Client(place.scheduler, set_as_default=False) as client:
        processes = client.run(os.getpid)  # before: a cell may be over by the time that one asks
    going = start({**slow_spec(3, naps=40), "lam": 0.01})
    cells = going.sweep.cells.values()
    under_way = lambda: [w for w in cells if w.state == "running" and len(w.trace or ()) > 5]  # noqa: E731
    wait_until(under_way)
    (victim, *_) = under_way()
    os.kill(processes[victim.worker], signal.SIGKILL)
    sweep = going.join()
    assert {watched.state for watched in cells} == {"finished"}
    for watched in cells:
        assert list(watched.trace.iteration) == list(range(41)), "one trace, whole"
        assert list(sweep.store.trace(watched.cell).iteration) == list(range(41))
    times = Counter(begun())
    assert times[int(victim.cell.entrant.label)] == 2
    assert sum(times.values()) == 4, "nothing else ran twice"
    assert len(sweep.store.ledger.read_text().splitlines()) == 3


@pytest.mark.slow
def test_a_worker_that_is_held_keeps_neither_the_others_nor_stop_from_going_on(
    start, slow, wait_until, place
):
    with Client(place.scheduler, set_as_default=False) as client:
        processes = client.run(os.getpid)
    going = start(slow_spec(2, naps=9000))
    held, other = cells = list(going.sweep.cells.values())
    wait_until(lambda: all(watched.trace is not None and len(watched.trace) > 3 for watched in cells))
    os.kill(processes[held.worker], signal.SIGSTOP)
    try:
        seen = len(other.trace)
        wait_until(lambda: len(other.trace) > seen + 9)
        going.sweep.stop()
        sweep = going.join()
    finally:
        os.kill(processes[held.worker], signal.SIGCONT)
    assert [watched.state for watched in cells] == ["stopped", "stopped"]
    assert len(sweep.store.trace(held.cell)) == len(held.trace) > 3, "what came of it is kept"
    with Client(place.scheduler, set_as_default=False) as client:
        wait_until(lambda: not any(client.processing().values()))


def listening_at(address: str) -> int:
    """The process below this one that listens there."""
    port = int(address.rpartition(":")[2])
    (found,) = [
        child.pid
        for child in psutil.Process().children(recursive=True)
        for connection in child.net_connections()
        if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
    ]
    return found


@pytest.mark.slow
def test_cells_of_a_worker_that_stays_silent_run_again_on_a_cluster_of_ours(
    start, slow, begun, wait_until, monkeypatch
):
    monkeypatch.setattr(cluster, "WORKER_TTL_SECONDS", 5.0)
    going = start(slow_spec(2, naps=100), at=ClusterSpec(workers=2))
    held, _ = cells = list(going.sweep.cells.values())
    wait_until(lambda: all(watched.trace is not None and len(watched.trace) > 3 for watched in cells))
    os.kill(listening_at(held.worker), signal.SIGSTOP)
    going.join()
    assert [watched.state for watched in cells] == ["finished", "finished"]
    assert [list(watched.trace.iteration) for watched in cells] == [list(range(101))] * 2
    assert begun() == [1, 1, 2]


@pytest.fixture
def process(slow, tmp_path, place):
    """``solverscope sweep`` in a process of its own, on the cluster of the tests."""
    processes = []

    def begin(naps):
        script, spec = tmp_path / "main.py", tmp_path / "grid.toml"
        script.write_text(SCRIPT)
        texts = ", ".join(f'"{k}=slow,number={k},naps={3 if k == 1 else naps}"' for k in (1, 2))
        spec.write_text(
            f'data = "breast-cancer"\nlam = 0.01\nsolvers = [{texts}]\n[limits]\nmax_iter = 9999\n'
        )
        signal.signal(signal.SIGINT, signal.default_int_handler)
        command = [sys.executable, script, "sweep", spec, "--plugin", slow, "--scheduler", place.scheduler]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        made = subprocess.Popen([*command, "--out", tmp_path / "results"], **pipes)
        processes.append(made)
        return made

    yield begin
    for one in processes:
        one.kill()
        one.communicate()


@pytest.mark.slow
def test_a_client_that_is_killed_is_resumed_without_running_finished_cells_again(
    process, slow, begun, tmp_path, place, wait_until
):
    killed, ledger = process(100), tmp_path / "results" / "cells.jsonl"
    wait_until(lambda: ledger.exists() and ledger.read_text().endswith("}\n") and begun() == [1, 2])
    killed.kill()
    killed.communicate()
    with Client(place.scheduler, set_as_default=False) as client:  # nobody waits for the other one: it ends
        wait_until(lambda: not any(client.processing().values()))
    spec, store = Spec.read(tmp_path / "grid.toml"), Store(ledger.parent)
    sweep = SweepDriver(spec, place, store, resume=True)
    assert [watched.state for watched in sweep.cells.values()] == ["finished", "waiting"]
    sweep.run()
    assert [watched.state for watched in sweep.cells.values()] == ["finished", "finished"]
    assert begun() == [1, 2, 2]
    assert {len(store.trace(cell)) for cell in spec.cells} == {4, 101}


@pytest.mark.slow
def test_ctrl_c_stops_cleanly_and_keeps_what_there_is(process, begun, tmp_path, wait_until):
    interrupted, ledger = process(2000), tmp_path / "results" / "cells.jsonl"
    wait_until(lambda: ledger.exists() and ledger.read_text().endswith("}\n") and begun() == [1, 2])
    interrupted.send_signal(signal.SIGINT)
    out, err = interrupted.communicate(timeout=60)
    assert interrupted.returncode == 130, err
    assert "Traceback" not in err
    assert "go on with --resume" in err
    assert "max-iter" in out or "stalled" in out
    assert [line.count('"status": "stopped"') for line in ledger.read_text().splitlines()] == [0, 1]


def test_a_scheduler_that_takes_the_connection_and_says_nothing_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr("solverscope.app.sweep.cluster.CONNECT", 0.5)
    with socket.create_server(
        ("127.0.0.1", 0)
    ) as stopped:  # the system answers for it, as for one in SIGSTOP
        address = f"tcp://127.0.0.1:{stopped.getsockname()[1]}"
        sweep = SweepDriver(Spec.of(ONE), ClusterSpec(address), Store(tmp_path))
        with pytest.raises(ValueError, match=f"there is no scheduler at {address} .nobody answers there."):
            sweep.run()
    assert sweep.over


@pytest.mark.slow
def test_a_scheduler_that_is_stopped_is_called_silent_and_can_be_given_up(start, slow, by_hand, wait_until):
    going = start(slow_spec(1, naps=3000), at=ClusterSpec(by_hand.address))
    (watched,) = going.sweep.cells.values()
    wait_until(lambda: watched.state == "running" and going.sweep.workers == 1)
    by_hand.scheduler.send_signal(signal.SIGSTOP)
    wait_until(lambda: going.sweep.silent)
    by_hand.scheduler.send_signal(signal.SIGCONT)
    wait_until(lambda: not going.sweep.silent)
    by_hand.scheduler.send_signal(signal.SIGSTOP)
    wait_until(lambda: going.sweep.silent)
    going.sweep.stop()
    with pytest.raises(SchedulerGone, match="went away: 0 of 1 runs have ended and are kept"):
        going.join()
    assert (watched.state, len(watched.trace) > 0) == ("stopped", True)


def test_nobody_at_an_address_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr("solverscope.app.sweep.cluster.CONNECT", 0.5)
    sweep = SweepDriver(
        Spec.of(ONE),
        ClusterSpec("tcp://127.0.0.1:1"),
        Store(tmp_path),
    )
    with pytest.raises(ValueError, match=r"there is no scheduler at tcp://127\.0\.0\.1:1"):
        sweep.run()
    assert sweep.over
