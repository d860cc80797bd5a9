"""No certificate is false, however features, targets and λ are scaled: hypothesis, with independent bounds.

Any w gives a bound of f* from above, f(w) in long doubles: that of CVXPY's w for an equal problem of unit
size, of w = 0, and of the best weights that any solver found. Where CVXPY is not accurate the bound is
looser, and never false: so no lower bound may be above it, with no tolerance but that of long doubles.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from cvxpy.error import SolverError
from hypothesis import example, given, settings
from hypothesis import strategies as st

from solverscope import solvers
from solverscope.solvers.linalg.arrays import LARGEST_ENTRY
from solverscope.solvers.problems.certificates.certificate import duality_gap
from tests.solvers.convex import LOSSES as KINKED
from tests.solvers.convex import Program
from tests.solvers.helpers import MAKERS, Data, Part, dense_of, tol_that_ends
from tests.solvers.oracles import LOSSES as SMOOTH
from tests.solvers.oracles import PENALTIES as SHARES
from tests.solvers.oracles import Oracle

LOSSES = {"binary-hinge": 2, "multiclass-hinge": 3, "logistic": 2, "multiclass-logistic": 3}
PENALTIES = ("l2", "elastic-net", "l1")
PAIRS = [
    (loss, penalty, solver)
    for loss in LOSSES
    for penalty in PENALTIES
    for solver in solvers.compatible(loss, penalty)
    if not solver.startswith(("sgd", "fobos", "clustered"))
]
EXPONENTS = st.floats(-8.0, 8.0)
COLUMNS = st.sampled_from([(0.0,), (8.0, -8.0, 0.0, 4.0), (0.0, -8.0), (2.0, -3.0, 5.0, 0.0)])


def objective(w, X, y, loss, penalty, lam, m):
    """f(w) in long doubles, by the definitions."""
    wide = np.longdouble
    W = w.astype(wide).reshape(X.shape[1], m)
    Z = X.astype(wide) @ W
    if m == 1:
        lack = -y * Z[:, 0]
        values = np.maximum(1.0 + lack, 0.0) if "hinge" in loss else np.logaddexp(wide(0.0), lack)
    else:
        truth = np.eye(m)[y].astype(bool)
        high = Z + (1.0 - truth if "hinge" in loss else 0.0)
        top = high.max(axis=1)
        values = top if "hinge" in loss else top + np.log(np.exp(high - top[:, None]).sum(axis=1))
        values = values - Z[truth]
    l1, l2 = {"l2": (0.0, 1.0), "elastic-net": (0.5, 0.5), "l1": (1.0, 0.0)}[penalty]
    return values.mean() + wide(lam) * (l1 * np.abs(W).sum() + 0.5 * l2 * (W * W).sum())


def check(pair, seed, scale, columns, ratio, iterations=15):
    loss, penalty, solver = pair
    m, rng = LOSSES[loss], np.random.default_rng(seed)
    n, d = 24, 4
    raw = rng.normal(size=(n, d))
    if m == 2:
        y = np.where(raw[:, 0] + rng.normal(size=n) > 0.0, 1, -1)
        y[:2] = 1, -1
    else:
        y = np.argmax(raw[:, :m] + rng.normal(size=(n, m)), axis=1)
        y[:m] = range(m)
    X = raw * 10.0 ** np.resize(columns, d) * 10.0**scale
    X *= min(0.99 * LARGEST_ENTRY / np.abs(X).max(), 1.0)
    lam = 10.0**ratio * float(np.abs(X).mean(axis=0).max())
    problem = solvers.make_problem(X, y, loss=loss, penalty=penalty, lam=lam)
    made = solvers.make_solver(solver)
    tol = tol_that_ends(problem, made, 1e-6)
    trace = solvers.solve(problem, made, tol=tol, max_iter=iterations, max_seconds=1.0)
    assert trace.status != "failed", trace.result["message"]
    width = 1 if m == 2 else m
    zero = np.zeros(problem.size)
    above = [objective(zero, X, y, loss, penalty, lam, width)]
    above.append(objective(trace.w, X, y, loss, penalty, lam, width))
    if loss in KINKED and penalty == "l2":
        size = float(np.abs(X).max())
        data = Data("binary" if m == 2 else "multiclass", Part(X / size, y), m, loss)
        program = Program(data, loss, penalty, lam / size**2, True)
        try:
            program.least()
            above.append(objective(program.w / size, X, y, loss, penalty, lam, width))
        except (AssertionError, ValueError):  # CVXPY gives up: the other bounds are left
            pass
    least = min(above)
    bounds = np.append(trace.objective - trace.dual_gap, np.nan)
    if trace.result["dual_gap"] is not None:
        # losses are differences of numbers as large as at w = 0
        rounding = np.finfo(float).eps * float(above[0])
        assert trace.result["objective"] == pytest.approx(float(above[1]), rel=1e-9, abs=rounding)
        bounds[-1] = trace.result["objective"] - trace.result["dual_gap"]
    assert not (bounds > least + 4e-16 * np.abs(np.append(trace.objective, trace.objective[-1]))).any()
    return np.isfinite(bounds).any()


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids="/".join)
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    scale=EXPONENTS,
    columns=COLUMNS,
    ratio=EXPONENTS,
)
def test_no_lower_bound_is_above_the_minimum(pair, seed, scale, columns, ratio):
    check(pair, seed, scale, columns, ratio, iterations=60)


@pytest.mark.quick("/l1/", "/l1-l2/", "/ls-bmrm", "/dual-cd", "/sublbfgs")
@pytest.mark.parametrize("pair", PAIRS, ids="/".join)
def test_no_lower_bound_is_above_the_minimum_at_a_few_scales(pair):
    cases = [
        (1, 0.0, (0.0,), -2.0),
        (2, -8.0, (0.0,), -8.0),
        (3, 8.0, (0.0,), 8.0),
        (4, 0.0, (8.0, -8.0), -8.0),
    ]
    # several at once must have one, or the test shows nothing
    assert any([check(pair, *case) for case in cases])


#: Every loss and penalty with every solver that takes them; without a penalty nothing can be proved.
ALL = [
    (kind, loss, penalty, solver)
    for kind in MAKERS
    for loss in solvers.losses_for(kind)
    for penalty in solvers.PENALTIES
    if penalty != "none"
    for solver in solvers.compatible(loss, penalty)
]
#: By which power of a factor of all features λ changes, where the weights alone make up for it.
POWERS = {"l2": 2, "l1": 1, "l1-l2": 1, "l1-linf": 1, "sparse-group": 1}


def posed(kind, loss, penalty, seed, scale, columns, target, ratio, unit=False):
    """Return a problem, its objective by the formula, and by what its weights are those of the problem with
    features of ``unit`` size."""
    data = MAKERS[kind](n=8 if kind == "sequences" else 24, d=4, density=1.0, storage="dense", seed=seed)
    if kind in ("regression", "multitask"):
        data = replace(data, train=replace(data.train, y=data.train.y * 10.0**target))
    X = dense_of(data.train.X) * 10.0 ** np.resize(columns, 4) * 10.0**scale
    lam = 10.0**ratio * float(np.abs(X).mean(axis=0).max())
    size = float(np.abs(X).max()) if unit else 1.0
    scaled = replace(data, train=replace(data.train, X=X / size))
    about = {"loss": loss, "penalty": penalty, "lam": lam / size ** POWERS.get(penalty, 0), "average": True}
    oracle = Oracle if loss in SMOOTH else Program
    return solvers.make_problem(scaled, **about), oracle(scaled, **about), size


@cache
def optimum(kind, loss, penalty, *how):
    """Weights near the optimum, found where features have unit size."""
    problem, _, size = posed(kind, loss, penalty, *how, unit=True)
    best = "prox-qn" if "prox-qn" in solvers.compatible(loss, penalty) else "fista-ls"
    return solvers.solve(problem, solvers.make_solver(best), tol=1e-9, max_iter=300).w / size


def bounds_hold(which, *how):
    """Check the bounds of one run against f at w = 0, at its own end, and at the optimum of an equal problem
    with features of unit size, all by the formula; and that f is recorded as it is."""
    kind, loss, penalty, solver = which
    problem, formula, _ = posed(kind, loss, penalty, *how)
    made = solvers.make_solver(solver)
    tol = tol_that_ends(problem, made, 1e-6)
    trace = solvers.solve(problem, made, tol=tol, max_iter=20, on_error="keep")
    above = [formula.objective(np.zeros(problem.size))]
    if trace.status != "failed":  # by steps that are far too long
        above.append(formula.objective(trace.w))
        assert trace.result["objective"] == pytest.approx(above[-1], rel=1e-9)
    # weights of transitions stay as they are
    if penalty in POWERS and loss in SMOOTH and kind != "sequences":
        above.append(formula.objective(optimum(kind, loss, penalty, *how)))
    bounds = solvers.lower_bound(trace.objective, trace.dual_gap)
    if (gap := trace.result["dual_gap"]) is not None:
        bounds = np.append(bounds, solvers.lower_bound(trace.result["objective"], gap))
    assert not (bounds > min(above) * (1.0 + 1e-9)).any()


@pytest.mark.slow
@settings(max_examples=250, deadline=None)
@example(
    which=("binary", "binary-hinge", "l2", "gd"),
    seed=0,
    scale=-4.0,
    columns=(8.0, -8.0, 0.0, 4.0),
    target=0.0,
    ratio=4.0,
)
@given(
    which=st.sampled_from(ALL),
    seed=st.integers(0, 10**6),
    scale=EXPONENTS,
    columns=COLUMNS,
    target=EXPONENTS,
    ratio=EXPONENTS,
)
def test_no_bound_is_false_on_any_loss_penalty_and_solver(which, seed, scale, columns, target, ratio):
    bounds_hold(which, seed, scale, columns, target, ratio)


@pytest.mark.quick("logistic", "huber", "quantile")
@pytest.mark.parametrize("loss", sorted(solvers.LOSSES.keys() - {"toy"}))
def test_no_bound_is_false_on_any_loss_at_one_scale(loss):
    rng = np.random.default_rng(0)
    for which in [which for which in ALL if which[1] == loss and which[2] in ("l2", "l1-l2")][::2]:
        scale, target = (float(rng.choice([-8.0, 0.0, 8.0])) for _ in range(2))
        bounds_hold(which, 1, scale, (0.0, -3.0), target, -2.0)


#: Losses of numeric targets, and how many of them a sample has.
REGRESSIONS = {
    "squared": 1,
    "multitask-squared": 3,
    "huber": 1,
    "poisson": 1,
    "quantile": 1,
    "epsilon-insensitive": 1,
}


def wide_regression(w, X, Y, loss, penalty, lam):
    """f(w) in long doubles, by the definitions; δ = 1.35, τ = ½, ε = 0.1."""
    wide = np.longdouble
    W, Y = w.astype(wide).reshape(X.shape[1], -1), Y.astype(wide)
    Z = X.astype(wide) @ W
    R, sizes = Z - Y, np.abs(Z - Y)
    if loss == "huber":
        G = np.clip(R, -wide(1.35), wide(1.35))
        values = G * (R - G / 2)
    elif loss == "poisson":
        values = np.exp(Z) - Y * Z + Y * np.log(Y) - Y
    elif loss == "quantile":
        values = sizes / 2
    elif loss == "epsilon-insensitive":
        values = np.maximum(sizes - wide(0.1), 0)
    else:
        values = R * R / 2
    l1, l2, rows, _ = SHARES[penalty]
    norms = l1 * np.abs(W).sum() + l2 * (W * W).sum() / 2 + rows * np.sqrt((W * W).sum(axis=1)).sum()
    return values.sum() / len(Y) + wide(lam) * norms


def regression_minimum(X, Y, loss, penalty, lam):
    """Return weights near the minimum, found where features have unit size if the penalty allows it."""
    size = float(np.abs(X).max()) if penalty in POWERS else 1.0
    lam = lam / size ** POWERS.get(penalty, 0)
    y = Y if Y.shape[1] > 1 else Y[:, 0]
    if loss in KINKED:
        program = Program(Data("regression", Part(X / size, y), 1, loss), loss, penalty, lam, True)
        program.least()
        return program.w / size
    problem = solvers.make_problem(X / size, y, loss=loss, penalty=penalty, lam=lam)
    solver = solvers.make_solver("fista-ls" if penalty == "l1-l2" else "prox-qn")
    return solvers.solve(problem, solver, tol=1e-10, max_iter=100).w / size


def regression_bounds(loss, penalty, seed, scale, columns, target, ratio):
    """Check the bounds at several points against f at each of them; return the best bound and the least f."""
    rng, m = np.random.default_rng(seed), REGRESSIONS[loss]
    raw = rng.normal(size=(24, 4))
    Y = raw[:, :m] + rng.normal(size=(24, m))
    Y = (np.exp(Y) if loss == "poisson" else Y) * 10.0**target
    X = raw * 10.0 ** np.resize(columns, 4) * 10.0**scale
    X *= min(0.99 * LARGEST_ENTRY / np.abs(X).max(), 1.0)
    lam = 10.0 ** (ratio + target) * float(np.abs(X).mean(axis=0).max())
    problem = solvers.make_problem(X, Y if m > 1 else Y[:, 0], loss=loss, penalty=penalty, lam=lam)
    points = [np.zeros(problem.size), rng.normal(size=problem.size) / np.abs(X).max(axis=0).repeat(m)]
    try:
        best = regression_minimum(X, Y, loss, penalty, lam)
        points += [best, best * (1.0 + 1e-3 * rng.normal(size=best.size))]
    except (AssertionError, SolverError):  # CVXPY gives up: the other points are left
        pass
    above, below = [], []
    for w in points:
        with np.errstate(over="ignore", invalid="ignore"):
            f, point = wide_regression(w, X, Y, loss, penalty, lam), problem.at(w)
        if np.isfinite(f) and np.isfinite(point.objective):
            assert abs(point.objective - f) <= point.rounding()
            above.append(f)
            below.append(np.longdouble(point.objective) - np.longdouble(duality_gap(problem, point)))
    assert max(below) <= min(above)
    return float(max(below)), float(min(above))


@pytest.mark.parametrize("loss", REGRESSIONS)
@settings(max_examples=15, deadline=None)
@given(
    penalty=st.sampled_from(["l2", "elastic-net", "l1", "l1-l2"]),
    seed=st.integers(0, 10**6),
    scale=EXPONENTS,
    columns=COLUMNS,
    target=EXPONENTS,
    ratio=EXPONENTS,
)
def test_no_bound_of_a_regression_is_false(loss, penalty, seed, scale, columns, target, ratio):
    regression_bounds(loss, penalty, seed, scale, columns, target, ratio)


@pytest.mark.parametrize("loss", sorted(REGRESSIONS.keys() - KINKED.keys()))
def test_bounds_of_smooth_regressions_close_at_the_minimum(loss):
    for penalty in ("l2", "elastic-net", "l1"):
        bound, least = regression_bounds(loss, penalty, 1, 0.0, (0.0,), 0.0, -2.0)
        assert least - bound <= 1e-9 * least
