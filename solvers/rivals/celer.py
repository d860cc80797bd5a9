"""The solvers of celer: working sets with dual extrapolation.

celer minimizes Σ_i L_i + α‖w‖₁ for the logistic loss: f is s times that objective with α = λ/s. For the
squared loss it minimizes (1/n) Σ_i L_i + α‖w‖₁, or with αΣ_j ‖W_j‖₂: f is s n times that objective with α =
λ/(s n).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import count

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
from .observation_mode import RERUN
from .scikit import flat


@dataclass(frozen=True)
class Celer(ExternalSolver):
    """celer for one output: each iteration solves the problem on a working set.

    The method there is proximal Newton (celer-pn) for a logistic loss, coordinate descent for a squared one.
    It starts from zero and does not expose its state, so it is run again with one more iteration each time.
    """

    id = "celer"
    name = "celer"
    summary = "celer on a logistic or squared loss, run anew with more and more iterations"
    paper = "Massias, Vaiter, Gramfort and Salmon 2020"
    program = "celer"
    modules = ("celer",)
    needs = Trait.ONE_SCORE | Trait.SINGLE_NORM | Trait.NO_RIDGE | Trait.UNIFORM
    formulas = Trait.LOG_LINEAR | Trait.LEAST_SQUARES
    observation_mode = RERUN
    takes_start = False

    tol: float = tol_param()

    def advance(self, task: Task, report: IterateReporter) -> str:
        from celer import celer_path  # pyright: ignore[reportAttributeAccessIssue] (an extra)

        X, y = task.X_by_columns, task.y.astype(float)
        if task.loss == "logistic":
            given = {"pb": "logreg", "alphas": [task.l1 / task.scale], "tol": self.tol, "use_PN": True}
        else:
            alpha = task.l1 / (task.scale * task.n_rows)
            given = {"pb": "lasso", "alphas": [alpha], "tol": gap_tol(self.tol)}
        for n in count(1):
            _, w, _, needed = celer_path(X, y, max_iter=n, return_n_iter=True, **given)
            report(n, w)
            if needed[0] < n:
                break
        return "its own tolerance is met"


@dataclass(frozen=True)
class CelerMultiTaskLasso(DenseExternalSolver):
    """The solver of ``MultiTaskLasso``: block coordinate descent on each working set.

    It starts from zero, does not expose its state, and only accepts a dense X.
    """

    id = "celer-multitask-lasso"
    name = "celer MultiTaskLasso"
    summary = "celer on a squared loss with rows of weights, run anew with more and more iterations"
    paper = "Massias, Vaiter, Gramfort and Salmon 2020"
    program = "celer"
    modules = ("celer.homotopy",)
    needs = Trait.LEAST_SQUARES | Trait.ROW_NORM | Trait.UNIFORM
    observation_mode = RERUN
    takes_start = False

    tol: float = tol_param()

    def advance(self, task: Task, report: IterateReporter) -> str:
        from celer.homotopy import mtl_path  # pyright: ignore[reportMissingImports] (an extra)
        from sklearn.exceptions import ConvergenceWarning

        X, Y = dense_by_columns(task), np.asfortranarray(task.y.reshape(task.n_rows, -1), dtype=float)
        alpha, tol = task.row_norm / (task.scale * task.n_rows), gap_tol(self.tol)
        for n in count(1):
            # the number of iterations is not returned: a warning says that there were too few
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                _, W, _ = mtl_path(X, Y, alphas=[alpha], max_iter=n, tol=tol)
            report(n, flat(W[..., 0]))
            if not any(issubclass(warning.category, ConvergenceWarning) for warning in caught):
                break
        return "its own tolerance is met"
