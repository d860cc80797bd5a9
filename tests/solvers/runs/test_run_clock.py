"""What is on a run's clock, what is not, and what it costs beside."""

import functools
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import datasets
import solvers
from solvers import Run, Stopping
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


def race(problem, ids, seconds, threads=1):
    """CPU seconds of the runs by their own clocks, and of the process meanwhile, kernels being warm."""
    for id in ids:  # compile what the races need: that is on no run's clock, and on the process's
        Run(problem, solvers.make_solver(id), stopping=Stopping(max_seconds=seconds, tol=0.0)).execute()
    runs = [
        Run(problem, solvers.make_solver(id), stopping=Stopping(max_seconds=seconds, tol=0.0)) for id in ids
    ]
    steps = [run.steps() for run in runs]
    for step in steps:
        next(step)
    before = [run.trace.last["cpu_seconds"] for run in runs]
    judging = []

    def judged(*args, judge):
        began = time.thread_time()
        judge(*args)
        judging.append(time.thread_time() - began)

    for run in runs:  # what the last weights are worth is off the clock
        run._judge = functools.partial(judged, judge=run._judge)
    workers = [threading.Thread(target=lambda step=step: [None for _ in step]) for step in steps]
    began = time.process_time()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    process = time.process_time() - began - sum(judging)
    spent = [run.trace.last["cpu_seconds"] - b for run, b in zip(runs, before, strict=True)]
    return spent, process


@pytest.fixture(scope="module")
def heavy():
    """A problem on which an iteration takes some ten milliseconds."""
    data = datasets.load("synthetic-chain", n_samples=1000, n_features=2000, n_labels=10, density=0.02)
    return solvers.make_problem(data, lam_ratio=0.001)


def test_cpu_seconds_of_three_racing_runs_sum_to_those_of_the_process(heavy):
    spent, process = race(heavy, ("prox-qn", "prox-gd", "owl-qn"), 0.7)
    assert min(spent) > 0.2
    assert sum(spent) == pytest.approx(process, rel=0.1)


def test_cpu_seconds_of_helper_threads_go_to_the_run_they_work_for():
    data = datasets.load("synthetic-chain", n_samples=1000, n_features=2000, n_labels=10, density=0.02)
    problem = solvers.make_problem(data, lam_ratio=0.001, threads=2)
    spent, process = race(problem, ("prox-gd", "owl-qn"), 0.6)
    assert sum(spent) == pytest.approx(process, rel=0.15)


def test_recording_takes_under_three_percent_of_the_solvers_time(monkeypatch):
    problem = solvers.make_problem(datasets.load("digit-strings"), lam_ratio=0.02)
    recording, record = [], Run._record

    def timed(self, iterate):
        began = time.thread_time()
        record(self, iterate)
        recording.append(time.thread_time() - began)

    monkeypatch.setattr(Run, "_record", timed)
    for solver in ("prox-qn", "owl-qn", "prox-gd"):
        recording.clear()
        run = Run(problem, solvers.make_solver(solver), stopping=Stopping(max_seconds=1.0, tol=0.0))
        trace = run.execute()
        share = (sum(recording) - run._metrics.spent) / trace.result["cpu_seconds"]
        print(f"{solver}: recording {100 * share:.2f} %, test metrics {100 * run._metrics.spent:.2f} %")
        assert share < 0.03
        assert run._metrics.spent <= 0.03 * trace.result["cpu_seconds"] + 0.02


#: Solvers whose kernels are those of losses with kinks.
KINKED = {"dual-cd", "bmrm", "ls-bmrm", "ocas", "sublbfgs", "subgd"}

COLD = """
import sys, time
sys.path.insert(0, {root!r})
import solvers
from tests.solvers.helpers import MAKERS
for id, kind, loss in {runs!r}:
    began = time.process_time()
    about = dict(loss=loss, penalty="l2", lam=0.1) if loss else dict(penalty="l1", lam_ratio=0.1)
    problem = solvers.make_problem(MAKERS[kind](), **about)
    r = solvers.solve(problem, solvers.make_solver(id), max_iter=5).result
    print(id, time.process_time() - began, r["compile_seconds"], r["cpu_seconds"], r["setup_seconds"])
"""


def cold(runs, cache):
    """Seconds of each (solver, kind of labels, loss with kinks if any) in a new process with this cache of
    kernels: CPU of all, the warm-up by the wall, the solver by its own clock, set-up."""
    out = subprocess.run(
        [sys.executable, "-c", COLD.format(root=str(ROOT), runs=runs)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.split()[0]: [float(x) for x in line.split()[1:]] for line in out.stdout.splitlines()}


def test_compiling_is_kept_off_the_clock(tmp_path):
    ((whole, _, cpu, setup),) = cold([("owl-qn", "binary", None)], tmp_path).values()
    assert whole > 1.0
    assert cpu < 0.2
    assert setup < 0.2 * whole  # Numba's own start-up is in it, compiling is not


@pytest.mark.bench
def test_no_solver_compiles_for_fifteen_seconds(tmp_path):
    """Each with an empty cache, on the problem whose kernels take longest."""
    cases = [(solver, "sequences", None) for solver in solvers.compatible(loss="chain-crf", penalty="l1")]
    for kind in ("binary", "multiclass", "multilabel"):
        loss = f"{kind}-hinge"
        fitting = set(solvers.compatible(loss=loss, penalty="l2"))
        cases += [(solver, kind, loss) for solver in solvers.SOLVERS if solver in fitting & KINKED]
    for kind, loss in (("sequences", "chain-crf"), ("binary", "logistic")):
        fitting = set(solvers.compatible(loss=loss, penalty="l2")) - {solver for solver, *_ in cases}
        cases += [(solver, kind, loss) for solver in solvers.SOLVERS if solver in fitting]
    slow = []
    for k, (solver, kind, loss) in enumerate(cases):
        (seconds,) = cold([(solver, kind, loss)], tmp_path / str(k)).values()
        print(f"{solver}, {loss or kind}: {seconds[0]:.1f} CPU seconds from an empty cache, ", end="")
        print(f"{seconds[1]:.1f} s in the warm-up")
        slow += [(solver, seconds[0])] if seconds[0] >= 15.0 else []
    assert slow == []
