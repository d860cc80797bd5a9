"""Faults of the machine, in short: tests/benchmarks/test_faults.py has them all."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

SCRIPT = "from solverscope.app.console import main; main()"
RUN = ("run", "breast-cancer", "--solver", "prox-gd", "--gap", "1e-3", "--json")


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 kB of its own; only where we may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.name != "posix" or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)


def call(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )


def test_a_full_disk_keeps_the_old_file_and_has_a_status_of_its_own(small_disk):
    out, home = small_disk / "trace.jsonl", small_disk / "home"
    out.write_text("old\n")
    (small_disk / "filler").write_bytes(bytes(40_000))
    (home / "reference").mkdir(parents=True)
    done = call(*RUN, "--gap", "1e-9", "--out", str(out), SOLVERSCOPE_HOME=str(home))
    assert done.returncode == 4
    last = done.stderr.splitlines()[-1]
    assert last == (
        f"solverscope: {out} was not written, for the disk is full: "
        "what was there before is kept; make room on it"
    )
    assert "Traceback" not in done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["type"] == "result"
    assert out.read_text() == "old\n"
    assert sorted(os.listdir(small_disk)) == ["filler", "home", "trace.jsonl"]


@pytest.mark.slow
def test_commands_that_share_a_home_do_not_disturb_each_other(tmp_path):
    environment = {**os.environ, "SOLVERSCOPE_HOME": str(tmp_path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    both = [subprocess.Popen([sys.executable, "-c", SCRIPT, *RUN], **pipes) for _ in range(2)]
    answers = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], answers
    assert "Traceback" not in answers[0][1] + answers[1][1]
    values = {
        json.loads(line)["f_star"] for out, _ in answers for line in out.splitlines() if "f_star" in line
    }
    assert len(values) == 1
    (kept,) = (tmp_path / "reference").iterdir()
    assert json.loads(kept.read_text())["f_star"] in values
