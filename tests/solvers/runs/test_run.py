import gc
import itertools
import threading
import weakref
from dataclasses import dataclass

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.solvers import FIELDS, Ending, Interrupted, Iterate, Run, Solver, Stopping
from solverscope.solvers.runs import recorder as module
from tests.solvers.helpers import HOUSE, binary, chains, posed_to


@pytest.fixture(scope="module")
def problem():
    return solvers.make_problem(chains(), lam_ratio=0.1)


@dataclass(frozen=True)
class Scripted(Solver):
    """Yields objectives as told, its own where that is None, and then does what it is told."""

    id = "scripted"
    name = "Scripted"
    summary = "for tests"

    objectives: tuple = (3.0, 2.0)
    then: object = None

    def iterate(self, problem, w0=None):
        for k, objective in enumerate(self.objectives):
            w = np.full(problem.size, float(k))
            point = problem.at(w)
            if objective is None:
                yield Iterate.at(point, k)
            else:
                yield Iterate(k, objective=objective, violation=1.0, w=w, live={"point": point})
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
    trace = Run(problem, Scripted((None, None), then=value)).execute()
    assert trace.status == status
    assert trace.message
    assert len(trace) == 2


@dataclass(frozen=True)
class Lying(Solver):
    """Stays at zero, and says what it is told of each iterate, as a function of its number."""

    id, name, summary = "lying", "Lying", "for tests"

    says: object = None

    def iterate(self, problem, w0=None):
        point = problem.at(w0)
        for n in itertools.count():
            yield Iterate.at(point, n, **self.says(n))


LIES = {
    "violation": lambda n: {"violation": 0.5**n},
    "objective": lambda n: {"objective": 0.5**n},
    "both": lambda n: {"objective": 0.5**n, "violation": 0.5**n},
    "too-large-an-objective": lambda n: {"objective": 1e9},
}


@pytest.mark.parametrize("says", LIES.values(), ids=LIES)
@pytest.mark.parametrize("smooth", [True, False], ids=["smooth", "kinks"])
def test_a_solver_whose_claims_are_not_what_a_run_measures_is_disputed(says, smooth):
    loss = "logistic" if smooth else "binary-hinge"
    problem = solvers.make_problem(binary(), loss=loss, penalty="l2", lam=0.1)
    at_zero = problem.at()
    trace = solvers.solve(problem, Lying(says), tol=1e-5, max_iter=60)
    said = says(trace.iteration[-1])
    if smooth or "violation" not in said or len(said) > 1:  # with kinks nothing measures a violation
        assert trace.status == trace.result["status"] == "disputed"
        assert trace.message == trace.result["message"]
    if "objective" in said:
        numbers = f"f = {said['objective']:.9g}, and at its weights it is {at_zero.objective:.9g}"
        assert numbers in trace.message
    if smooth and "violation" in said:
        numbers = f"violation {said['violation']:.3g}, and at its weights it is {at_zero.violation():.3g}"
        assert numbers in trace.message
        assert "it ended as converged: " in trace.message
    assert trace.result["objective"] == at_zero.objective


def test_a_problem_that_a_solver_refuses_is_refused_whoever_starts_the_run():
    """That of slack rescaling is another dual than the one that dual-cd goes up on."""
    problem = solvers.make_problem(
        *(np.random.default_rng(0).normal(size=(50, 12)), np.arange(50) % 4),
        **{"loss": "multiclass-hinge", "penalty": "l2", "lam": 0.1},
        loss_params={"label_loss": 2.5, "rescale": "slack"},
    )
    solver = solvers.make_solver("dual-cd")
    starts = {
        "Run": lambda: Run(problem, solver),
        "solve": lambda: solvers.solve(problem, solver),
        "solve_path": lambda: next(solvers.solve_path(problem, solver, [0.1])),
        "path_runs": lambda: next(solvers.path_runs(problem, solver, [0.1])),
    }
    for name, start in starts.items():
        with pytest.raises(ValueError, match=r"solver dual-cd refuses this problem: .*rescale=margin"):
            pytest.fail(f"{name} starts: {start()}")
    assert "dual-cd" not in solvers.fitting(problem)
    assert "ls-bmrm" in solvers.fitting(problem)


@pytest.mark.parametrize(("penalty", "known"), [("l2", True), ("none", False)])
def test_a_run_that_converged_says_how_far_it_can_be_from_the_minimum(penalty, known):
    problem = solvers.make_problem(binary(n=300), penalty=penalty, **({"lam": 0.1} if known else {}))
    trace = solvers.solve(problem, solvers.make_solver("lbfgs"), tol=1e-3)
    gap, f = trace.result["dual_gap"], trace.result["objective"]
    assert trace.status == "converged"
    if known:
        assert trace.message.endswith(f"f is at most {gap:.2g} ({100.0 * gap / f:.2g} %) above the minimum")
    else:
        assert gap is None
        assert trace.message.endswith("no bound of f - f* is known")


def test_a_false_convergence_ends_a_run_at_once(problem):
    trace = solvers.solve(problem, Lying(LIES["violation"]), tol=1e-5, max_iter=60)
    first = int(np.argmax(0.5 ** np.arange(60) <= 1e-5 * problem.violation_at_zero()))
    assert trace.iteration[-1] == first < 60


def test_a_violation_that_is_too_large_or_off_by_rounding_is_no_lie(problem):
    for times in (1.0 - 1e-12, 1.0, 1.5):
        says = problem.violation_at_zero() * times
        trace = solvers.solve(problem, Lying(lambda n, says=says: {"violation": says}), max_iter=3)
        assert trace.status == "max-iter", trace.message


def test_a_keyboard_interrupt_leaves_the_run_with_its_trace_finished(problem):
    class Gate(solvers.Gate):
        def pulse(self):
            if len(run.trace) == 2:
                raise KeyboardInterrupt

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
    calls = itertools.count()

    class Gate(solvers.Gate):
        def pulse(self):
            if len(run.trace) == 5 and next(calls) == 1:
                run.interrupt()

    run = Run(problem, solvers.make_solver("prox-qn"), gate=Gate())
    trace = run.execute()
    assert trace.status == "stopped"
    assert len(trace) == 5
    assert problem.at(trace.w).objective == pytest.approx(trace.objective[-1], rel=1e-12)


def test_an_interrupt_while_a_run_finishes_does_not_escape(problem):
    class Gate(solvers.Gate):
        def pulse(self):
            if len(run.trace) == 3:
                run.interrupt()

    run = Run(problem, solvers.make_solver("prox-qn"), stopping=Stopping(max_iter=2), gate=Gate())
    trace = run.execute()
    assert trace.result["status"] == trace.status
    assert trace.status in ("max-iter", "stopped")


def test_a_gate_that_raises_stops_the_run(problem):
    class Gate(solvers.Gate):
        def step(self, run, iterate):
            if len(run.trace) == 2:
                raise Interrupted

    trace = Run(problem, solvers.make_solver("owl-qn"), gate=Gate()).execute()
    assert (trace.status, len(trace)) == ("stopped", 2)


@pytest.mark.parametrize("id", ["owl-qn", "fobos"])
def test_a_gate_may_look_at_all_that_a_record_says_and_at_what_no_record_has(problem, id):
    """Also at the objective and the clock, which fobos does not know, and at weights and scores."""
    seen = []

    class Gate(solvers.Gate):
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


def test_time_at_the_gate_is_on_no_clock(problem, clock):
    class Slow:
        def pulse(self):
            clock.idle(1.0)

        def step(self, run, iterate):
            clock.idle(5.0)

    run = Run(problem, solvers.make_solver("owl-qn"), gate=Slow(), stopping=Stopping(max_iter=4))
    result = run.execute().result
    assert clock.wall > 5 * 5.0
    assert (result["cpu_seconds"], result["wall_seconds"]) == pytest.approx((0.0, 0.0), abs=1e-9)


def test_a_run_held_at_its_gate_in_the_middle_of_an_iteration_goes_on_from_there(problem):
    held, go_on = threading.Event(), threading.Event()

    class Gate(solvers.Gate):
        def pulse(self):
            if len(run.trace) == 3 and not go_on.is_set():
                held.set()
                go_on.wait(60)

    run = Run(problem, solvers.make_solver("owl-qn"), gate=Gate(), stopping=Stopping(max_iter=6))
    worker = threading.Thread(target=run.execute)
    worker.start()
    assert held.wait(60)
    assert len(run.trace) == 3
    go_on.set()
    worker.join(60)
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
    for solver in set(solvers.compatible(problem.loss.id, problem.penalty.id)) & set(HOUSE):
        trace = solvers.solve(problem, solvers.make_solver(solver), w0=w0, max_iter=0)
        assert trace.objective[0] == pytest.approx(problem.at(w0).objective, rel=1e-12)


def test_weights_of_the_wrong_length_fail_with_a_sentence(problem):
    with pytest.raises(ValueError, match=r"w has shape \(2,\)"):
        solvers.solve(problem, "owl-qn", w0=np.zeros(2))


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
    monkeypatch.setattr(module, "MOST_METRICS", 10)
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


@pytest.mark.parametrize("id", HOUSE)
def test_a_run_and_its_data_are_freed_with_the_last_who_uses_them(id):
    """No cycle keeps them until Python looks for cycles: X may be as large as memory."""
    problem = posed_to(id)
    run = Run(problem, solvers.make_solver(id), stopping=Stopping(max_iter=5))
    gc.disable()
    try:
        run.execute()
        used = weakref.ref(run), weakref.ref(problem.design.columns.values)
        assert all(one() is not None for one in used)
        del run, problem
        assert all(one() is None for one in used)
    finally:
        gc.enable()
