"""Huber and Poisson regression on 100,000 samples with 100 dense features: ours, skglm and scikit-learn.

    pytest -m bench tests/benchmarks/test_glm.py -s

Seconds are counted as those of the Lasso are, see :mod:`.test_lasso`: CPU seconds of one thread with set-up,
the least of three rounds, with f within 1e-6 f(0) of the minimum. There is no intercept. scikit-learn's
HuberRegressor fits a scale together with the weights, and so solves another problem.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import PoissonRegressor

from solverscope import solvers
from tests.benchmarks.report import Report
from tests.benchmarks.test_lasso import NEAR, TOLERANCES, least_in_turn

pytestmark = pytest.mark.bench

SAMPLES, FEATURES, ROUNDS_OF_EACH = 100_000, 100, 3
#: Loss and penalty; λ is λ_max/100 with ℓ1.
MODELS = [("huber", "l1"), ("poisson", "l1"), ("poisson", "l2")]
RIDGE = 1e-3
#: Ours that take part.
OURS = ("newton-cd", "prox-qn", "lbfgs")


def arrays(loss: str) -> tuple[np.ndarray, np.ndarray]:
    """Features with pairwise correlations of 0.2, and some 30 weights that are not zero. A tenth of Huber's
    targets are outliers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(SAMPLES, FEATURES)) + 0.5 * rng.normal(size=(SAMPLES, 1))
    X /= np.sqrt(1.25)
    w = rng.normal(size=FEATURES) * (rng.random(FEATURES) < 0.3)
    if loss == "poisson":
        return X, rng.poisson(np.exp(0.15 * (X @ w))).astype(float)
    outlier = rng.random(SAMPLES) < 0.1
    return X, X @ w + rng.normal(size=SAMPLES) + 20.0 * outlier * rng.normal(size=SAMPLES)


def by_ours(id: str, loss: str, penalty: str) -> Callable[..., np.ndarray]:
    def fit(X: np.ndarray, y: np.ndarray, lam: float, tol: float) -> np.ndarray:
        problem = solvers.make_problem(X, y, loss=loss, penalty=penalty, lam=lam)
        aim = problem.aim(tol)
        for iterate in solvers.make_solver(id).with_tol(tol).iterate(problem):
            if iterate.violation <= aim:
                break
        return iterate.w.copy()

    return fit


def by_skglm(loss: str, penalty: str) -> Callable[..., np.ndarray]:
    pytest.importorskip("skglm")
    from skglm.datafits import Huber, Poisson
    from skglm.penalties import L1, L2
    from skglm.solvers import LBFGS, AndersonCD, ProxNewton

    def fit(X: np.ndarray, y: np.ndarray, lam: float, tol: float) -> np.ndarray:
        if penalty == "l2":
            solver, term = LBFGS(tol=tol, max_iter=1000), L2(lam)
        else:
            solver = (AndersonCD if loss == "huber" else ProxNewton)(tol=tol, fit_intercept=False)
            term = L1(lam)
        datafit = Huber(1.35) if loss == "huber" else Poisson()
        return solver.solve(np.asfortranarray(X), y, datafit, term)[0]

    return fit


def by_scikit_learn(solver: str) -> Callable[..., np.ndarray]:
    def fit(X: np.ndarray, y: np.ndarray, lam: float, tol: float) -> np.ndarray:
        model = PoissonRegressor(alpha=lam, fit_intercept=False, tol=tol, solver=solver, max_iter=1000)
        return model.fit(X, y).coef_

    return fit


def programs(loss: str, penalty: str) -> dict[str, Callable[..., np.ndarray]]:
    found = {id: by_ours(id, loss, penalty) for id in OURS if penalty == "l2" or id != "lbfgs"}
    found["skglm"] = by_skglm(loss, penalty)
    if penalty == "l2":
        for solver in ("lbfgs", "newton-cholesky"):
            found[f"scikit-learn, {solver}"] = by_scikit_learn(solver)
    return found


def test_huber_and_poisson_beside_other_programs():
    columns = list(programs("poisson", "l2"))
    report, rows = Report(f"Huber and Poisson, {SAMPLES:,} x {FEATURES}"), []
    for loss, penalty in MODELS:
        X, y = arrays(loss)
        problem = solvers.make_problem(X, y, loss=loss, penalty=penalty, lam=RIDGE)
        if penalty == "l1":
            problem = problem.at_lam(0.01 * problem.lam_max)
        best = solvers.solve(problem, solvers.make_solver("newton-cd"), tol=1e-10)
        enough, chosen = NEAR * problem.at().objective, {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for program, fit in programs(loss, penalty).items():
                for tol in TOLERANCES:
                    given = partial(fit, X, y, problem.lam, tol)
                    if problem.at(given()).objective - best.objective.min() <= enough:
                        chosen[program] = given
                        break
            seconds = least_in_turn(chosen, ROUNDS_OF_EACH)
        rows.append([f"{loss}, {penalty}", int(best.nnz[-1]), *(seconds.get(one) for one in columns)])
        assert {"newton-cd", "prox-qn"} <= set(seconds)
    report.table("CPU seconds of one thread with set-up", ["loss, penalty", "non-zeros", *columns], rows)
    report.write("glm.html")
