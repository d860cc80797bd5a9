"""The Lasso, with and without an intercept: Newton-CD against celer, skglm and scikit-learn.

    pytest -m bench tests/benchmarks/test_lasso.py -s

All times are CPU seconds of one thread with set-up, from the same arrays, the least of five rounds. A
program's is that of its largest tolerance with which f comes within 1e-6 f(0) of the minimum. f(0) is f
with the intercept alone.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from solverscope import datasets, solvers
from tests.benchmarks.report import Report

pytestmark = pytest.mark.bench

ROUNDS = 5
NEAR = 1e-6
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
#: Data sets: name and options.
SETS = {
    "leukemia": ("leukemia", {}),
    "text": ("synthetic-prices", {"preset": "wide"}),
}


def arrays(name: str) -> tuple[Any, np.ndarray]:
    set_name, options = SETS[name]
    available, reason = datasets.DATASETS[set_name].available(**options)
    if not available:
        pytest.skip(reason)
    train = datasets.load(set_name, **options).train
    return train.X, np.asarray(train.y, dtype=float)


def ours(X: Any, y: np.ndarray, alpha: float, tol: float, *, intercept: bool) -> np.ndarray:
    problem = solvers.make_problem(X, y, loss="squared", penalty="l1", lam=alpha, intercept=intercept)
    iterates = solvers.make_solver("newton-cd").with_tol(tol).iterate(problem)
    for iterate in iterates:
        w = iterate.w
    return w.copy() if intercept else np.append(w, 0.0)


def theirs(make: Callable[..., Any]) -> Callable[..., np.ndarray]:
    def fit(X: Any, y: np.ndarray, alpha: float, tol: float, *, intercept: bool) -> np.ndarray:
        model = make(alpha=alpha, tol=tol, fit_intercept=intercept).fit(X, y)
        return np.append(model.coef_.ravel(), model.intercept_)

    return fit


def programs() -> dict[str, Callable[..., np.ndarray]]:
    found = {"newton-cd": ours, "scikit-learn": theirs(lambda **given: Lasso(max_iter=100_000, **given))}
    for package in ("celer", "skglm"):
        module = pytest.importorskip(package)
        found[package] = theirs(module.Lasso)
    return found


def objective(X: Any, y: np.ndarray, alpha: float, w: np.ndarray) -> float:
    r = X @ w[:-1] + w[-1] - y
    return float(0.5 * (r @ r) / y.size + alpha * np.abs(w[:-1]).sum())


def timed(fit: Callable[..., np.ndarray], *given: Any, **how: Any) -> tuple[float, np.ndarray]:
    began = time.process_time()
    w = fit(*given, **how)
    return time.process_time() - began, w


@pytest.mark.parametrize("name", SETS)
def test_a_lasso_beside_other_programs(name):
    X, y = arrays(name)
    report, rows = Report(f"Lasso on {name}, {X.shape[0]:,} x {X.shape[1]:,}"), []
    for intercept in (False, True):
        problem = solvers.make_problem(X, y, loss="squared", penalty="l1", lam=1.0, intercept=intercept)
        at_null = problem.at().objective
        for share in (10, 100):
            alpha = problem.lam_max / share
            best = solvers.solve(problem.at_lam(alpha), solvers.make_solver("newton-cd"), tol=1e-10)
            f_star, enough = float(best.objective.min()), NEAR * at_null
            seconds: dict[str, float] = {}
            for program, fit in programs().items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    for tol in TOLERANCES:
                        fit(X, y, alpha, tol, intercept=intercept)  # compiles
                        runs = [timed(fit, X, y, alpha, tol, intercept=intercept) for _ in range(ROUNDS)]
                        if objective(X, y, alpha, runs[0][1]) - f_star <= enough:
                            seconds[program] = min(took for took, _ in runs)
                            break
            title = f"λ_max/{share}{', intercept' if intercept else ''}"
            rows.append([title, int(best.nnz[-1]), *(seconds.get(one) for one in programs())])
            assert set(seconds) >= {"newton-cd", "celer"}
    report.table("CPU seconds of one thread with set-up", ["λ", "non-zeros", *programs()], rows)
    report.write(f"lasso-{name}.html")
