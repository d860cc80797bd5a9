"""Standard streams that are closed, full, or read by nobody: no traceback, and a status that says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = "from solverscope.app.console import main; main()"
SHORT = ("run", "digits", "--solver", "prox-gd", "--max-iter", "2")

#: One command for each way to standard output: tables, records, Typer's own.
OUTPUTS = [("list", "datasets"), ("list", "datasets", "--json"), ("--help",)]

full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")


def call(*arguments, **streams):
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **streams}
    return subprocess.run([sys.executable, "-c", SCRIPT, *arguments], timeout=120, check=False, **given)


def close(*numbers):
    """What a shell does for ``>&-``."""

    def closing():
        for number in numbers:
            os.close(number)

    return {"preexec_fn": closing}


@pytest.mark.parametrize(
    ("command", "closed"),
    [(("list", "datasets"), (1,)), (("list", "datasets"), (0, 1, 2)), ((*SHORT, "--json"), (1,))],
)
def test_closed_streams_go_nowhere(command, closed):
    done = call(*command, **close(*closed))
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_file_asked_for_is_written_though_standard_output_is_closed(tmp_path):
    out = tmp_path / "a.jsonl"
    assert call(*SHORT, "--out", str(out), **close(0, 1, 2)).returncode == 0
    assert json.loads(out.read_text().splitlines()[-1])["type"] == "result"


@pytest.mark.parametrize("command", OUTPUTS)
def test_nobody_who_reads_is_no_error(command):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        done = call(*command, stdout=pipe)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert "rror" not in done.stderr


@pytest.mark.quick("command2")
@full
@pytest.mark.parametrize("command", OUTPUTS)
def test_a_full_output_is_told_in_a_sentence_with_a_status_of_its_own(command):
    with open("/dev/full", "w") as device:
        done = call(*command, stdout=device)
    assert done.returncode == 4
    assert "disk is full" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@full
def test_words_that_nobody_hears_do_not_end_a_run():
    with open("/dev/full", "w") as device:
        done = call(*SHORT, "--json", stderr=device)
    assert done.returncode == 0
    assert json.loads(done.stdout.splitlines()[-1])["status"] == "max-iter"


@full
def test_a_full_output_does_not_cost_the_file(tmp_path):
    out = tmp_path / "a.csv"
    with open("/dev/full", "w") as device:
        done = call(*SHORT, "--out", str(out), stdout=device)
    assert done.returncode == 4
    assert len(out.read_text().splitlines()) == 4


@pytest.mark.slow
def test_letters_that_an_encoding_lacks_are_escaped():
    done = call(*SHORT, "--solver", "ünïcode=prox-gd", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "\\xfcn\\xefcode" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="sets a limit of Linux")
@pytest.mark.parametrize(("megabytes", "status"), [(700, 0), (300, 2)])
def test_a_process_with_little_address_space_lists_or_says_so_in_a_line(megabytes, status):
    import resource

    limit = megabytes << 20
    small = lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))  # noqa: E731
    answer = call("list", "solvers", preexec_fn=small, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    assert "Traceback" not in answer.stderr
    assert answer.returncode == status
    assert answer.stderr.count("\n") == (status > 0)
