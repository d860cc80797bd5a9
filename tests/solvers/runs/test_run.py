import functools
import itertools
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

import datasets
import solvers
from solvers import FIELDS, Ending, Interrupted, Iterate, Run, Solver, Stopping
from solvers.runs import run as module
from tests.solvers.helpers import MAKERS, binary, chains
from tests.solvers.stops import stop

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def problem():
    return solvers.make_problem(chains(), lam_ratio=0.1)


@dataclass(frozen=True)
class Scripted(Solver):
    """Yields objectives as told, and then does what it is told."""

    id = "scripted"
    name = "Scripted"
    summary = "for tests"

    objectives: tuple = (3.0, 2.0)
    then: object = None

    def iterate(self, problem, w0=None):
        for k, objective in enumerate(self.objectives):
            w = np.full(problem.size, float(k))
            live = {"point": problem.at(w)}
            yield Iterate(k, objective=objective, violation=1.0, w=w, live=live)
        if isinstance(self.then, BaseException):
            raise self.then
        return self.then


def test_a_run_records_every_iterate_and_how_it_ended(problem):
    trace = solvers.solve(problem, solvers.make_solver("owl-qn"), tol=1e-4)
    result = trace.result
    assert trace.status == result["status"] == "converged"
    np.testing.assert_array_equal(trace.iteration, np.arange(len(trace)))
    assert result["iterations"] == len(trace) - 1
    assert result["objective"] == trace.objective[-1]
    assert trace.violation[-1] <= 1e-4 * problem.violation_at_zero() < trace.violation[-2]
    for clock in ("cpu_seconds", "wall_seconds", "passes"):
        assert np.all(np.diff(trace[clock]) >= 0)
        assert result[clock] == trace[clock][-1]
    point = problem.at(trace.w)
    assert point.objective == pytest.approx(result["objective"], rel=1e-12)
    assert result["train_metric"] == problem.train_metric(point)
    assert (result["test_metric"], result["metric_name"]) == (None, "per-token accuracy")


@pytest.mark.parametrize(("id", "counts"), [("prox-qn", True), ("owl-qn", False), ("prox-gd", False)])
def test_epochs_are_counted_where_sets_are_shrunk_in_epochs_and_unknown_elsewhere(problem, id, counts):
    trace = solvers.solve(problem, solvers.make_solver(id), max_iter=3)
    assert any("epoch-start" in events for events in trace.events) == counts
    assert trace.epoch[0] == (0 if counts else -1)
    assert trace.result["epochs"] == trace.epoch[-1] + 1
    assert all((record["epoch"] is not None) == counts for record in trace.records())


@pytest.mark.parametrize(
    ("limits", "status"),
    [({"max_iter": 3}, "max-iter"), ({"max_seconds": 1e-9}, "max-seconds"), ({"max_iter": 0}, "max-iter")],
)
def test_limits_end_a_run(problem, limits, status):
    trace = solvers.solve(problem, solvers.make_solver("prox-gd"), **limits)
    assert trace.status == status
    assert trace.result["iterations"] == len(trace) - 1 <= 3


def test_a_gap_to_a_known_optimum_ends_a_run(problem):
    best = solvers.solve(problem, solvers.make_solver("prox-qn"), tol=1e-7).result["objective"]
    trace = solvers.solve(problem, solvers.make_solver("owl-qn"), gap=1e-3, f_star=best)
    assert trace.status == "converged"
    assert trace.objective[-1] <= best * 1.001 < trace.objective[-2]


def test_a_solver_that_raises_fails_with_its_message_and_keeps_its_trace(problem):
    run = Run(problem, Scripted(then=RuntimeError("the sky is falling")))
    trace = run.execute()
    assert trace.status == trace.result["status"] == "failed"
    assert "RuntimeError: the sky is falling (test_run.py, line" in trace.message
    assert list(trace.objective) == [3.0, 2.0]
    np.testing.assert_array_equal(trace.w, np.ones(problem.size))
    assert trace.result["iterations"] == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_an_objective_that_is_no_number_fails(problem, value):
    trace = Run(problem, Scripted(objectives=(3.0, value, 1.0))).execute()
    assert trace.status == "failed"
    assert trace.message == f"the objective became {value} at iteration 1"
    assert len(trace) == 2


def test_running_out_of_memory_is_a_sentence(problem):
    trace = Run(problem, Scripted(then=MemoryError())).execute()
    assert (trace.status, trace.message) == (
        "failed",
        "out of memory: take a smaller problem or fewer pairs",
    )
    assert len(trace) == 2


@pytest.mark.parametrize(
    ("value", "status"), [(Ending("unbounded", "down"), "unbounded"), (None, "stalled"), ("why", "stalled")]
)
def test_a_solver_ends_with_its_own_words(problem, value, status):
    trace = Run(problem, Scripted(then=value)).execute()
    assert trace.status == status
    assert trace.message
    assert len(trace) == 2


def test_a_keyboard_interrupt_leaves_the_run_with_its_trace_finished(problem):
    class Gate:
        def pulse(self):
            if len(run.trace) == 2:
                raise KeyboardInterrupt

        def step(self, run, iterate):
            pass

    run = Run(problem, solvers.make_solver("owl-qn"), gate=Gate())
    with pytest.raises(KeyboardInterrupt):
        run.execute()
    assert (run.trace.status, run.trace.result["status"]) == ("stopped", "stopped")
    assert len(run.trace) == 2
    assert problem.at(run.trace.w).objective == pytest.approx(run.trace.objective[-1], rel=1e-12)


def test_closing_the_steps_stops_the_run(problem):
    run = Run(problem, solvers.make_solver("prox-gd"))
    steps = run.steps()
    for _ in range(3):
        next(steps)
    steps.close()
    assert run.trace.status == "stopped"
    assert len(run.trace) == 3
    np.testing.assert_array_equal(np.flatnonzero(run.trace.w).size, run.trace.nnz[-1])


def test_an_interrupt_keeps_the_last_whole_iterate(problem):
    """The weights left behind are those of the last record, not of the step that was broken off."""
    run = Run(problem, solvers.make_solver("prox-qn"))
    calls = itertools.count()

    class Gate:
        def pulse(self):
            if len(run.trace) == 5 and next(calls) == 1:
                run.interrupt()

        def step(self, run, iterate):
            pass

    run.gate = Gate()
    trace = run.execute()
    assert trace.status == "stopped"
    assert len(trace) == 5
    assert problem.at(trace.w).objective == pytest.approx(trace.objective[-1], rel=1e-12)


def test_an_interrupt_while_a_run_finishes_does_not_escape(problem):
    run = Run(problem, solvers.make_solver("prox-qn"), stopping=Stopping(max_iter=2))

    class Gate:
        def pulse(self):
            if len(run.trace) == 3:
                run.interrupt()

        def step(self, run, iterate):
            pass

    run.gate = Gate()
    trace = run.execute()
    assert trace.result["status"] == trace.status
    assert trace.status in ("max-iter", "stopped")


def test_a_gate_that_raises_stops_the_run(problem):
    class Gate:
        def pulse(self):
            pass

        def step(self, run, iterate):
            if len(run.trace) == 2:
                raise Interrupted

    trace = Run(problem, solvers.make_solver("owl-qn"), gate=Gate()).execute()
    assert (trace.status, len(trace)) == ("stopped", 2)


@pytest.mark.parametrize("id", ["owl-qn", "fobos"])
def test_a_gate_may_look_at_all_that_a_record_says_and_at_what_no_record_has(problem, id):
    """Also at the objective and the clock, which fobos does not know, and at weights and scores."""
    seen = []

    class Gate:
        def pulse(self):
            pass

        def step(self, run, iterate):
            scores = iterate.live["point"].scores.Z
            seen.append((iterate.record(), np.count_nonzero(iterate.w), np.abs(scores).max()))
            if iterate.nnz > 5 and iterate.step < 1.0:
                raise Interrupted

    run = Run(problem, solvers.make_solver(id), gate=Gate(), stopping=Stopping(max_iter=4))
    trace = run.execute()
    assert trace.status == "stopped"
    for k, (record, nnz, largest) in enumerate(seen):
        for name in FIELDS:
            assert record[name] == trace.column(name)[k] or record[name] != record[name]
        assert nnz == trace.nnz[k]
        assert (largest > 0.0) == (nnz > 0)
        assert np.isfinite([record[name] for name in ("objective", "cpu_seconds", "passes")]).all()


def test_time_at_the_gate_is_on_no_clock(problem):
    class Slow:
        slept = 0.0

        def pulse(self):
            self.sleep(0.01)

        def step(self, run, iterate):
            self.sleep(0.05)

        def sleep(self, seconds):
            time.sleep(seconds)
            self.slept += seconds

    gate = Slow()
    trace = Run(problem, solvers.make_solver("owl-qn"), gate=gate, stopping=Stopping(max_iter=4)).execute()
    assert gate.slept > 0.5
    assert trace.result["wall_seconds"] < 0.1 * gate.slept
    assert trace.result["cpu_seconds"] < 0.1 * gate.slept


def test_a_paused_run_uses_no_cpu(problem):
    """Held at its gate in the middle of an iteration."""
    held, go_on = threading.Event(), threading.Event()

    class Gate:
        def pulse(self):
            if len(run.trace) == 3 and not go_on.is_set():
                held.set()
                go_on.wait()

        def step(self, run, iterate):
            pass

    run = Run(problem, solvers.make_solver("owl-qn"), gate=Gate(), stopping=Stopping(max_iter=6))
    worker = threading.Thread(target=run.execute)
    worker.start()
    assert held.wait(10)
    began = time.process_time()
    time.sleep(0.4)
    used = time.process_time() - began
    assert len(run.trace) == 3
    go_on.set()
    worker.join(10)
    assert used < 0.02
    assert (run.trace.status, len(run.trace)) == ("max-iter", 7)


def test_two_runs_on_one_problem_do_not_touch_each_other(problem):
    alone = solvers.solve(problem, solvers.make_solver("owl-qn"), max_iter=8)
    runs = [Run(problem, solvers.make_solver("owl-qn"), stopping=Stopping(max_iter=8)) for _ in range(2)]
    for _ in itertools.zip_longest(*(run.steps() for run in runs)):
        pass
    for run in runs:
        np.testing.assert_array_equal(run.trace.objective, alone.objective)
        np.testing.assert_array_equal(run.trace.passes, alone.passes)


def test_a_warm_start_begins_where_it_is_told(problem):
    w0 = np.random.default_rng(0).normal(size=problem.size)
    for solver in solvers.compatible(problem.loss.id, problem.penalty.id):
        trace = solvers.solve(problem, solvers.make_solver(solver), w0=w0, max_iter=0)
        assert trace.objective[0] == pytest.approx(problem.at(w0).objective, rel=1e-12)


def test_weights_of_the_wrong_length_fail_with_a_sentence(problem):
    trace = solvers.solve(problem, solvers.make_solver("owl-qn"), w0=np.zeros(2))
    assert trace.status == "failed"
    assert "w has shape (2,)" in trace.message


def test_a_metric_that_cannot_be_computed_does_not_cost_the_run(monkeypatch):
    problem = solvers.make_problem(binary(), penalty="l1", lam=0.05)

    def unable(loss, scores):
        raise TypeError("no labels")

    monkeypatch.setattr(type(problem.loss), "metric", unable)
    trace = solvers.solve(problem, solvers.make_solver("prox-gd"), tol=1e-6)
    assert trace.status == trace.result["status"] == "converged"
    assert "no metrics, TypeError: no labels" in trace.message
    assert trace.result["message"] == trace.message
    assert trace.result["train_metric"] is None
    assert trace.result["violation"] is not None


def test_test_metrics_do_not_pile_up(monkeypatch):
    monkeypatch.setattr(module, "MEASURED", 10)
    monkeypatch.setattr(module, "METRIC_SHARE", np.inf)
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam_ratio=0.05)
    trace = solvers.solve(problem, solvers.make_solver("prox-gd"), tol=0.0, max_iter=100)
    iterations = [k for k, _, _ in trace.test_metric]
    assert len(iterations) <= 11
    assert iterations[0] == 0
    assert iterations == sorted(iterations)


def test_test_metrics_are_measured_and_cost_little():
    data = binary(n=2000, d=40)
    held_out = binary(n=2000, d=40, seed=5)
    both = type(data)(**{**data.__dict__, "test": held_out.train})
    trace = solvers.solve(
        solvers.make_problem(both, lam_ratio=0.01), solvers.make_solver("prox-gd"), max_iter=50
    )
    assert trace.test_metric[0][0] == 0
    iterations = [k for k, _, _ in trace.test_metric]
    assert iterations == sorted(set(iterations))
    assert trace.result["test_metric"] == pytest.approx(
        np.mean(np.where(held_out.train.X @ trace.w >= 0, 1, -1) == held_out.train.y)
    )


# the clock


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


COLD = """
import sys, time
sys.path.insert(0, {root!r})
import solvers
from tests.solvers.helpers import MAKERS
for id, kind in {runs!r}:
    began = time.process_time()
    problem = solvers.make_problem(MAKERS[kind](), penalty="l1", lam_ratio=0.1)
    r = solvers.solve(problem, solvers.make_solver(id), max_iter=5).result
    print(id, time.process_time() - began, r["compile_seconds"], r["cpu_seconds"], r["setup_seconds"])
"""


def cold(runs, cache):
    """Seconds of each (solver, kind of labels) in a new process with this cache of kernels: CPU of all, the
    warm-up by the wall, the solver by its own clock, set-up."""
    out = subprocess.run(
        [sys.executable, "-c", COLD.format(root=str(ROOT), runs=runs)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.split()[0]: [float(x) for x in line.split()[1:]] for line in out.stdout.splitlines()}


def test_compiling_is_kept_off_the_clock(tmp_path):
    ((whole, _, cpu, setup),) = cold([("owl-qn", "binary")], tmp_path).values()
    assert whole > 1.0
    assert cpu < 0.2
    assert setup < 0.2 * whole  # Numba's own start-up is in it, compiling is not


@pytest.mark.bench
def test_no_solver_compiles_for_fifteen_seconds(tmp_path):
    """Each with an empty cache, on the problem whose kernels take longest."""
    for solver in solvers.compatible(loss="chain-crf", penalty="l1"):
        (seconds,) = cold([(solver, "sequences")], tmp_path / solver).values()
        print(
            f"{solver}: {seconds[0]:.1f} CPU seconds from an empty cache, {seconds[1]:.1f} s in the warm-up"
        )
        assert seconds[0] < 15.0


# stopping in the middle


def large(kind, loss):
    """A problem on which one product takes seconds: X times 30 outputs and more."""
    if kind == "sequences":
        if datasets.DATASETS["ocr"].available()[0]:
            return solvers.make_problem(datasets.load("ocr"), lam=10.0)
        data = datasets.load("synthetic-chain", n_samples=20_000, length=20, n_features=5000, n_labels=20)
        return solvers.make_problem(data, lam_ratio=0.01)
    data = MAKERS[kind](n=40_000, d=400, storage="sparse", density=0.2)
    # columns of very different lengths keep every solver busy for long
    X = sp.csr_array(data.train.X @ sp.diags_array(np.logspace(0.0, -4.0, 400)))
    data = replace(data, train=replace(data.train, X=X))
    return solvers.make_problem(data, loss=loss, penalty="l1", lam_ratio=1e-6)


@pytest.fixture(scope="module")
def larges():
    made = {}

    def make(kind, loss):
        if (kind, loss) not in made:
            made[kind, loss] = large(kind, loss)
        return made[kind, loss]

    return make


@pytest.mark.parametrize(
    ("solver", "kind", "loss"),
    [
        (solver, kind, fitting[0])
        for kind in MAKERS
        for solver in solvers.SOLVERS
        if (fitting := [c for c in solvers.losses_for(kind) if solver in solvers.compatible(c, "l1")])
    ],
)
@pytest.mark.parametrize("after", [0.02, 0.2])
def test_a_run_stops_within_half_a_second(solver, kind, loss, after, larges):
    problem = larges(kind, loss)
    run = Run(problem, solvers.make_solver(solver), stopping=Stopping(tol=0.0, max_seconds=60.0))
    took = stop(run, after)
    assert took.wall < 0.5, took
