"""What it costs a loop of one's own to be watched, as a share of its CPU time, at 200 iterates a second."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.app.loops.client import solverscope_run

pytestmark = pytest.mark.bench

ROOT = Path(__file__).resolve().parents[2]

#: CPU seconds of an iterate, and how many of them.
EACH, ITERATES = 0.005, 2000


def work(seconds):
    """Compute for so many CPU seconds."""
    end = time.thread_time() + seconds
    a = np.ones(1000)
    while time.thread_time() < end:
        a @ a


@pytest.mark.parametrize(
    ("data", "options"), [("breast-cancer", {}), ("synthetic-text", {"n_features": 10_000})]
)
def test_watching_takes_less_than_2_percent_of_the_loop(data, options, capsys):
    problem = solvers.make_problem(datasets.load(data, **options), penalty="l1")
    spent, w = 0.0, np.zeros(problem.size)
    with solvers.OwnLoop("mine", problem) as run:
        for _ in range(ITERATES):
            work(EACH)
            began = time.thread_time()
            run.iterate(w=w)
            spent += time.thread_time() - began
    share = spent / (EACH * ITERATES)
    with capsys.disabled():
        print(f"\n{data}, {problem.size} weights: {100 * share:.2f} %, {len(run.trace)} of {ITERATES} seen")
    assert share < 0.02
    assert len(run.trace) > 10


@pytest.mark.parametrize("size", [30, 10_000, 100_000, 1_000_000])
def test_streaming_into_a_page_takes_less_than_2_percent_of_the_loop(size, capsys):
    """Of all threads of the process, the one that sends included."""
    command = [sys.executable, "-m", "tests.benchmarks.loop_host", str(size)]
    host = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    w, told = np.zeros(size), 0.0
    try:
        with solverscope_run("mine", host.stdout.readline().strip()) as run:
            process, thread = time.process_time(), time.thread_time()
            for _ in range(ITERATES):
                work(EACH)
                began = time.thread_time()
                run.iterate(w=w)
                told += time.thread_time() - began
            thread, process = time.thread_time() - thread, time.process_time() - process
    finally:
        host.communicate("")
    own = thread - told
    with capsys.disabled():
        print(
            f"\nstreamed, {size} weights: {100 * told / own:.2f} % in the loop's thread, "
            f"{100 * (process - own) / own:.2f} % in all threads"
        )
    assert process - own < 0.02 * own
