"""What keeping runs costs them: ``pytest -m bench tests/benchmarks/test_history.py -s``."""

from __future__ import annotations

import statistics
import threading
import time

import pytest

from solverscope import datasets, solvers
from solverscope.app import views
from solverscope.app.runs.archive import PERSISTENT_LIMITS
from solverscope.app.runs.history import History

pytestmark = pytest.mark.bench

#: Rounds of a run that is kept and two that are not, in turns; seconds that each of them takes or so.
ROUNDS, SECONDS = 7, 2.0
#: CPU seconds of the history's thread a CPU second of a run, at most.
MOST = 0.02


class Recorded:
    """A run as the history follows it."""

    def __init__(self, run: solvers.Run) -> None:
        self.trace, self.alive = run.trace, True


def timed(problem, solver, iterations, history):
    """CPU seconds of a run's thread, its wall seconds, and meanwhile CPU seconds of the history's thread."""
    run = solvers.Run(
        problem,
        solver,
        stopping=solvers.Stopping(max_iter=iterations),
        probes=views.probes(problem),
    )
    recorded = Recorded(run)
    if history is not None:
        history.record(recorded)
        history.ask(lambda archive: None).result(10)
    wall, cpu, other = time.perf_counter(), time.thread_time(), clock(history)
    run.execute()
    spent = time.thread_time() - cpu, time.perf_counter() - wall, clock(history) - other
    recorded.alive = False
    return spent


def clock(history):
    """CPU seconds of the history's thread; 0 without one."""
    thread = next((t for t in threading.enumerate() if t.name == "run history"), None)
    return 0.0 if history is None else time.clock_gettime(time.pthread_getcpuclockid(thread.ident))


@pytest.mark.parametrize("solver", ["prox-gd", "sgd-l1"])
def test_a_run_that_is_kept_loses_next_to_nothing(tmp_path, solver):
    """Of iterates that come fast, a few thousand a second, which is the worst case."""
    problem = solvers.make_problem(datasets.load("breast-cancer"), loss="logistic", penalty="l1", lam=1e-4)
    made = solvers.make_solver(solver)
    history = History(tmp_path / "runs.sqlite", PERSISTENT_LIMITS)
    seconds, _, _ = timed(problem, made, 500, None)
    seconds, _, _ = timed(problem, made, 500, None)
    iterations = int(500 * SECONDS / seconds)
    rounds = [[timed(problem, made, iterations, h) for h in (history, None, None)] for _ in range(ROUNDS)]
    history.close()
    cpu, noise = (statistics.median(r[k][0] / r[2][0] for r in rounds) - 1.0 for k in (0, 1))
    share = statistics.median(r[0][2] / r[0][0] for r in rounds)
    rate = iterations / statistics.median(r[2][0] for r in rounds)
    print(
        f"\n{solver}: {rate:.0f} iterates a CPU second; a run's thread takes {100 * cpu:+.2f} % CPU where"
        f" it is kept, {100 * noise:+.2f} % where it is not; the history's thread takes {100 * share:.2f} %"
    )
    assert share < MOST
