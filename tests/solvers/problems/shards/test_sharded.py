"""A problem whose rows are on shards is the same problem: values, gradients, searches, optima."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.solvers import declare
from solverscope.solvers.linalg.arrays import from_arrays
from solverscope.solvers.problems.shards.sharded import FEW_BREAKPOINTS
from tests.solvers.helpers import binary

PROBLEMS = {
    "logistic": ("breast-cancer", {}, {"penalty": "l1", "lam": 0.01}, "prox-qn"),
    "multiclass-squared-hinge": ("digits", {}, {"penalty": "l1-l2", "lam": 0.01}, "sparsa"),
    "binary-hinge": ("breast-cancer", {}, {"penalty": "l2", "lam": 0.01}, "sublbfgs"),
    "multiclass-hinge": ("digits", {}, {"penalty": "l2", "lam": 0.01}, "sublbfgs"),
    "chain-crf": ("digit-strings", {"n_samples": 40}, {"penalty": "l1", "lam": 1.0}, "prox-qn"),
}


def made(loss: str, count: int | None) -> tuple[solvers.Problem, solvers.LocalWorkerPool | None]:
    """A problem, on so many shards."""
    id, options, how, _ = PROBLEMS[loss]
    data = datasets.load(id, **options)
    pool = None
    if count is not None:
        pool = solvers.LocalWorkerPool(
            [solvers.Shard.of(data, solvers.LOSSES[loss](), k, count) for k in range(count)]
        )
    return solvers.make_problem(data, loss=loss, workers=pool, **how), pool


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_arrays_have_the_same_key_on_shards(storage):
    part = binary(storage=storage).train
    data = from_arrays(part.X, part.y, None, None, ("binary",))
    pool = solvers.LocalWorkerPool([solvers.Shard(part.X, solvers.LOSSES["logistic"]().bind(data.train, 2))])
    whole, problem = (solvers.make_problem(data, loss="logistic", lam=0.1, workers=c) for c in (None, pool))
    assert problem.key == whole.key


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("loss", PROBLEMS)
def test_objective_gradient_and_line_are_those_of_the_whole(loss, count):
    whole, _ = made(loss, None)
    problem, _ = made(loss, count)
    assert problem.key == whole.key
    rng = np.random.default_rng(0)
    w = 0.1 * rng.standard_normal(whole.size) * (rng.random(whole.size) < 0.5)
    here, there = whole.at(w), problem.at(w)
    assert there.objective == pytest.approx(here.objective, rel=1e-10)
    g = here.gradient()
    assert np.abs(there.gradient() - g).max() <= 1e-10 * np.abs(g).max()
    m = whole.design.n_outputs if whole.penalty.id == "l1-l2" else 1  # whole rows of W
    chosen = np.sort(rng.choice(whole.size // m, whole.size // (3 * m), replace=False))
    members = (m * chosen[:, None] + np.arange(m)).ravel()
    part, same = (p.gradient(p.problem.design.working_set(members)) for p in (there, here))
    assert np.abs(part - same).max() <= 1e-10 * np.abs(g).max()
    d = -g[members]
    one, other = (p.problem.line(p, d, p.problem.design.working_set(members)) for p in (here, there))
    for t in (0.0, 0.3, 1.0):
        assert other(t) == pytest.approx(one(t), rel=1e-10)
        assert other.slope(t) == pytest.approx(one.slope(t), rel=1e-9, abs=1e-10 * abs(one.slope()))
    if whole.smooth:
        assert other.curvature() == pytest.approx(one.curvature(), rel=1e-5)
        bent, same = (
            p.problem.design.adjoint(p.problem.loss.hessian(p.scores, p.residual)(line.delta), line.active)
            for p, line in ((here, one), (there, other))
        )
        assert np.abs(same - bent).max() <= 1e-10 * np.abs(bent).max()
        assert whole.scale * (bent @ d) == pytest.approx(one.curvature(), rel=1e-3)
    one, other = one.move(0.5), other.move(0.5)
    assert other.objective == pytest.approx(one.objective, rel=1e-10)
    assert problem.passes == pytest.approx(whole.passes, rel=0.01)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("loss", ["binary-hinge", "multiclass-hinge"])
def test_an_exact_search_lands_where_that_of_the_whole_does(loss, count):
    whole, _ = made(loss, None)
    problem, pool = made(loss, count)
    rng = np.random.default_rng(1)
    for trial in range(5):
        w = 0.05 * trial * rng.standard_normal(whole.size)
        lines = [p.line(p.at(w), -p.at(w).gradient()) for p in (whole, problem)]
        kinks = lines[0].breakpoints().t.size
        before = pool.moved
        found, other = (line.exact() for line in lines)
        assert other.t == pytest.approx(found.t, rel=1e-9)
        assert other.point.objective == pytest.approx(found.point.objective, rel=1e-10)
        assert other.search.segment == pytest.approx(found.search.segment, rel=1e-9)
        if count == 1 and kinks > 4 * FEW_BREAKPOINTS:
            gradients = 8 * 4 * whole.size
            assert pool.moved - before < gradients + 16 * 4 * FEW_BREAKPOINTS + 2000, (
                "not all breakpoints come over"
            )


def run(problem: solvers.Problem, solver: str, **limits) -> solvers.Trace:
    limits = {"max_iter": 3000, "max_seconds": 60} | limits
    return solvers.Run(problem, solvers.make_solver(solver), stopping=solvers.Stopping(**limits)).execute()


@pytest.mark.slow
@pytest.mark.parametrize("loss", [loss for loss in PROBLEMS if "-hinge" not in loss or "squared" in loss])
def test_solvers_come_to_the_same_optimum(loss):
    whole, problem = made(loss, None)[0], made(loss, 3)[0]
    one, other = (run(p, PROBLEMS[loss][3], tol=1e-8) for p in (whole, problem))
    assert other.status == one.status == "converged", (other.message, one.message)
    assert other.last["objective"] == pytest.approx(one.last["objective"], rel=1e-8)
    assert other.result["violation"] <= 1e-8 * whole.violation_at_zero()
    assert other.cpu_seconds[-1] > 0.0
    if problem.has_test:
        assert other.result["test_metric"] == pytest.approx(one.result["test_metric"], abs=0.02)
    at = [p.train_metric(p.at(one.w)) for p in (whole, problem)]
    assert at[0] == pytest.approx(at[1], rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "solver", "limits"),
    [
        ("logistic", "owl-qn", {"tol": 1e-7}),
        ("chain-crf", "owl-qn", {"tol": 1e-5}),
        ("logistic", "ssn", {"tol": 1e-8}),
        ("chain-crf", "ssn", {"tol": 1e-8}),
    ],
)
def test_other_solvers_come_there_too(loss, solver, limits):
    whole, problem = made(loss, None)[0], made(loss, 2)[0]
    one, other = (run(p, solver, **limits) for p in (whole, problem))
    assert other.status == one.status == "converged", (other.message, one.message)
    assert other.last["objective"] == pytest.approx(one.last["objective"], rel=1e-7)


def test_one_shard_gives_the_iterates_of_the_whole_bit_for_bit():
    whole, problem = made("chain-crf", None)[0], made("chain-crf", 1)[0]
    one, other = (run(p, "prox-qn", max_iter=12) for p in (whole, problem))
    assert list(other.objective) == list(one.objective)
    assert np.array_equal(other.w, one.w)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["binary-hinge", "multiclass-hinge"])
def test_with_kinks_they_come_to_the_optimum_that_is_proved(loss):
    whole, problem = made(loss, None)[0], made(loss, 3)[0]
    proved = run(whole, "ls-bmrm", tol=1e-5)
    bound = proved.last["objective"] - proved.result["dual_gap"]
    for solver in ("sublbfgs", "ls-bmrm", "subgd"):
        found = run(problem, solver, tol=1e-5 if solver == "ls-bmrm" else None, max_iter=300)
        assert found.status in ("converged", "stalled", "max-iter"), found.message
        above = found.last["objective"] - bound
        slack = {"sublbfgs": 3e-3, "ls-bmrm": 1e-4, "subgd": 0.5}[solver]
        assert 0.0 <= above <= slack * bound, (solver, above)


def test_what_goes_over_the_wire_grows_with_the_working_set_and_not_with_the_rows():
    problem, pool = made("chain-crf", 2)
    point = problem.at(np.full(problem.size, 1e-3))
    point.gradient()
    problem.design.column_lengths()  # made of the data once
    costs = []
    for size in (10, 100, 1000):
        members = problem.design.working_set(np.arange(size))
        before = pool.moved
        line = problem.line(point, np.full(size, 1e-3), members)
        assert line(0.5) != line(1.0)
        point = line.move(0.5)
        point.gradient(members)
        costs.append(pool.moved - before)
    # to each of two shards go members of 4 bytes and weights of 8, and a gradient comes back
    assert costs == [pytest.approx(2 * (4 + 8 + 8) * size, abs=1000) for size in (10, 100, 1000)]


@pytest.mark.parametrize("count", [1, 2, 4])
def test_an_iteration_of_prox_qn_moves_some_bytes_for_each_member_of_its_working_set(count):
    problem, pool = made("chain-crf", count)
    run = solvers.Run(problem, solvers.make_solver("prox-qn"), stopping=solvers.Stopping(max_iter=30))
    before, checked, began, size = pool.moved, 0, True, problem.size
    for trace in run.steps():
        moved, before, last = pool.moved - before, pool.moved, trace.last
        begins = last["iteration"] == 0 or "epoch-start" in last["events"]
        if not begins and not began:  # an epoch begins with a look at all weights
            checked += 1
            # a number goes over and another comes back; the set too, where it is no part of one sent before
            each = 20.2 if last["iteration"] == 2 else 16.2
            assert moved <= count * (each * size + 100 * (last["ls_trials"] + 4)), last
        began, size = begins, last["working_set"]
    assert checked > 10
    assert trace.working_set[-1] < problem.size / 5


def test_what_goes_over_the_wire_does_not_grow_with_the_rows():
    moved = []
    for n in (20, 80):
        data = datasets.load("digit-strings", n_samples=n)
        bare = solvers.LOSSES["chain-crf"]()
        pool = solvers.LocalWorkerPool([solvers.Shard.of(data, bare, k, 2) for k in range(2)])
        problem = solvers.make_problem(data, loss="chain-crf", penalty="l1", lam=1.0, workers=pool)
        point, members = problem.at(np.full(problem.size, 1e-3)), problem.design.working_set(np.arange(50))
        point.gradient(members)
        before = pool.moved
        line = problem.line(point, np.full(50, 1e-3), members)
        assert line(0.5) != line(1.0)
        line.move(0.5).gradient(members)
        moved.append(pool.moved - before)
    assert moved[0] == moved[1]


def test_a_set_that_narrows_goes_over_as_bits_and_keeps_its_columns():
    problem, pool = made("chain-crf", 2)
    residual = problem.at(np.full(problem.size, 1e-3)).residual
    size, m = problem.design.n_features, problem.design.n_outputs
    wide = problem.design.working_set(m * np.arange(size))
    for _ in range(2):  # the second gradient makes the copies of columns
        problem.design.adjoint(residual, wide)
    before = pool.moved
    narrow = wide.restrict(np.arange(size) < 100)
    problem.design.adjoint(residual, narrow)
    assert pool.moved - before < 2 * (size / 8 + 100 * 8) + 200
    held = [part for shard in pool.shards for part in shard.held.values() if hasattr(part, "lineage")]
    assert {len(part) for part in held} == {100, size}
    assert all(part.lineage.columns is not None for part in held)


def test_a_line_search_costs_a_number_a_trial_from_each_shard():
    problem, pool = made("logistic", 4)
    point = problem.at(np.full(problem.size, 1e-3))
    line = problem.line(point, -point.gradient(), problem.design.working_set())
    line(0.25)
    before = pool.moved
    line(0.5)
    assert pool.moved - before <= 4 * 8 * 10
    assert pool.at_root < pool.moved / 3


def test_scores_that_nobody_holds_are_forgotten():
    problem, pool = made("logistic", 2)
    for k in range(20):
        problem.at(np.full(problem.size, 0.01 * k)).gradient()
    problem.at(np.zeros(problem.size)).gradient()
    assert all(len(shard.held) <= 6 for shard in pool.shards)


def test_solvers_that_look_at_single_rows_are_refused_in_a_sentence():
    problem, _ = made("logistic", 2)
    offered = problem.loss.traits | problem.penalty.traits
    for id in ("sgd-l1", "bcd-ls", "crf-bcd", "fobos", "dual-cd"):
        assert declare.unmet_needs(solvers.SOLVERS[id].needs, offered), id
    for id in ("prox-qn", "owl-qn", "prox-gd", "fista-ls", "sparsa"):
        assert declare.unmet_needs(solvers.SOLVERS[id].needs, offered) is None, id


@pytest.mark.parametrize("loss", PROBLEMS)
def test_what_solvers_lack_on_shards_is_known_before_there_are_any(loss):
    problem, _ = made(loss, 2)
    lacked = {id: solvers.why_not_solver_on(id, problem) for id in solvers.SOLVERS}
    names = loss, problem.penalty.id
    assert {id: solvers.why_not_solver(id, *names, sharded=True) for id in solvers.SOLVERS} == lacked
    assert solvers.compatible(*names, sharded=True) == [id for id, reason in lacked.items() if not reason]


def test_a_number_of_shards_that_cannot_be_is_refused():
    data = datasets.load("breast-cancer")
    with pytest.raises(ValueError, match="give from 1 to that many"):
        solvers.Shard.of(data, solvers.LOSSES["logistic"](), 0, 10_000)
    pool = solvers.LocalWorkerPool([solvers.Shard.of(data, solvers.LOSSES["logistic"](), 0, 2)])
    with pytest.raises(ValueError, match="split these data"):
        solvers.make_problem(data, loss="logistic", workers=pool)


def test_a_shard_does_only_what_it_is_there_for():
    data = datasets.load("breast-cancer")
    shard = solvers.Shard.of(data, solvers.LOSSES["logistic"](), 0, 2)
    with pytest.raises(ValueError, match="does not know"):
        shard.execute([("__init__", None, None)])
