"""What a run's clock says beside the process's, what recording costs, and how long kernels compile."""

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from solverscope import datasets, solvers
from solverscope.solvers import Run, Stopping

pytestmark = pytest.mark.bench

ROOT = Path(__file__).parents[2]


def advance(problem, ids, seconds):
    """CPU seconds of runs that race in threads, by their own clocks and by the process's, kernels being
    warm."""
    for id in ids:  # compile what the races need: that is on no run's clock, and on the process's
        Run(problem, solvers.make_solver(id), stopping=Stopping(max_seconds=seconds, tol=0.0)).execute()
    runs = [Run(problem, solvers.make_solver(id), stopping=Stopping(tol=0.0)) for id in ids]
    steps = [run.steps() for run in runs]
    for step in steps:
        next(step)
    before = [run.trace.last["cpu_seconds"] for run in runs]

    def work(run, step):
        while run.trace.last["cpu_seconds"] < seconds:
            next(step)

    workers = [threading.Thread(target=work, args=pair) for pair in zip(runs, steps, strict=True)]
    began = time.process_time()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    process = time.process_time() - began
    spent = [run.trace.last["cpu_seconds"] - b for run, b in zip(runs, before, strict=True)]
    for step in steps:
        step.close()
    return spent, process


@pytest.mark.parametrize(
    ("ids", "threads", "near"), [(("prox-qn", "prox-gd", "owl-qn"), 1, 0.1), (("prox-gd", "owl-qn"), 2, 0.15)]
)
def test_cpu_seconds_of_racing_runs_sum_to_those_of_the_process(ids, threads, near):
    """An iteration takes some ten milliseconds; helper threads work for the run that asked them."""
    data = datasets.load("synthetic-chain", n_samples=1000, n_features=2000, n_labels=10, density=0.02)
    spent, process = advance(solvers.make_problem(data, lam_ratio=0.001, threads=threads), ids, 0.7)
    assert min(spent) > 0.2
    assert sum(spent) == pytest.approx(process, rel=near)


@pytest.mark.parametrize("id", ["prox-qn", "owl-qn", "prox-gd"])
def test_recording_takes_under_three_percent_of_the_solvers_time(id):
    """And three more may go into violations that `prox-qn` does not know on its working set."""
    problem = solvers.make_problem(replace(datasets.load("digit-strings"), test=None), lam_ratio=0.02)
    run = Run(problem, solvers.make_solver(id), stopping=Stopping(tol=0.0))
    steps = run.steps()
    next(steps)
    before, began = run.trace.last["cpu_seconds"], time.thread_time()
    while run.trace.last["cpu_seconds"] < 1.0:
        next(steps)
    spent = run.trace.last["cpu_seconds"] - before
    share = (time.thread_time() - began - spent) / spent
    steps.close()
    print(f"{id}: recording {100 * share:.2f} %")
    assert share < (0.06 if id == "prox-qn" else 0.03)


#: Solvers whose kernels are those of losses with kinks.
KINKED = {"dual-cd", "bmrm", "ls-bmrm", "ocas", "sublbfgs", "subgd"}

COLD = """
import sys, time
sys.path.insert(0, {root!r})
from solverscope import solvers
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
