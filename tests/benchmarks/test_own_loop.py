"""What it costs a loop of one's own to be watched, as a share of its CPU time, at 200 iterates a second; and
fits of scikit-learn, methods of SciPy, and what is drawn in a cell."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
from sklearn.linear_model import LogisticRegression

from solverscope import datasets, solvers
from solverscope.app.loops.client import solverscope_run
from solverscope.app.notebook import Scope
from solverscope.solvers.estimators import FitWatch
from solverscope.solvers.estimators.fit_watch import problem_of

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


def cpu_seconds(work, times=3):
    """The fewest CPU seconds of this thread that a function takes, and its last result."""
    spent = []
    for _ in range(times):
        began = time.thread_time()
        found = work()
        spent.append(time.thread_time() - began)
    return min(spent), found


@pytest.mark.parametrize(("n", "d"), [(500, 20), (20_000, 200), (100_000, 300)])
def test_fits_of_scikit_learn_that_are_watched(n, d, capsys):
    """Without drawing: what callbacks, copies, the problem and its objectives take."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + rng.normal(size=n) > 0.0
    traces = []
    alone, model = cpu_seconds(lambda: LogisticRegression(tol=1e-6, max_iter=500).fit(X, y))
    callback = FitWatch(lambda trace: traces.append(trace))
    watched = LogisticRegression(tol=1e-6, max_iter=500).set_callbacks(callback)
    watched.fit(X, y)  # compiles
    together, _ = cpu_seconds(lambda: watched.fit(X, y))
    began = time.thread_time()
    problem_of(watched, X, y)
    setting_up = time.thread_time() - began
    with capsys.disabled():
        print(
            f"\nLogisticRegression, {n} x {d}: {alone:.3f} s alone, "
            f"{100 * (together / alone - 1):.1f} % more watched, of which "
            f"{100 * setting_up / alone:.1f} % are the problem; "
            f"{len(traces[-1])} of {model.n_iter_[0] + 1} iterates seen"
        )
    assert len(traces[-1]) > 1


@pytest.mark.parametrize("d", [10, 10_000, 1_000_000])
def test_callbacks_of_scipy(d, capsys):
    def run(callback):
        return scipy.optimize.minimize(
            scipy.optimize.rosen,
            np.zeros(d),
            jac=scipy.optimize.rosen_der,
            method="L-BFGS-B",
            callback=callback,
            options={"maxiter": 60},
        )

    alone, found = cpu_seconds(lambda: run(None))
    loop = solvers.OwnLoop("scipy")
    with loop:
        together, _ = cpu_seconds(lambda: run(loop.callback))
    with capsys.disabled():
        print(
            f"\nSciPy's L-BFGS-B, {d} weights: {1e3 * alone / found.nit:.3g} ms an iterate alone, "
            f"{1e6 * (together - alone) / found.nit:.0f} µs more watched "
            f"({100 * (together / alone - 1):.1f} %)"
        )


def test_drawing_in_a_cell(capsys):
    """A loop of 5 ms an iterate whose runs are drawn in a scope, without a browser."""
    scope, spent, began = Scope(), 0.0, time.thread_time()
    with solvers.OwnLoop("mine", watch=scope) as run:
        for k in range(1000):
            work(EACH)
            before = time.thread_time()
            run.iterate(objective=1.0 / (1 + k))
            spent += time.thread_time() - before
    whole = time.thread_time() - began
    with capsys.disabled():
        print(f"\ndrawn in a cell: {100 * spent / (whole - spent):.1f} % of the loop's time")
    assert spent < 0.12 * whole
