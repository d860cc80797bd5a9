"""The clients of ``app/loops/README.md`` in C and Julia reach an endpoint, where there is a compiler."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from solverscope.app.loops.client import LoopIterate

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "app" / "loops" / "README.md").read_text(encoding="utf-8")
#: Number of weights.
SIZE = 30


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def host() -> Iterator[subprocess.Popen[str]]:
    """An endpoint that admits everything; the first line is its address, the others what it received."""
    command = [sys.executable, "-m", "tests.benchmarks.loop_host", str(SIZE), "--tell"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
    yield process
    if process.stdin is not None and not process.stdin.closed:
        process.communicate("")


def told(host: subprocess.Popen[str]) -> list[dict]:
    said, _ = host.communicate("")
    return [json.loads(line) for line in said.splitlines()]


def check(iterates: list[dict], last: int) -> None:
    """Check that the first and last iterate have come, some between them, and then the end."""
    *iterates, end = iterates
    numbers = [one["iteration"] for one in iterates]
    assert numbers[0] == 0
    assert numbers[-1] == last
    assert numbers == sorted(set(numbers))
    assert len(numbers) > 2
    assert end == {"end": ""}
    assert 0.0 <= iterates[0]["first"] < iterates[-1]["first"] < 1.0


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_client_in_c_sends_its_iterates(host, tmp_path):
    client, main = blocks("c")
    (tmp_path / "loop.c").write_text(client + main, encoding="utf-8")
    command = ["cc", "-O2", "-Wall", "-Werror", "-o", str(tmp_path / "loop"), str(tmp_path / "loop.c")]
    subprocess.run(command, check=True)
    parts = urlsplit(host.stdout.readline().strip())
    done = subprocess.run(
        [tmp_path / "loop", str(parts.port), parts.path, parts.fragment], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)
    check(told(host), 2_000_000)
    refused = subprocess.run([tmp_path / "loop", "1", "/app", "t"], capture_output=True, text=True)
    assert refused.returncode == 1
    assert refused.stderr.startswith("no server")


@pytest.mark.skipif(shutil.which("julia") is None, reason="no Julia")
@pytest.mark.slow
def test_the_client_in_julia_sends_its_iterates(host, tmp_path):
    (tmp_path / "loop.jl").write_text("".join(blocks("julia")), encoding="utf-8")
    address = host.stdout.readline().strip().replace("127.0.0.1", "localhost")
    done = subprocess.run(["julia", tmp_path / "loop.jl", address], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr
    check(told(host), 2000)


@pytest.mark.parametrize("language", ["c", "julia"])
def test_a_client_has_at_most_60_lines(language):
    client, example = blocks(language)
    assert len(client.splitlines()) <= 60
    assert len(example.splitlines()) <= 15


def test_the_header_that_is_shown_is_one():
    (shown,) = blocks("json")
    found = LoopIterate.parse(shown.encode() + bytes(8 * SIZE), SIZE)
    assert (found.iteration, found.objective) == (12, 0.127)
