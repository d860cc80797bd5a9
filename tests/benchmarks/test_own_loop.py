"""What it costs a loop of one's own to be watched, as a share of its CPU time, at 200 iterates a second."""

import time

import numpy as np
import pytest

import datasets
import solvers

pytestmark = pytest.mark.bench

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
