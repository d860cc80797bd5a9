"""Many λ one after the other: their values, the warm starts, and what each solution is worth."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn import metrics

from solverscope import solvers
from solverscope.solvers import Interrupted, Iterate, Stopping, log_spaced, path_runs, solve_path
from solverscope.solvers.compute.team import no_pulse
from solverscope.solvers.runs.lam_path import measured
from tests.solvers.helpers import binary, dense_of, multiclass, multilabel, regression

TIGHT = Stopping(tol=1e-9, max_iter=20_000)


@pytest.fixture(scope="module")
def problem():
    return solvers.make_problem(multiclass(), loss="multiclass-squared-hinge", penalty="l1-l2")


@pytest.fixture(scope="module")
def sets():
    """Instances with sets of labels, and others like them to test on."""
    data = multilabel(n=160)
    held_out = replace(data.train, X=data.train.X[100:], y=data.train.y[100:])
    train = replace(data.train, X=data.train.X[:100], y=data.train.y[:100])
    return replace(data, train=train, test=held_out)


def test_ten_values_from_lam_max_to_a_hundredth_of_it(problem):
    lams = log_spaced(problem)
    assert len(lams) == 10
    np.testing.assert_allclose(np.diff(np.log(lams)), np.log(0.01) / 9)
    np.testing.assert_allclose([lams[0], lams[-1]], [problem.lam_max, 0.01 * problem.lam_max])
    assert problem.at_lam(lams[0]).violation_at_zero() == 0.0


def test_values_between_given_ends_in_either_direction(problem):
    np.testing.assert_allclose(log_spaced(problem, 3, 1.0, 1e-2, relative=False), [1.0, 0.1, 0.01])
    np.testing.assert_allclose(log_spaced(problem, 3, 1e-2, 1.0, relative=False), [0.01, 0.1, 1.0])
    np.testing.assert_allclose(log_spaced(problem, 1, 0.5), [0.5 * problem.lam_max])


def test_what_has_no_lam_or_no_lam_max_is_refused_with_a_sentence(problem):
    ridge = solvers.make_problem(multiclass(), loss="multiclass-logistic", penalty="l2")
    with pytest.raises(ValueError, match="penalty l2 has no λ_max: give the λ themselves"):
        log_spaced(ridge)
    assert len(log_spaced(ridge, 4, 1.0, 0.1, relative=False)) == 4
    plain = solvers.make_problem(multiclass(), loss="multiclass-logistic", penalty="none")
    for use in (log_spaced, lambda p: next(path_runs(p, solvers.make_solver("prox-gd"), [1.0]))):
        with pytest.raises(ValueError, match="penalty none has no λ"):
            use(plain)
    with pytest.raises(ValueError, match="give at least one value, above 0"):
        log_spaced(problem, 0)


@pytest.mark.parametrize("id", ["bcd-ls", "fista-ls", "sparsa"])
def test_every_solution_is_that_of_a_problem_made_for_its_lam(problem, id):
    lams = log_spaced(problem, 4)
    for lam, trace in zip(lams, solve_path(problem, solvers.make_solver(id), lams, tol=1e-8), strict=True):
        alone = solvers.make_problem(multiclass(), loss="multiclass-squared-hinge", penalty="l1-l2", lam=lam)
        cold = solvers.solve(alone, solvers.make_solver(id), tol=1e-8)
        assert trace.info.problem == alone.describe()
        assert (trace.result["lam"], trace.result["lam_max"]) == (lam, problem.lam_max)
        assert trace.result["objective"] == pytest.approx(cold.result["objective"], rel=1e-8)
        assert trace.result["nnz_rows"] == cold.result["nnz_rows"]


def test_rows_enter_as_lam_falls_and_none_is_there_at_lam_max(problem):
    traces = list(solve_path(problem, solvers.make_solver("bcd-ls")))
    rows = [trace.result["nnz_rows"] for trace in traces]
    assert rows[0] == 0
    assert rows[-1] > 0
    objectives = [trace.result["objective"] for trace in traces]
    assert objectives == sorted(objectives, reverse=True)  # min_w f rises with λ


def test_a_run_starts_from_the_weights_of_the_one_before(problem):
    runs = []
    for run in path_runs(problem, solvers.make_solver("fista-ls"), log_spaced(problem, 3)):
        run.execute()
        runs.append(run)
    assert runs[0].w0 is None
    for before, after in itertools.pairwise(runs):
        np.testing.assert_array_equal(after.w0, before.trace.w)
        start = after.problem.at(before.trace.w).objective
        assert after.trace.objective[0] == pytest.approx(start, rel=1e-12)


def test_kernels_are_compiled_for_the_first_lam_alone():
    problem, compiled = solvers.make_problem(binary(), penalty="l1", lam_ratio=0.1), []

    @dataclass(frozen=True)
    class Counting(solvers.SOLVERS["newton-cd"]):
        def warm_up_solver(self):
            compiled.append(self)
            return self

    path = list(solve_path(problem, Counting(), log_spaced(problem, 4)))
    assert len(compiled) == 1
    assert [trace.status for trace in path] == ["converged"] * 4


def test_data_are_shared_and_lam_alone_differs(problem):
    runs = path_runs(problem, solvers.make_solver("fista-ls"), [0.2, 0.1])
    first, second = (run.problem for run in runs)
    assert first.design.rows is second.design.rows is problem.design.rows
    assert first.loss.y is second.loss.y is problem.loss.y
    assert first.key != second.key


@pytest.mark.parametrize("penalty", ["l1", "elastic-net"])
@pytest.mark.parametrize("id", ["newton-cd", "anderson-bcd", "ssn"])
def test_what_is_known_at_the_last_point_is_taken_along(id, penalty):
    """With a ridge the gradient depends on λ, and only scores and residual are known."""
    problem = solvers.make_problem(regression(), loss="squared", penalty=penalty, intercept=True)
    solver, lams = solvers.make_solver(id).with_tol(1e-8), log_spaced(problem, 4, 0.9)
    shared, w = {}, None
    for lam in lams:
        alone, along = (problem.at_lam(lam).with_pulse(no_pulse) for _ in range(2))
        first, *_, last = solver.iterate(alone, w)
        expected = first.violation, last.w.copy()
        first, *_, last = solver.sharing(shared).iterate(along, w)
        assert first.violation == pytest.approx(expected[0], rel=1e-6, abs=1e-9)
        np.testing.assert_allclose(last.w, expected[1], atol=1e-6)
        if w is not None:
            saved = alone.design.touched - along.design.touched
            assert saved >= (alone.design.nnz if penalty == "l1" else 1)
        w = last.w.copy()


def test_a_point_is_taken_along_to_the_same_weights_of_the_same_problem_alone():
    problem, other = (solvers.make_problem(regression(seed=s), loss="squared") for s in (0, 1))
    solver = solvers.make_solver("newton-cd").sharing({})
    *_, last = solver.iterate(problem)
    for here, w in ((other, last.w), (problem, 0.5 * last.w)):
        first = next(solver.iterate(here, w))
        assert first.objective == pytest.approx(here.at(w).objective, rel=1e-14)


@dataclass(frozen=True)
class Broken(solvers.Solver):
    """Fails at λ below 0.5, after an iterate that is no solution."""

    id = "broken"
    name = "Broken"
    summary = "for tests"

    def iterate(self, problem, w0=None):
        yield Iterate.at(problem.at(w0), 0)
        if problem.lam < 0.5:
            yield Iterate.at(problem.at(np.full(problem.size, 9.0)), 1)
            raise ArithmeticError("no")


def test_a_failed_run_hands_no_weights_on(problem):
    statuses, starts = [], []
    for run in path_runs(problem, Broken(), [1.0, 0.4, 0.3]):
        run.execute()
        statuses.append(run.trace.status)
        starts.append(run.w0)
    assert statuses == ["stalled", "failed", "failed"]
    np.testing.assert_array_equal(starts[2], np.zeros(problem.size))
    assert measured(run)["gap"] is None


def test_limits_may_depend_on_the_problem_at_each_lam(problem):
    asked = []

    def stopping(at):
        asked.append(at.lam)
        return Stopping(max_iter=len(asked))

    traces = [
        run.execute()
        for run in path_runs(problem, solvers.make_solver("fista-ls"), [0.2, 0.1], stopping=stopping)
    ]
    assert asked == [0.2, 0.1]
    assert [trace.result["iterations"] for trace in traces] == [1, 2]


def test_a_gate_ends_the_path_inside_a_run(problem):
    class Closing(solvers.Gate):
        steps = 0

        def step(self, run, iterate):
            self.steps += 1
            if self.steps == 5:
                raise Interrupted

    lams = log_spaced(problem, 5, 0.5)
    solver = solvers.make_solver("fista-cst")
    traces = list(solve_path(problem, solver, lams, tol=0.0, max_iter=3, gate=Closing()))
    assert [trace.status for trace in traces] == ["max-iter", "stopped"]
    assert traces[1].result["gap"] is None


def test_the_gap_is_a_bound_that_holds(problem):
    for trace in solve_path(problem, solvers.make_solver("fista-ls"), tol=1e-3):
        at = problem.at_lam(trace.result["lam"])
        best = solvers.solve(at, solvers.make_solver("bcd-ls"), tol=1e-10).result["objective"]
        distance = solvers.relative_gap(trace.result["objective"], best)
        assert distance <= trace.result["gap"] + 1e-12
        assert trace.result["gap"] < 0.1


def test_against_a_known_f_star_the_gap_is_the_distance(problem):
    best = solvers.solve(problem, solvers.make_solver("bcd-ls"), tol=1e-10).result["objective"]
    stopping = Stopping(max_iter=5, f_star=best)
    (run,) = path_runs(
        problem, solvers.make_solver("fista-ls"), [problem.lam], stopping=lambda problem: stopping
    )
    run.execute()
    f = run.trace.result["objective"]
    assert measured(run)["gap"] == pytest.approx((f - best) / best)


def test_the_non_zeros_of_the_lasso_are_its_degrees_of_freedom():
    """By Stein's lemma the trace of d(fitted values)/dy estimates the degrees of freedom without bias."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 5)), rng.normal(size=12)

    def fitted(y):
        problem = solvers.make_problem(X, y, loss="squared", penalty="l1", lam=0.1, intercept=True)
        trace = solvers.solve(problem, solvers.make_solver("newton-cd"), tol=1e-12)
        return trace.result["nnz"], X @ trace.w[:-1] + trace.w[-1]

    nnz, at = fitted(y)
    step = 1e-5
    slopes = [(fitted(y + step * e)[1][i] - at[i]) / step for i, e in enumerate(np.eye(12))]
    assert sum(slopes) == pytest.approx(nnz, abs=1e-4)
    assert 2 < nnz < 6, "some weights are zero, and the intercept is not"


def test_sets_of_labels_are_judged_on_the_test_part(sets):
    problem = solvers.make_problem(sets, loss="multilabel-squared-hinge", penalty="l1-l2")
    first, *_, last = solve_path(problem, solvers.make_solver("bcd-ls"), log_spaced(problem, 3), tol=1e-4)
    for trace in (first, last):
        result = trace.result
        assert result["test_ranking_loss"] == pytest.approx(1.0 - result["test_metric"])
    assert first.result["test_ranking_loss"] == 1.0  # at λ_max no pair is in order
    assert last.result["test_ranking_loss"] < 0.5
    assert last.result["test_micro_f1"] > 0.5


@pytest.mark.parametrize("loss", ["poisson", "multitask-squared"])
def test_numeric_targets_get_mean_errors_on_the_test_part(loss):
    data = regression(d=4, density=1.0, m=3 if loss == "multitask-squared" else 1)
    data = replace(data, test=data.train)
    problem = solvers.make_problem(data, loss=loss, penalty="l1")
    (trace,) = solve_path(problem, solvers.make_solver("fista-ls"), [0.1 * problem.lam_max], max_iter=20)
    y, Z = data.test.y, dense_of(data.test.X) @ trace.w.reshape(4, -1)
    predicted = np.exp(Z[:, 0]) if loss == "poisson" else Z
    assert trace.result["test_mse"] == pytest.approx(metrics.mean_squared_error(y, predicted))
    assert trace.result["test_mae"] == pytest.approx(metrics.mean_absolute_error(y, predicted))
    if loss == "poisson":
        assert trace.result["test_deviance"] == pytest.approx(metrics.mean_poisson_deviance(y, predicted))
    else:
        assert trace.result["test_deviance"] is None
    assert trace.result["test_micro_f1"] is trace.result["test_ranking_loss"] is None


def test_of_working_sets_the_size_at_the_start_at_half_time_and_at_the_end_is_told():
    problem = solvers.make_problem(binary(d=200), penalty="l1")
    members = {}
    for rule in ("none", "strong", "gap-safe"):
        *_, trace = solve_path(problem, solvers.make_solver("newton-cd", rule=rule))
        told = [trace.result[f"members_{when}"] for when in ("start", "half", "end")]
        assert [told[0], told[2]] == [trace.working_set[0], trace.working_set[-1]]
        half = trace.cpu_seconds <= 0.5 * trace.cpu_seconds[-1]
        assert told[1] == trace.working_set[half][-1]
        members[rule] = told
    assert members["none"] == [200] * 3
    assert members["strong"][0] < 200, "it knows the solution at the last λ"
    assert members["gap-safe"][0] >= members["gap-safe"][2] >= trace.result["nnz"]
    assert members["gap-safe"][2] < 200


def test_one_label_an_instance_is_no_set(problem):
    data = multiclass()
    data = replace(data, test=data.train)
    for loss in ("multitask-squared-hinge", "multiclass-logistic"):
        problem = solvers.make_problem(data, loss=loss, penalty="l1-l2")
        (trace,) = solve_path(problem, solvers.make_solver("fista-ls"), [problem.lam], max_iter=3)
        assert trace.result["test_micro_f1"] is trace.result["test_ranking_loss"] is None


def test_entrywise_penalties_have_a_path_too():
    problem = solvers.make_problem(binary(), loss="logistic", penalty="l1")
    traces = list(solve_path(problem, solvers.make_solver("prox-qn")))
    assert traces[0].result["nnz"] == 0
    assert traces[-1].result["nnz"] == problem.size
    assert {trace.status for trace in traces} == {"converged"}


@pytest.mark.parametrize("id", ["bcd-ls", "fista-ls", "sparsa"])
def test_a_path_takes_fewer_iterations_than_as_many_runs_from_zero(id):
    problem = solvers.make_problem(multiclass(n=400, d=30), loss="multiclass-squared-hinge", penalty="l1-l2")
    solver, lams = solvers.make_solver(id), log_spaced(problem)
    warm = sum(t.result["iterations"] for t in solve_path(problem, solver, lams, tol=1e-4))
    cold = sum(solvers.solve(problem.at_lam(lam), solver, tol=1e-4).result["iterations"] for lam in lams)
    assert warm < cold
