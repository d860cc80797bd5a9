"""The bound of f - f* holds everywhere, and is tight at the optimum."""

from __future__ import annotations

import functools
import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize

from solverscope import solvers
from solverscope.solvers import duality_gap, lower_bound
from solverscope.solvers.problems.certificates.certificate import shares
from solverscope.solvers.problems.point import Drift, Point
from tests.solvers.helpers import MAKERS, chains

KINDS = {
    "logistic": "binary",
    "multiclass-logistic": "multiclass",
    "chain-crf": "sequences",
    "tree-softmax": "tree",
}


@functools.cache
def solved(loss, penalty="l1"):
    """A small problem and its minimum: prox-qn up to rounding, owl-qn from there."""
    data = MAKERS[KINDS[loss]]()
    problem = solvers.make_problem(
        data, loss=loss, penalty=penalty, **({"lam": 0.01} if penalty == "l2" else {"lam_ratio": 0.05})
    )
    near = solvers.solve(problem, solvers.make_solver("prox-qn", memory=30), tol=1e-12, max_seconds=10)
    best = solvers.solve(problem, solvers.make_solver("owl-qn"), tol=1e-13, max_seconds=10, w0=near.w)
    return problem, problem.at(min((near, best), key=lambda trace: trace.result["violation"]).w)


@pytest.mark.parametrize("penalty", ["l1", "elastic-net", "l2"])
@pytest.mark.parametrize("loss", KINDS)
def test_it_closes_at_the_optimum(loss, penalty):
    problem, best = solved(loss, penalty)
    assert 0.0 <= duality_gap(problem, best) <= 1e-11 * best.objective


@pytest.mark.parametrize("penalty", ["l1", "elastic-net", "l2"])
@pytest.mark.parametrize("loss", KINDS)
@pytest.mark.parametrize("size", [0.0, 1e-6, 1e-3, 0.1, 3.0])
def test_no_point_is_further_from_the_optimum_than_it_says(loss, penalty, size):
    problem, best = solved(loss, penalty)
    rng = np.random.default_rng(1)
    for w in (size * rng.normal(size=problem.size), best.w * (1 + size * rng.normal(size=problem.size))):
        point = problem.at(w)
        assert duality_gap(problem, point) >= (point.objective - best.objective) * (1 - 1e-9)


@pytest.mark.parametrize("loss", KINDS)
def test_it_comes_down_with_the_objective(loss):
    problem, best = solved(loss)
    rng = np.random.default_rng(0)
    move = rng.normal(size=problem.size)
    gaps = [duality_gap(problem, problem.at(best.w + t * move)) for t in (1e-1, 1e-3, 1e-5, 1e-7)]
    assert (np.diff(gaps) < 0).all()
    assert gaps[-1] < 1e-4 * best.objective


def test_without_a_penalty_there_is_none():
    problem = solvers.make_problem(MAKERS["binary"](), loss="logistic", penalty="none")
    assert duality_gap(problem, problem.at()) is None


def test_chains_far_apart_in_score_do_not_overflow():
    problem = solvers.make_problem(chains(), lam_ratio=0.1)
    point = problem.at(1e4 * np.random.default_rng(0).normal(size=problem.size))
    assert np.isfinite(duality_gap(problem, point))
    assert duality_gap(problem, point) >= point.objective - problem.at().objective


@pytest.mark.parametrize("loss", KINDS)
def test_a_result_says_how_far_above_the_minimum_the_run_ended_at_most(loss):
    problem, best = solved(loss)
    gaps = []
    for tol in (0.3, 1e-2, 1e-4):
        result = solvers.solve(problem, solvers.make_solver("prox-gd"), tol=tol).result
        assert result["status"] == "converged"
        assert result["dual_gap"] >= result["objective"] - best.objective - 1e-12 * best.objective
        gaps.append(result["dual_gap"])
    assert gaps[0] > gaps[1] > gaps[2]


def test_a_result_has_no_gap_where_nothing_proves_one_or_the_run_was_broken_off():
    free = solvers.make_problem(MAKERS["binary"](), penalty="none")
    assert solvers.solve(free, solvers.make_solver("prox-gd"), max_iter=3).result["dual_gap"] is None
    problem, _ = solved("logistic")
    run = solvers.Run(problem, solvers.make_solver("prox-gd"))
    steps = run.steps()
    next(steps)
    run.interrupt()
    assert list(steps) == []
    assert run.trace.result["status"] == "stopped"
    assert run.trace.result["dual_gap"] is None


def test_a_gap_that_the_solver_knows_itself_counts_if_it_is_smaller():
    @dataclass(frozen=True)
    class Knowing(solvers.Solver):
        id, name, summary = "knowing", "Knowing", "knows a bound"

        bound: float = solvers.param(0.0, "the bound", low=0.0)

        def iterate(self, problem, w0=None):
            yield solvers.Iterate.at(problem.at(w0), 0, dual_gap=self.bound)

    problem, _ = solved("logistic")
    proved = duality_gap(problem, problem.at())
    for bound in (0.5 * proved, 2.0 * proved):
        result = solvers.solve(problem, Knowing(bound), max_iter=0).result
        assert result["dual_gap"] == pytest.approx(min(bound, proved))


@dataclass(frozen=True)
class Claiming(solvers.Solver):
    """Says of each of its points, at multiples of a direction, how far f is from f* at most."""

    id, name, summary = "claiming", "Claiming", "claims bounds"
    knows = solvers.Knows(violation=False, dual_gap=True)

    gap: float = solvers.param(0.0, "the gap it claims", low=0.0)

    def iterate(self, problem, w0=None):
        for n, size in enumerate((0.0, 10.0, 1e-3, 20.0)):
            yield solvers.Iterate.at(problem.at(np.full(problem.size, size)), n, dual_gap=self.gap)
        return solvers.Ending("converged", "I am at the minimum")


def test_a_bound_above_f_at_zero_or_at_another_iterate_is_false_and_not_printed():
    problem = solvers.make_problem(MAKERS["binary"](), loss="binary-hinge", penalty="l2", lam=1.0)
    trace = solvers.solve(problem, Claiming(0.5), tol=1e-3)
    assert trace.objective[1] > trace.objective[0] + 0.5
    # the first could be true; after the second no word of it is believed
    np.testing.assert_array_equal(trace.dual_gap[0], 0.5)
    assert np.isnan(trace.dual_gap[1:]).all()
    assert trace.status == "disputed"
    said = "its bound of f* is above f elsewhere; it ended as converged: I am at the minimum"
    assert trace.result["message"] == said
    last = problem.at(np.full(problem.size, 20.0))
    assert trace.result["dual_gap"] == pytest.approx(duality_gap(problem, last))
    assert trace.result["dual_gap"] > last.objective - problem.at().objective


def test_a_claim_that_f_is_the_minimum_ends_no_run_where_f_at_zero_is_less():
    problem = solvers.make_problem(MAKERS["binary"](), loss="binary-hinge", penalty="l2", lam=1.0)
    start = np.full(problem.size, 10.0)

    @dataclass(frozen=True)
    class Content(solvers.Solver):
        id, name, summary = "content", "Content", "claims to have converged where it starts"
        knows = solvers.Knows(violation=False, dual_gap=True)

        def iterate(self, problem, w0=None):
            for n in range(3):
                yield solvers.Iterate.at(problem.at(start), n, dual_gap=0.0)

    trace = solvers.solve(problem, Content(), tol=1e-3, max_iter=10)
    assert trace.status == "disputed"
    assert np.isnan(trace.dual_gap).all()


def test_an_objective_of_scores_that_are_not_those_of_the_weights_is_not_the_result():
    problem = solvers.make_problem(MAKERS["binary"](), penalty="l2", lam=0.1)

    @dataclass(frozen=True)
    class Drifted(solvers.Solver):
        id, name, summary = "drifted", "Drifted", "keeps scores that w does not have"

        def iterate(self, problem, w0=None):
            point = problem.at(np.ones(problem.size))
            yield solvers.Iterate.at(point, 0)
            point.w[:] = 2.0
            other = Point(problem, point.w, point.scores, drift=Drift(1))
            yield solvers.Iterate.at(other, 1, violation=0.0)

    trace = solvers.solve(problem, Drifted(), tol=1e-6)
    f = problem.at(np.full(problem.size, 2.0)).objective
    assert trace.result["objective"] == pytest.approx(f, rel=1e-12)
    assert trace.result["objective"] > trace.objective[-1]
    assert trace.status == "disputed"
    assert f"and at its weights it is {f:.9g}" in trace.result["message"]


def test_the_certificate_of_many_weights_takes_no_further_vector_of_them():
    """Of a ridge too, whose bound is a norm over all weights: pieces are looked at one after the other."""
    data = MAKERS["binary"](n=20, d=400_000, storage="sparse", density=1e-5)
    for penalty in ("l1", "elastic-net", "l2"):
        problem = solvers.make_problem(data, penalty=penalty, lam=0.01)
        point = problem.at()
        point.gradient()
        problem.design.column_lengths()  # made of the data once
        tracemalloc.start()
        duality_gap(problem, point)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.8 * 8 * problem.size


def test_a_lower_bound_is_not_above_what_was_rounded_into_its_gap():
    f = 10.0 ** np.arange(-8.0, 20.0)
    for proved in (-3.0, 0.0, 0.1, 0.978054720):
        bound = lower_bound(f, f - proved)
        assert (bound <= proved).all()
        assert (bound >= proved - 1e-15 * (f + np.abs(f - proved))).all()


def test_stop_is_felt_while_the_certificate_is_computed():
    problem, best = solved("multiclass-logistic")
    pulses = []
    pulsing = problem.with_pulse(lambda: pulses.append(1))
    point = pulsing.at(best.w)
    point.gradient()
    pulses.clear()
    duality_gap(pulsing, point)
    assert pulses


UNPENALISED = [
    ("multiclass-logistic", "multiclass", "l1-l2", None),
    ("multiclass-squared-hinge", "multiclass", "l1", None),
    ("multiclass-logistic", "multiclass", "l2", None),
    ("logistic", "binary", "l1", "2=0"),
]


@pytest.mark.parametrize(("loss", "kind", "penalty", "factors"), UNPENALISED)
def test_with_an_intercept_for_each_output_it_closes_and_holds_everywhere(loss, kind, penalty, factors):
    lam = {"lam": 0.01} if penalty == "l2" else {"lam_ratio": 0.1}
    problem = solvers.make_problem(
        MAKERS[kind](),
        loss=loss,
        penalty=penalty,
        average=True,
        intercept=True,
        penalty_factors=factors,
        **lam,
    )
    assert problem.free.size > 1
    w = solvers.solve(problem, solvers.make_solver("sparsa" if penalty != "l2" else "lbfgs"), tol=1e-10).w
    best = problem.at(w)
    assert 0.0 <= duality_gap(problem, best) <= 1e-7 * best.objective
    rng = np.random.default_rng(0)
    for size in (1e-6, 1e-3, 0.1, 3.0):
        for there in (size * rng.normal(size=w.size), w * (1 + size * rng.normal(size=w.size))):
            point = problem.at(there)
            gap = duality_gap(problem, point)
            assert point.objective - best.objective <= gap <= 50.0 * point.objective


@pytest.mark.parametrize("columns", [1, 4])
def test_shares_are_the_projection_onto_the_box_and_the_equations(columns):
    rng = np.random.default_rng(columns)
    M = rng.normal(0.3, 1.0, (60, columns)) * rng.lognormal(0.0, 2.0, (60, 1))
    t = shares(M, np.abs(M).sum(axis=0))
    assert np.abs(M.T @ t).max() <= 1e-13 * np.abs(M).sum()
    assert (t >= 0.0).all()
    assert (t <= 1.0).all()
    trusted = minimize(
        lambda s: 0.5 * float((1.0 - s) @ (1.0 - s)),
        np.zeros(60),
        jac=lambda s: s - 1.0,
        bounds=[(0.0, 1.0)] * 60,
        constraints={"type": "eq", "fun": lambda s: M.T @ s, "jac": lambda s: M.T},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert t == pytest.approx(trusted.x, abs=1e-5)


def test_residuals_of_one_sign_leave_no_share():
    M = np.random.default_rng(0).uniform(0.1, 1.0, (20, 1))
    assert not shares(M, M.sum(axis=0)).any()
