"""Proximal Newton by coordinate descent: its model, its sweeps beside liblinear's, other programs' optima."""

import itertools
import re

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.linalg.row_norms import NO_FACTORS
from solverscope.solvers.methods.coordinate.newton_cd import NewtonModel
from solverscope.solvers.methods.coordinate.newton_kernels import predicted_decrease
from solverscope.solvers.methods.working_sets import Selection
from solverscope.solvers.working_sets.rules import RULES
from tests.solvers.helpers import MAKERS, binary, by_scikit_learn, dense_of, problem_of
from tests.solvers.oracles import PENALTIES as SHARES
from tests.solvers.oracles import Oracle, row_violation
from tests.solvers.smooth_programs import minimum

PENALTIES = ["none", "l2", "l1", "elastic-net", "l1-l2", "l1-linf", "sparse-group"]
KINDS = ["binary", "multiclass"]


def modelled(kind, penalty, storage="dense", **params):
    """A problem, its formula, a point of it, and the model's solution on all weights."""
    data = MAKERS[kind](n=40, d=6, storage=storage)
    problem = problem_of(data, None, penalty)
    solver = solvers.make_solver("newton-cd", rule="none", max_inner=2_000, **params)
    w = 0.3 * np.random.default_rng(0).normal(size=problem.size)
    w[::3] = 0.0
    point = problem.at(w)
    selection = Selection(RULES["none"](), problem, 1e-12, rows=problem.design.n_outputs > 1)
    model, state = NewtonModel(solver, problem), selection.choose(point)
    oracle = Oracle(data, data.loss, penalty, problem.lam or 0.0, problem.average)
    return problem, oracle, w, model.solve(point, state), model


@pytest.mark.parametrize("storage", ["dense", "binary"])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_direction_minimises_the_model_whose_hessian_is_by_finite_differences(kind, penalty, storage):
    problem, oracle, w, d, _ = modelled(kind, penalty, storage, inner=1e-9)
    h = 1e-4 / np.abs(d).max()
    bent = (oracle.gradient(w + h * d) - oracle.gradient(w - h * d)) / (2.0 * h)
    g = oracle.gradient(w) + bent
    l1, _, l2, sup = (oracle.lam * share for share in SHARES[penalty])
    rows = zip(
        (w + d).reshape(-1, problem.design.n_outputs), g.reshape(-1, problem.design.n_outputs), strict=True
    )
    left = max(row_violation(v, a, l1, l2, sup) for v, a in rows)
    assert left <= 1e-6 * max(oracle.violation(w), 1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_product_with_the_hessian_follows_the_steps(kind):
    _, oracle, w, d, model = modelled(kind, "l1", inner=0.1)
    h = 1e-4 / np.abs(d).max()
    bent = (oracle.gradient(w + h * d) - oracle.gradient(w - h * d)) / (2.0 * h)
    X = dense_of(oracle.data.train.X)
    np.testing.assert_allclose((X.T @ model.u.reshape(len(X), -1)).ravel(), bent, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_sweeps_of_one_call_are_those_of_a_call_each(kind, monkeypatch):
    """Also where a call ends within a sweep; and sweeps that cost little end at a tenth of ``inner``."""
    solver = solvers.make_solver("newton-cd", rule="none")
    problem = problem_of(MAKERS[kind](n=60, d=20), None, "l1")
    together = solvers.solve(problem, solver, tol=1e-9)
    assert together.inner_iterations.max() > 3
    for entries in (1, problem.design.nnz * problem.design.n_outputs):
        monkeypatch.setattr(
            "solverscope.solvers.methods.coordinate.newton_cd.NEWTON_ENTRIES_PER_CALL", entries
        )
        alone = solvers.solve(problem, solver, tol=1e-9)
        np.testing.assert_array_equal(alone.inner_iterations, together.inner_iterations)
        np.testing.assert_array_equal(alone.objective, together.objective)
    monkeypatch.setattr("solverscope.solvers.methods.coordinate.newton_cd.CHEAP_READS", 100.0)
    strict = solvers.solve(problem, solver, tol=1e-9)
    assert strict.inner_iterations.sum() / len(strict) > together.inner_iterations.sum() / len(together)
    assert len(strict) <= len(together)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_what_a_direction_promises_is_the_slope_and_the_change_of_the_kinks(penalty):
    problem = problem_of("multiclass", penalty=penalty)
    rng, m = np.random.default_rng(0), problem.design.n_outputs
    w, g, d = (rng.normal(size=problem.size) * (rng.random(problem.size) < 0.6) for _ in range(3))
    ridge = problem.penalty.ridge
    kinks = [problem.penalty.value(v) - 0.5 * ridge * (v @ v) for v in (w, w + d)]
    found = predicted_decrease(*(v.reshape(-1, m) for v in (w, g, d)), *problem.penalty.row_norms, NO_FACTORS)
    assert found == pytest.approx(g @ d + kinks[1] - kinks[0], abs=1e-12)


def test_as_printed_it_takes_the_iterations_and_cycles_of_liblinear(capfd):
    """Both permute at random, so the cycles of an iteration may differ by one here and there."""
    data, lam = binary(n=400, d=60, seed=3), 0.003
    w = by_scikit_learn(data, l1_ratio=1.0, solver="liblinear", C=1 / (lam * 400), tol=1e-8, verbose=1)
    theirs = [int(k) for k in re.findall(r"#CD cycles (\d+)", capfd.readouterr().out)]
    problem = solvers.make_problem(data, penalty="l1", lam=lam)
    least = problem.at(w.ravel()).violation() / problem.violation_at_zero()
    trace = solvers.solve(problem, solvers.make_solver("newton-cd", preset="paper"), tol=least)
    ours = trace.inner_iterations[1:].tolist()
    assert len(theirs) > 10
    assert ours[0] == theirs[0] == 1
    assert abs(len(ours) - len(theirs)) <= 3
    assert abs(sum(ours) - sum(theirs)) <= 5
    assert max(ours) <= 3 >= max(theirs)


@pytest.mark.parametrize("rule", RULES)
def test_the_optimum_and_support_are_those_of_liblinear(rule):
    data = binary(n=150, d=40, seed=1)
    lam = 0.02
    theirs = by_scikit_learn(data, l1_ratio=1.0, solver="liblinear", C=1 / (lam * 150), tol=1e-12).ravel()
    problem = solvers.make_problem(data, penalty="l1", lam=lam)
    trace = solvers.solve(problem, solvers.make_solver("newton-cd", rule=rule), tol=1e-10)
    assert trace.status == "converged"
    assert 0 < np.count_nonzero(trace.w) < 40
    np.testing.assert_array_equal(trace.w != 0.0, np.abs(theirs) > 1e-9)
    np.testing.assert_allclose(trace.w, theirs, atol=1e-7)


@pytest.mark.parametrize("penalty", ["l1", "elastic-net", "l1-l2", "sparse-group"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_minimum_is_that_of_a_convex_program(kind, penalty):
    data = MAKERS[kind](n=30, d=8)
    problem = problem_of(data, None, penalty)
    oracle = Oracle(data, data.loss, penalty, problem.lam, problem.average)
    best = minimum(oracle)
    trace = solvers.solve(problem, solvers.make_solver("newton-cd"), tol=1e-10)
    assert oracle.objective(trace.w) == pytest.approx(oracle.objective(best), rel=1e-12)
    np.testing.assert_array_equal(trace.w != 0.0, best != 0.0)


def test_convergence_is_faster_than_linear_once_models_are_solved_well():
    """Yuan, Ho and Lin 2012, section 4: with exact Hessians and inner solutions it is quadratic."""
    problem = problem_of("binary", n=300, d=20)
    solver = solvers.make_solver("newton-cd", rule="none", inner=1e-8, max_inner=10_000)
    trace = solvers.solve(problem, solver, tol=1e-12)
    v = trace.violation[trace.violation > 1e-13 * trace.violation[0]]
    ratios = v[1:] / v[:-1]
    assert np.all(np.diff(ratios) < 0.0)
    assert ratios[-1] <= 1e-3
    assert len(v) <= 8


@pytest.mark.parametrize("kind", KINDS)
def test_it_starts_anywhere_and_visits_at_random(kind):
    problem = problem_of(kind, penalty="l1")
    start = np.random.default_rng(0).normal(size=problem.size)
    found = [
        solvers.solve(problem, solvers.make_solver("newton-cd", order=order, seed=seed), tol=1e-9, w0=w0)
        for order, seed, w0 in (("cyclic", 0, None), ("random", 0, start), ("random", 1, start))
    ]
    values = [trace.result["objective"] for trace in found]
    assert values == pytest.approx([values[0]] * 3, rel=1e-12)
    assert not np.array_equal(found[1].w, found[2].w)


def test_a_working_set_never_leaves_out_a_weight_that_is_not_zero():
    problem = problem_of("binary", n=200, d=50)
    for it in itertools.islice(solvers.make_solver("newton-cd", rule="zhong").iterate(problem), 12):
        assert np.all(np.isin(np.flatnonzero(it.w), it.active.coordinates))
        assert it.gradient.size == it.working_set == len(it.active)
        assert it.selection.guessed.size == 50 - it.working_set


def chains(penalty="l1", lam_ratio=0.1, ends=False, **options):
    """A problem of chains, and its data."""
    data = MAKERS["sequences"](n=15, d=6, m=3, **options)
    strength = {} if penalty == "none" else {"lam": 0.3} if penalty == "l2" else {"lam_ratio": lam_ratio}
    given = {"loss": "chain-crf", "penalty": penalty, "loss_params": {"ends": ends}}
    return solvers.make_problem(data, **given, **strength), data


@pytest.mark.parametrize("penalty", PENALTIES)
def test_of_chains_it_finds_the_optimum_by_the_formula_in_numpy(penalty):
    problem, data = chains(penalty)
    found = solvers.solve(problem, solvers.make_solver("newton-cd"), tol=1e-8, max_iter=1_000)
    assert found.status == "converged"
    oracle = Oracle(data, "chain-crf", penalty, problem.lam or 0.0, problem.average)
    assert oracle.violation(found.w) <= 1.1e-8 * oracle.violation(np.zeros_like(found.w))


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "no-return"])
def test_of_chains_every_rule_leads_to_the_optimum_of_prox_qn(rule, ends):
    problem, _ = chains("l1", ends=ends)
    found = solvers.solve(problem, solvers.make_solver("newton-cd", rule=rule), tol=1e-9, max_iter=1_000)
    best = solvers.solve(problem, solvers.make_solver("prox-qn"), tol=1e-9)
    assert found.status == "converged"
    assert found.result["objective"] == pytest.approx(best.result["objective"], rel=1e-13)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_of_chains_the_model_takes_tokens_for_samples_and_transitions_one_by_one(penalty):
    """Its minimum, by blocks of a Hessian that NumPy makes of the marginals."""
    problem, data = chains(penalty)
    w = 0.3 * np.random.default_rng(0).normal(size=problem.size)
    w[::3] = 0.0
    point, m = problem.at(w), 3
    selection = Selection(RULES["none"](), problem, 1e-12, rows=True)
    model = NewtonModel(solvers.make_solver("newton-cd", rule="none", inner=1e-9, max_inner=5_000), problem)
    d = model.solve(point, selection.choose(point))
    X, body = dense_of(data.train.X), problem.design.n_features * m
    P = point.residual.Z + np.eye(m)[data.train.y]
    bent = [np.einsum("t,tcd,d->tc", x, [np.diag(p) - np.outer(p, p) for p in P], v)
            for x, v in zip(X.T, d[:body].reshape(-1, m), strict=True)]  # fmt: skip
    moved = np.concatenate(
        [(X.T @ sum(bent)).ravel(), point.problem.loss.tail_diagonal(point.scores) * d[body:]]
    )
    oracle = Oracle(data, "chain-crf", penalty, problem.lam or 0.0, problem.average)
    g = oracle.gradient(w) + problem.scale * moved + oracle.lam * SHARES[penalty][1] * d
    l1, _, l2, sup = (oracle.lam * share for share in SHARES[penalty])
    rows = zip((w + d).reshape(-1, m), g.reshape(-1, m), strict=True)
    left = [row_violation(v, a, l1, l2, sup) for v, a in rows]
    assert max(left[: body // m]) <= 1e-6 * oracle.violation(w)
    if not (l2 or sup):
        assert max(left[body // m :]) <= 1e-6 * oracle.violation(w)


def test_of_chains_that_hang_together_the_model_bends_as_much_as_f():
    """Labels stay the same, so what one token says, all say; without the factor steps overshoot for ever."""
    rng, T = np.random.default_rng(0), 30
    y = np.repeat(np.arange(20) % 2, T)
    X = (y[:, None] == np.arange(2)) + 0.5 * rng.normal(size=(y.size, 2))
    problem = solvers.make_problem(
        X, y, offsets=np.arange(0, y.size + 1, T), loss="chain-crf", penalty="l2", lam=1.0
    )
    found = solvers.solve(problem, solvers.make_solver("newton-cd"), tol=1e-9, max_iter=2_000)
    best = solvers.solve(problem, solvers.make_solver("lbfgs"), tol=1e-9)
    assert (found.status, best.status) == ("converged", "converged")
    assert found.result["objective"] == pytest.approx(best.result["objective"], rel=1e-12)
