"""What an exact line search costs, beside the pass over the data that makes its scores.

    pytest -m bench tests/benchmarks/test_lines.py -s

All times are CPU milliseconds of one thread, the least of 7 searches from points on the way of a subgradient
method, each with thousands of breakpoints.
"""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
import scipy.sparse as sp

from solverscope import solvers
from solverscope.solvers.problems.losses import envelope as module
from tests.benchmarks.report import Report

pytestmark = pytest.mark.bench

#: Loss, rows, features, outputs, and the milliseconds that a search may take.
TASKS = {
    "binary-hinge": (57_763, 2_000, 2, 10.0),
    "multiclass-hinge": (16_000, 16, 26, 60.0),
    "multilabel-hinge": (16_000, 100, 22, 150.0),
}


def problem_of(loss):
    n, d, m, limit = TASKS[loss]
    rng = np.random.default_rng(0)
    X = rng.random((n, d)) if d < 100 else sp.random(n, d, 20 / d, "csr", random_state=rng)
    if loss == "binary-hinge":
        y = rng.choice([-1, 1], n)
    elif loss == "multiclass-hinge":
        y = rng.integers(0, m, n)
    else:
        y = sp.csr_matrix((rng.random((n, m)) < 0.1).astype(np.int8))
    return solvers.make_problem(X, y, loss=loss, penalty="l2", lam=1e-4), limit


@pytest.mark.parametrize("loss", TASKS)
def test_an_exact_search_is_fast_on_many_rows(loss):
    problem, limit = problem_of(loss)
    rng = np.random.default_rng(1)
    line, took, marks = [], [], []
    for _ in range(8):
        point = problem.at(0.5 * rng.normal(size=problem.size))
        d = -point.gradient()
        began = time.thread_time()
        phi = problem.line(point, d)
        line.append(time.thread_time() - began)
        marks.append(phi.breakpoints().t.size)
        began = time.thread_time()
        found = phi.exact()
        took.append(time.thread_time() - began)
        assert found.t > 0.0
    n, _, m, _ = TASKS[loss]
    report = Report(f"Exact line search, {loss}")
    columns = ["rows", "labels", "search, ms", "scores of d, ms", "breakpoints"]
    report.table("CPU milliseconds", columns, [[n, m, 1e3 * min(took[1:]), 1e3 * min(line[1:]), max(marks)]])
    assert 1e3 * min(took[1:]) <= limit


def test_segmenting_a_maximum_of_lines_takes_r_log_r():
    """Seconds of Algorithm 4 on tangents of a parabola, all of them active, against r log r."""
    seconds = {}
    for r in (1_000, 1_000, 10_000, 100_000):
        a = np.random.default_rng(0).permutation(r) / r
        b, order, t, line = -(a**2), np.empty(r, np.int64), np.empty(r), np.empty(r, np.int64)
        began = time.thread_time()
        repeats = 100_000 // r
        for _ in range(repeats):
            assert module.envelope(a, b, r, order, t, line) == r
        seconds[r] = (time.thread_time() - began) / repeats
    growth = seconds[100_000] / seconds[1_000]
    assert growth <= 3.0 * 100 * math.log(100_000) / math.log(1_000)
