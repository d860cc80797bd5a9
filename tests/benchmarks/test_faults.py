"""Faults of the machine: no traceback, nothing old lost, one clear sentence each.

pytest -m bench tests/benchmarks/test_faults.py -s
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from solverscope import datasets
from solverscope.datasets import DataError

pytestmark = pytest.mark.bench

SCRIPT = "from solverscope.app.console import main; main()"
RUN = ("run", "breast-cancer", "--solver", "prox-gd", "--gap", "1e-3", "--json")
ENDLESS = ("run", "digits", "--solver", "prox-gd", "--tol", "0", "--json")
CUTS, FLIPS = 20, 200


@pytest.fixture
def start():
    """``start(command, ..., variable=value)`` is a process; whatever is left of it at the end is killed."""
    begun = []

    def begin(*arguments, **environment):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        begun.append(
            subprocess.Popen(
                [sys.executable, "-c", SCRIPT, *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, **environment},
                start_new_session=True,
            )
        )
        return begun[-1]

    yield begin
    for process in begun:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def call(start):
    """``call(command, ...)`` gives exit status, records and the lines of standard error."""

    def run(*arguments, **environment):
        process = start(*arguments, **environment)
        out, err = process.communicate(timeout=600)
        assert "Traceback" not in err, err
        return process.returncode, [json.loads(line) for line in out.splitlines()], err.splitlines()

    return run


@pytest.fixture
def mounted(tmp_path):
    """``mounted(options)`` is a small disk of its own; only where we may mount one."""
    folders = []

    def mount(options):
        folder = tmp_path / f"disk{len(folders)}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("needs the right to mount a disk")
        folders.append(folder)
        return folder

    yield mount
    for folder in folders:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def damages(content, seed):
    """The content cut at 20 places, and with 200 bytes changed."""
    rng = np.random.default_rng(seed)
    for end in sorted(rng.choice(len(content), min(CUTS, len(content)), replace=False)):
        yield f"cut at byte {end}", content[:end]
    changed = bytearray(content)
    for place in rng.choice(len(content), min(FLIPS, len(content)), replace=False):
        changed[place] ^= rng.integers(1, 256)
    yield "200 bytes changed", bytes(changed)


def until_it_runs(process):
    while '"iterate"' not in process.stdout.readline():
        assert process.poll() is None


@pytest.mark.parametrize("ending", ["SIGKILL", "SIGTERM", "SIGHUP", "SIGINT"])
def test_signals(start, tmp_path, ending):
    out = tmp_path / "trace.jsonl"
    out.write_text("old\n")
    process = start(*ENDLESS, "--out", str(out))
    until_it_runs(process)
    process.send_signal(getattr(signal, ending))
    _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    if ending == "SIGKILL":
        assert out.read_text() == "old\n"
    else:
        assert process.returncode == 130
        assert json.loads(out.read_text().splitlines()[-1])["status"] == "stopped"


def test_a_process_that_is_stopped_goes_on(start):
    process = start(*ENDLESS)
    until_it_runs(process)
    process.send_signal(signal.SIGSTOP)
    time.sleep(3)
    process.send_signal(signal.SIGCONT)
    until_it_runs(process)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    result = json.loads(out.splitlines()[-1])
    assert (process.returncode, result["status"], "Traceback" in err) == (130, "stopped", False)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "npz"])
@pytest.mark.parametrize("command", ["run", "path"])
def test_full_disk(call, mounted, command, ending):
    folder = mounted("size=64k")
    out = folder / f"trace.{ending}"
    out.write_text("old\n")
    (folder / "filler").write_bytes(bytes(61_440))  # and nothing is left
    limits = ("--max-iter", "400", "--tol", "0", "--json", "--out", str(out))
    status, records, err = call(command, "digits", "--solver", "prox-gd", *limits, *few(command))
    # the lines of a path are written as they come, so it ends where they cannot be
    last = "iterate" if (command, ending) == ("path", "jsonl") else "result"
    assert (status, records[-1]["type"]) == (4, last)
    assert err[-1].startswith(f"solverscope: {out} was not written, for the disk is full: what was there")
    assert out.read_text() == "old\n"
    assert sorted(os.listdir(folder)) == ["filler", out.name]
    print(f"\n{err[-1]}")


def few(command):
    return ("--lams", "0.01,0.001") if command == "path" else ()


def test_full_home(call, mounted):
    home = mounted("size=16k")
    (home / "filler").write_bytes(bytes(16_384))
    status, records, err = call(*RUN, SOLVERSCOPE_HOME=str(home))
    assert (status, records[-1]["status"]) == (0, "converged")
    assert [line for line in err if "disk is full" in line] or not (home / "reference").exists()
    assert [p for p in home.rglob("*") if p.is_file()] == [home / "filler"]


def test_read_only_home(call, mounted):
    home = mounted("size=1m")
    subprocess.run(["mount", "-o", "remount,ro", str(home)], check=True)
    status, records, err = call(*RUN, SOLVERSCOPE_HOME=str(home), NUMBA_CACHE_DIR=str(home / "numba"))
    assert (status, records[-1]["status"]) == (0, "converged")
    assert sum("not kept for the next time, for the disk is read-only" in line for line in err) == 1
    print("\n" + "\n".join(err))


def test_damaged_reference(call, tmp_path):
    home = tmp_path / "home"
    assert call(*RUN, SOLVERSCOPE_HOME=str(home))[0] == 0
    (kept,) = (home / "reference").iterdir()
    whole = kept.read_bytes()
    f_star = json.loads(whole)["f_star"]
    planted = [json.dumps(json.loads(whole) | {"f_star": f}).encode() for f in (float("nan"), -5, 1e9)]
    nested = [("nested", b"[" * 200_000)]
    for what, content in [*damages(whole, 0), *nested, *zip(("NaN", "-5", "1e9"), planted, strict=True)]:
        kept.write_bytes(content)
        status, records, err = call(*RUN, SOLVERSCOPE_HOME=str(home))
        (reference,) = (record for record in records if record["type"] == "reference")
        assert (status, reference["cached"], reference["f_star"]) == (0, False, f_star), what
        assert sum("is thrown away" in line for line in err) == 1, (what, err)
        assert json.loads(kept.read_bytes())["f_star"] == f_star
    print(f"\nlast said: {[line for line in err if 'thrown' in line]}")


def test_damaged_kernels(call, tmp_path):
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "numba"), "SOLVERSCOPE_HOME": str(tmp_path / "home")}
    command = ("run", "breast-cancer", "--solver", "prox-gd", "--max-iter", "3", "--json")
    assert call(*command, **environment)[0] == 0
    whole = {path: path.read_bytes() for path in (tmp_path / "numba").rglob("*.nb?")}
    assert whole
    rounds = [[*damages(content, seed)] for seed, content in enumerate(whole.values())]
    for k in range(CUTS + 1):
        for path, damaged in zip(whole, rounds, strict=True):
            path.write_bytes(damaged[min(k, len(damaged) - 1)][1])
        status, records, err = call(*command, **environment)
        assert (status, records[-1]["status"]) == (0, "max-iter")
        assert sum("damaged" in line for line in err) <= len({path.parent for path in whole})
        assert any("damaged" in line for line in err)
    print(f"\n{len(whole)} files, {CUTS + 1} rounds, the last of which said {err[:2]}")


def test_damaged_data_files(tmp_path, monkeypatch):
    """A packed file that was downloaded, or put there, is refused in a sentence; none is deleted."""
    source = os.environ.get("SOLVERSCOPE_DATA")
    name = "conll2000/conll2000.zip"
    if source is None or not (Path(source) / name).exists():
        pytest.skip("needs conll2000 in SOLVERSCOPE_DATA")
    monkeypatch.delenv("SOLVERSCOPE_DATA")
    monkeypatch.setenv("SOLVERSCOPE_HOME", str(tmp_path))
    kept = tmp_path / "data" / name
    kept.parent.mkdir(parents=True)
    shutil.copyfile(Path(source) / name, kept)
    kept.chmod(0o644)
    for _, content in damages(kept.read_bytes(), 0):
        kept.write_bytes(content)
        with pytest.raises(DataError, match=r"conll2000\.zip .*: get (it|the original file)"):
            datasets.load("conll2000")
        assert kept.read_bytes() == content


def test_two_servers_and_commands_on_one_home(start, call, tmp_path):
    home = {"SOLVERSCOPE_HOME": str(tmp_path)}
    servers, ports = [start("serve", "--port", "0", **home) for _ in range(2)], []
    for server in servers:
        while not (found := re.search(r"http://localhost:(\d+)/", server.stderr.readline())):
            assert server.poll() is None
        ports.append(int(found[1]))
        with urllib.request.urlopen(f"http://localhost:{ports[-1]}/app", timeout=60) as page:
            assert page.status == 200
    commands = [start(*RUN, **home) for _ in range(3)]
    answers = [process.communicate(timeout=300) for process in commands]
    assert [process.returncode for process in commands] == [0, 0, 0]
    assert "Traceback" not in "".join(err for _, err in answers)
    assert len([*(tmp_path / "reference").iterdir()]) == 1
    servers[0].kill()
    servers[0].communicate()
    with urllib.request.urlopen(f"http://localhost:{ports[1]}/app", timeout=60) as page:
        assert page.status == 200
    servers[1].send_signal(signal.SIGTERM)
    assert "Traceback" not in servers[1].communicate(timeout=30)[1]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("localhost", ports[1]), timeout=10)
