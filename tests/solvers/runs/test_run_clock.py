"""What is on a run's clock, and what is not."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numba.core import event
from threadpoolctl import threadpool_info, threadpool_limits

from solverscope import solvers
from solverscope.solvers import Run, Stopping
from tests.solvers.helpers import chains

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def problem():
    return solvers.make_problem(chains(), lam_ratio=0.1)


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_stays_on_one_thread_until_the_last_run_ends(problem):
    """The first run to end must not unleash it in those that go on."""
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        first, second = (Run(problem, solvers.make_solver("owl-qn")).steps() for _ in range(2))
        next(first), next(second)
        assert blas_threads() == {1}
        first.close()
        assert blas_threads() == {1}
        second.close()
        assert blas_threads() == before


def test_the_clock_counts_what_the_solver_does_and_nothing_else(problem, clock):
    """Not its warm-up on a tiny copy, nor its tuning, nor compiling, nor what is recorded."""

    @dataclass(frozen=True)
    class Working(solvers.Solver):
        id, name, summary = "working", "Working", "works"

        def prepare(self, problem):
            clock.work(64.0)
            return self

        def iterate(self, problem, w0=None):
            for n in range(3):
                clock.work(1.0)
                if n == 1:
                    with event.trigger_event("numba:compile"):
                        clock.work(16.0)
                yield solvers.Iterate.at(problem.at(w0), n)
            return solvers.Ending("stalled", "nothing is left to do")

    def slow(iterate):
        clock.work(256.0)
        return {"seen": np.ones(1)}

    before, probe = problem.setup_seconds, solvers.Probe("slow", slow)
    trace = Run(problem, Working(), probes=(probe,), stopping=Stopping(max_iter=9)).execute()
    assert trace.status == "stalled"
    assert trace.cpu_seconds == pytest.approx([1.0, 2.0, 3.0])
    assert trace.wall_seconds == pytest.approx([1.0, 2.0, 3.0])
    assert trace.result["setup_seconds"] - before == pytest.approx(64.0)
    assert trace.result["compile_seconds"] == pytest.approx(3.0 + 16.0 + 16.0), (
        "all of the warm-up, and in the run itself"
    )
    assert trace.probes.iterations("slow") == [0, 1, 2]
