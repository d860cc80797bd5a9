"""scikit-learn's solvers of linear regression.

scikit-learn minimizes (1/n) Σ_i L_i + α(ρR(w) + ½(1 - ρ)‖w‖²), R being ‖w‖₁, or Σ_j ‖W_j‖₂ for several
targets. The strengths of R and ½‖w‖² in f are a and b, and s is 1 for a sum, 1/n for a mean. f is s n times
that objective with α = (a + b)/(s n) and ρ = a/(a + b).

``HuberRegressor`` is left out: it also estimates a scale, so that its threshold is not δ. So is liblinear's
own SVR, which ends
after 300 passes, far from the optimum; ``sklearn-linear-svc`` has the same algorithm without that limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from ..declare import Trait
from ..methods.common_params import tol_param
from .external_solver import (
    DenseExternalSolver,
    ExternalSolver,
    IterateReporter,
    Task,
    dense_by_columns,
    gap_tol,
)
from .observation_mode import RERUN, growing_lengths
from .scikit import flat

#: Tolerances of HiGHS: the smallest that it accepts, and the factor between two.
LEAST_HIGHS_TOL, HIGHS_TOL_FACTOR = 1e-10, 0.1


class ScikitCoordinateDescent(ExternalSolver):
    """Base of ``enet_path`` at one λ: cyclic coordinate descent with gap safe screening.

    It screens whenever it computes a duality gap, also after its last pass. So only a rerun from the start
    repeats the iterations of a longer run.
    """

    program = "scikit-learn"
    modules = ("sklearn.linear_model",)
    observation_mode = RERUN
    takes_start = False

    def report_longer_runs(self, X: Any, y: np.ndarray, report: IterateReporter, **penalty: Any) -> str:
        """Report the weights of longer and longer runs, until one meets its own tolerance."""
        from sklearn.linear_model import enet_path

        tol = gap_tol(getattr(self, "tol", 0.0))
        for n in growing_lengths():
            _, w, _, needed = enet_path(X, y, max_iter=n, tol=tol, return_n_iter=True, **penalty)
            report(n, flat(w[..., 0]))
            if needed[0] < n:
                break
        return "its own tolerance is met"


@dataclass(frozen=True)
class ScikitElasticNet(ScikitCoordinateDescent):
    """The solver of ``Lasso`` and ``ElasticNet``."""

    id = "sklearn-elastic-net"
    name = "scikit-learn ElasticNet"
    summary = "coordinate descent of Lasso and ElasticNet, run anew with more and more passes"
    paper = "Friedman, Hastie and Tibshirani 2010; Fercoq, Gramfort and Salmon 2015"
    needs = Trait.LEAST_SQUARES | Trait.ONE_SCORE | Trait.SEPARABLE | Trait.UNIFORM

    tol: float = tol_param()

    def advance(self, task: Task, report: IterateReporter) -> str:
        alpha = task.strength / (task.scale * task.n_rows)
        return self.report_longer_runs(
            task.X_by_columns, task.y, report, alphas=[alpha], l1_ratio=task.l1_ratio, precompute=False
        )


@dataclass(frozen=True)
class ScikitMultiTaskLasso(ScikitCoordinateDescent, DenseExternalSolver):
    """The solver of ``MultiTaskLasso``, by rows of weights, which only accepts a dense X."""

    id = "sklearn-multitask-lasso"
    name = "scikit-learn MultiTaskLasso"
    summary = "block coordinate descent of MultiTaskLasso, run anew with more and more passes"
    paper = "Obozinski, Taskar and Jordan 2010"
    needs = Trait.LEAST_SQUARES | Trait.ROW_NORM | Trait.UNIFORM

    tol: float = tol_param()

    def advance(self, task: Task, report: IterateReporter) -> str:
        y = np.asfortranarray(task.y.reshape(task.n_rows, -1))
        alpha = task.row_norm / (task.scale * task.n_rows)
        return self.report_longer_runs(dense_by_columns(task), y, report, alphas=[alpha], l1_ratio=1.0)


@dataclass(frozen=True)
class ScikitQuantile(ExternalSolver):
    """The linear program of ``QuantileRegressor``, solved by HiGHS, which returns no weights before its end.

    Iteration n of the record is the run with tolerance 10⁻ⁿ.
    """

    id = "sklearn-quantile"
    name = "scikit-learn QuantileRegressor"
    summary = "QuantileRegressor by HiGHS, run anew with smaller and smaller tolerances"
    paper = "Huangfu and Hall 2018"
    program = "scikit-learn"
    modules = ("sklearn.linear_model", "scipy.optimize")
    needs = Trait.QUANTILE | Trait.SEPARABLE | Trait.NO_RIDGE | Trait.UNIFORM
    observation_mode = RERUN
    takes_start = False

    def advance(self, task: Task, report: IterateReporter) -> str:
        from sklearn.linear_model import QuantileRegressor

        for n in count(1):
            tol = max(HIGHS_TOL_FACTOR**n, LEAST_HIGHS_TOL)
            model = QuantileRegressor(
                quantile=task.loss_params["tau"],
                alpha=task.l1 / (task.scale * task.n_rows),
                fit_intercept=False,
                solver_options={"primal_feasibility_tolerance": tol, "dual_feasibility_tolerance": tol},
            )
            report(n, model.fit(task.X, task.y).coef_)
            if tol == LEAST_HIGHS_TOL:
                break
        return f"tolerance {tol:.2g} is met"
