"""The solvers of skglm, which use working sets.

skglm minimizes (1/n) Σ_i L_i + α(ρ‖w‖₁ + ½(1 - ρ)‖w‖²): f is s n times that objective with α = (a + b)/(s n)
and ρ = a/(a + b). Here a and b are the strengths of ‖w‖₁ and ½‖w‖². With αΣ_j ‖W_j‖₂, of strength c, α = c/(s
n).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..declare import Trait
from ..methods.common_params import tol_param
from .external_solver import ExternalSolver, IterateReporter, Task
from .observation_mode import RESTART


@dataclass(frozen=True)
class Skglm(ExternalSolver):
    """skglm's ProxNewton for the logistic and the Poisson loss, and AndersonCD for the squared and Huber's
    loss.

    Each iteration solves the problem on a working set. The only state between iterations are w and the
    scores, so that a restart for each is equivalent. It checks arguments again, and AndersonCD sums squares
    of X again.
    """

    id = "skglm"
    name = "skglm"
    summary = "skglm's ProxNewton or AndersonCD, by the loss, watched by warm restarts"
    paper = "Bertrand et al. 2022"
    program = "skglm"
    modules = ("skglm.solvers", "skglm.datafits", "skglm.penalties")
    needs = Trait.ONE_SCORE | Trait.SEPARABLE | Trait.UNIFORM
    formulas = Trait.LOG_LINEAR | Trait.LEAST_SQUARES | Trait.HUBER | Trait.POISSON
    observation_mode = RESTART

    tol: float = tol_param()

    def load(self, task: Task) -> None:
        """Import skglm, and compile what it needs by solving a tiny problem."""
        super().load(task)
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(12, 3)) + 1.0, np.where(rng.random(12) < 0.5, 1.0, -1.0)
        y = self.labels(np.maximum(y, 0.0) if task.loss == "poisson" else y)
        X = np.asfortranarray(X) if isinstance(task.X, np.ndarray) else sp.csc_matrix(X)
        datafit, penalty = self.terms(task)
        penalty.alpha = 1e-3
        w, scores = np.zeros((3, *y.shape[1:])), np.zeros(y.shape, order="F")
        self.outer_iteration(task, 0.0).solve(X, y, datafit, penalty, w, scores)

    def advance(self, task: Task, report: IterateReporter) -> str:
        X, y, tol = task.X_by_columns, self.labels(task.y), task.aim / (task.scale * task.n_rows)
        (datafit, penalty), solver = self.terms(task), self.outer_iteration(task, tol)
        w = np.zeros((task.n_features, *y.shape[1:]))
        if task.w0.size:
            w[:] = task.w0.reshape(w.shape)
        scores = np.asfortranarray(X @ w)
        for n in count(1):
            w, _, violation = solver.solve(X, y, datafit, penalty, w, scores)
            if violation <= tol:  # of the weights that it was given
                return "its own tolerance is met"
            report(n, w)
        raise AssertionError

    def labels(self, y: np.ndarray) -> np.ndarray:
        """Return labels or targets in the shape that skglm expects."""
        return y.astype(float)

    def terms(self, task: Task) -> tuple[Any, Any]:
        """Return skglm's loss and penalty for a task."""
        from skglm.datafits import Huber, Logistic, Poisson, Quadratic
        from skglm.penalties import L1, L1_plus_L2

        by_loss = {"logistic": Logistic, "squared": Quadratic, "huber": Huber, "poisson": Poisson}
        alpha = task.strength / (task.scale * task.n_rows)
        penalty = L1_plus_L2(alpha, task.l1_ratio) if task.ridge else L1(alpha)
        return by_loss[task.loss](**task.loss_params), penalty

    def outer_iteration(self, task: Task, tol: float) -> Any:
        """Return skglm's solver for the loss of a task, limited to one iteration."""
        from skglm.solvers import AndersonCD, ProxNewton

        chosen = AndersonCD if task.loss in ("squared", "huber") else ProxNewton
        return chosen(max_iter=1, tol=tol, fit_intercept=False, warm_start=True)


@dataclass(frozen=True)
class SkglmMultiTaskLasso(Skglm):
    """skglm's MultiTaskBCD on rows of weights, restarted for each iteration as in :class:`Skglm`."""

    id = "skglm-multitask-lasso"
    name = "skglm MultiTaskBCD"
    summary = "skglm's block coordinate descent with Anderson acceleration, watched by warm restarts"
    needs = Trait.LEAST_SQUARES | Trait.ROW_NORM | Trait.UNIFORM
    formulas = Trait(0)

    def labels(self, y: np.ndarray) -> np.ndarray:
        return np.asfortranarray(y.reshape(len(y), -1), dtype=float)

    def terms(self, task: Task) -> tuple[Any, Any]:
        from skglm.datafits import QuadraticMultiTask
        from skglm.penalties import L2_1

        return QuadraticMultiTask(), L2_1(task.row_norm / (task.scale * task.n_rows))

    def outer_iteration(self, task: Task, tol: float) -> Any:
        from skglm.solvers import MultiTaskBCD

        return MultiTaskBCD(max_iter=1, tol=tol, fit_intercept=False, warm_start=True)
