"""A process of the command line that is asked to end: what it leaves, and what it takes with it."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from llvmlite.binding import ffi

from solverscope.app.command.signals import interrupting

ROOT = Path(__file__).resolve().parents[3]
#: A process inherits what its parent ignores: SIGINT of a shell's background, SIGHUP of nohup.
SCRIPT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.{})
from solverscope.app.console import main
main()
"""
ENDING = [
    pytest.param(signal.SIGINT, id="SIGINT"),
    pytest.param(signal.SIGTERM, id="SIGTERM", marks=pytest.mark.slow),
    pytest.param(signal.SIGHUP, id="SIGHUP", marks=pytest.mark.slow),
]


@pytest.fixture
def start():
    """``start("run", ...)`` is a process of its own; whatever is left of it at the end is killed."""
    begun = []

    def begin(*arguments, hangup="SIG_DFL"):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        command = [sys.executable, "-c", SCRIPT.format(hangup), *arguments]
        begun.append(subprocess.Popen(command, start_new_session=True, **pipes))
        return begun[-1]

    yield begin
    for process in begun:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
        finally:
            process.communicate()


def endless(out):
    return ("run", "digits", "--solver", "prox-gd", "--tol", "0", "--json", "--out", str(out))


def iterating(process):
    """Return once the process has printed an iterate after the first."""
    iteration = 0
    while iteration < 1:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        iteration = json.loads(line).get("iteration", 0)


def rest_of(process):
    """What a process still prints, and what it says, until it ends; it is killed after a minute.

    ``communicate`` leaves out what ``readline`` has read ahead.
    """
    late = threading.Timer(60, process.kill)
    late.start()
    try:
        said = process.stdout.read(), process.stderr.read()
        process.wait()
        return said
    finally:
        late.cancel()


def group(process):
    """Processes of a group that are alive, by their ids."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            state, _, leader = stat.read_text().rpartition(")")[2].split()[:3]
            if leader == str(process.pid) and state != "Z":
                found.add(stat.parent.name)
    return found


@pytest.fixture
def dask():
    return pytest.importorskip("distributed", reason="Dask is not installed")


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="tells by /proc who is alive")
#: Ctrl-C in a terminal goes to all of its processes, a plain kill to one.
SENT = [pytest.param(os.killpg, signal.SIGINT, id="Ctrl-C"), pytest.param(os.kill, signal.SIGTERM, id="kill")]


@pytest.mark.parametrize("ending", ENDING)
def test_process_asked_to_end_leaves_whole_lines_and_its_file(start, tmp_path, ending):
    out = tmp_path / "trace.npz"
    process = start(*endless(out))
    lines = [process.stdout.readline() for _ in range(5)]  # printed while the run goes on
    process.send_signal(ending)
    rest, err = rest_of(process)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    records = [json.loads(line) for line in [*lines, *rest.splitlines()]]
    assert (records[-1]["type"], records[-1]["status"]) == ("result", "stopped")
    with np.load(out, allow_pickle=False) as arrays:
        assert arrays["prox-gd/iteration"][-1] == records[-1]["iterations"]
    assert os.listdir(tmp_path) == [out.name]


@pytest.mark.slow
def test_process_that_nohup_started_outlives_its_terminal(start, tmp_path):
    process = start(*endless(tmp_path / "trace.npz"), hangup="SIG_IGN")
    iterating(process)
    process.send_signal(signal.SIGHUP)
    iterating(process)
    process.send_signal(signal.SIGTERM)
    rest, err = rest_of(process)
    assert process.returncode == 130, err
    assert json.loads(rest.splitlines()[-1])["status"] == "stopped"


@pytest.mark.parametrize("ending", [".jsonl", pytest.param(".csv", marks=pytest.mark.slow)])
def test_path_asked_to_end_leaves_what_there_is_of_it(start, tmp_path, ending):
    out = tmp_path / f"path{ending}"
    lams = ("--lams", "0.01,0.001", "--tol", "0", "--json", "--out", str(out))
    process = start("path", "digits", "--solver", "prox-gd", *lams)
    while '"iterate"' not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in err) == (130, False), err
    assert "stopped" in out.read_text().splitlines()[-1]


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize(("send", "ending"), SENT)
def test_run_on_shards_asked_to_end_leaves_its_file_and_no_worker(
    start, tmp_path, dask, wait_until, send, ending
):
    out = tmp_path / "trace.jsonl"
    process = start(*endless(out), "--shards", "2")
    iterating(process)
    assert len(group(process)) >= 3, "two workers"
    send(process.pid, ending)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    last = json.loads(out.read_text().splitlines()[-1])
    assert (last["type"], last["status"], last["iterations"] > 0) == ("result", "stopped", True)
    wait_until(lambda: not group(process))


@pytest.mark.slow
@needs_proc
def test_shards_interrupted_while_workers_start_end_quietly(start, tmp_path, dask, wait_until):
    out = tmp_path / "trace.jsonl"
    process = start(*endless(out), "--shards", "2")
    wait_until(lambda: len(group(process)) >= 3)
    os.killpg(process.pid, signal.SIGINT)
    said, err = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, ""), err
    assert "Traceback" not in err
    assert not out.exists()
    wait_until(lambda: not group(process))


@pytest.mark.slow
@needs_proc
def test_sweep_interrupted_in_a_terminal_ends_quietly_and_leaves_no_worker(start, tmp_path, dask, wait_until):
    plugin = shutil.copy(ROOT / "tests/app/sweep/slow_plugin.py", tmp_path)
    spec, folder = tmp_path / "grid.toml", tmp_path / "results"
    spec.write_text('data = "breast-cancer"\nsolvers = ["slow,naps=9999"]\n[limits]\nmax_iter = 9999\n')
    process = start("sweep", str(spec), "--workers", "1", "--out", str(folder), "--plugin", plugin)
    wait_until((tmp_path / "begun").exists)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    (record,) = map(json.loads, (folder / "cells.jsonl").read_text().splitlines())
    assert (record["status"], record["message"]) == ("stopped", "stopped by the user")
    wait_until(lambda: not group(process))


@pytest.mark.slow
@pytest.mark.parametrize(("send", "ending"), SENT)
def test_workers_of_others_stay_when_a_run_on_them_is_asked_to_end(
    start, tmp_path, dask, by_hand, wait_until, send, ending
):
    out = tmp_path / "trace.jsonl"
    with dask.Client(by_hand.address, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=60)
        workers = list(client.nthreads())
        process = start(*endless(out), "--shards", "1", "--scheduler", by_hand.address)
        iterating(process)
        send(process.pid, ending)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert "Traceback" not in err
        assert json.loads(out.read_text().splitlines()[-1])["status"] == "stopped"
        assert list(client.nthreads()) == workers
        wait_until(lambda: set(client.run(_actors).values()) == {0})


def _actors(dask_worker):
    return len(dask_worker.state.actors)


def test_process_asked_to_end_before_it_runs_ends_quietly(start, tmp_path, wait_until):
    plugin, begun = tmp_path / "own.py", tmp_path / "begun"
    plugin.write_text(f"from pathlib import Path\nPath({str(begun)!r}).touch()\n")
    data = ("digit-strings", "--option", "n_samples=3000")
    process = start("run", *data, "--solver", "prox-gd", "--plugin", str(plugin))
    wait_until(begun.exists)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in out + err


def test_signal_that_comes_in_a_finalizer_is_not_lost(start, tmp_path, wait_until):
    plugin, begun = tmp_path / "own.py", tmp_path / "begun"
    plugin.write_text(
        "from pathlib import Path\n"
        "class Slow:\n"
        "    def __del__(self):\n"
        f"        Path({str(begun)!r}).touch()\n"
        "        while True:\n"
        "            pass\n"
        "Slow()\n"
    )
    process = start(*endless(tmp_path / "trace.npz"), "--plugin", str(plugin))
    wait_until(begun.exists)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "KeyboardInterrupt" not in out + err


def test_signal_does_not_make_llvmlite_free_memory_twice(monkeypatch):
    freed = []

    def free(pointer):
        freed.append(pointer)
        if len(freed) == 1:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(ffi, "lib", SimpleNamespace(LLVMPY_DisposeString=free))
    text = ffi.OutputString()

    def close_and_wait():
        text.close()
        threading.Event().wait(60)

    with pytest.raises(KeyboardInterrupt), interrupting():
        close_and_wait()
    text.close()
    assert len(freed) == 1


def test_process_killed_keeps_the_file_that_was_there(start, tmp_path):
    out = tmp_path / "trace.jsonl"
    out.write_text("old\n")
    process = start(*endless(out))
    while '"iterate"' not in process.stdout.readline():
        pass
    process.kill()
    process.communicate(timeout=60)
    assert out.read_text() == "old\n"


@pytest.mark.slow
def test_reader_that_goes_away_ends_the_run(start, tmp_path):
    out = tmp_path / "trace.npz"
    process = start(*endless(out))
    while '"iterate"' not in process.stdout.readline():
        pass
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(timeout=60) == 130
    assert "Traceback" not in err
    with np.load(out, allow_pickle=False) as arrays:
        assert len(arrays["prox-gd/iteration"]) > 0


@pytest.mark.quick("SIGINT")
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT], ids=lambda s: s.name)
def test_serve_ends_with_its_server(start, ending):
    process = start("serve", "--port", "0")
    said = ""
    while not (found := re.search(r"http://localhost:(\d+)/", said)):
        line = process.stderr.readline()
        assert line, said
        said += line
    port = int(found[1])
    # it answers once its loop runs: it listens before, but Panel would not yet end quietly
    urllib.request.urlopen(f"http://localhost:{port}/static/js/bokeh.min.js", timeout=60).close()
    process.send_signal(ending)
    _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("localhost", port), timeout=60)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="tells by /proc how far a process is")
def test_server_that_is_interrupted_while_it_starts_ends_quietly(start, wait_until):
    process = start("serve", "--port", "0")
    about = Path(f"/proc/{process.pid}")
    # it imports Panel: NumPy is there first
    wait_until(lambda: "numpy" in (about / "maps").read_text())
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in out + err
    assert process.returncode == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_signal_while_modules_are_imported_is_one_line(number):
    """Raised by the import itself, as by a terminal."""
    script = SCRIPT.format("SIG_DFL").replace(
        "main()",
        "import importlib.abc, os\n"
        "class Finder(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, *rest):\n"
        f"        if name == 'solverscope.app.command.cli': os.kill(os.getpid(), {int(number)})\n"
        "sys.meta_path.insert(0, Finder())\n"
        "main()",
    )
    ended = subprocess.run([sys.executable, "-c", script, "list", "rules"], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "solverscope: interrupted\n")


@pytest.mark.parametrize("count", [1, 5])
def test_signals_in_a_row_are_one_line(start, count):
    """Before the first run, and while a rival is at work in a process of its own."""
    process = start(
        "run", "digits", "--solver", "sklearn-saga", "--tol", "0", "--max-seconds", "60", "--json"
    )
    iterating(process)
    for _ in range(count):
        process.send_signal(signal.SIGINT)
    _, err = rest_of(process)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "Error" not in err


def test_a_sweep_whose_workers_do_not_end_is_left(monkeypatch, capsys):
    """They may be starting, or hang in a plug-in: what ended is kept."""
    module = importlib.import_module("solverscope.app.command.sweep")

    class Stuck:
        """A sweep that does not hear."""

        spec, cells, workers, silent, message = SimpleNamespace(name="grid", choose=""), {}, 1, False, ""
        store = SimpleNamespace(folder="grid.sweep")
        place = SimpleNamespace(name="here", scheduler=None)
        stopped: ClassVar[list[str]] = []

        def stop(self, why):
            self.stopped[:] = [why]

        def run(self, ended):
            threading.Event().wait()

    monkeypatch.setattr(module, "SHUTDOWN_SECONDS", 0.0)
    monkeypatch.setattr(
        module, "Interrupts", lambda: SimpleNamespace(wanted=True, listening=contextlib.nullcontext)
    )
    said = []
    progress = SimpleNamespace(
        say=said.append, working=lambda what: contextlib.nullcontext(lambda *told: None)
    )
    assert module.execute(Stuck(), lambda record: None, progress) == 130
    assert Stuck.stopped == ["interrupted"]
    assert said[-1] == "grid: interrupted; go on with --resume"
