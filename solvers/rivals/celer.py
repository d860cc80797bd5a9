"""celer's working sets with dual extrapolation.

celer minimizes Σ_i L_i + α‖w‖₁ for the logistic loss: our f is s times that with α = λ/s. For the squared
loss it minimizes (1/n) Σ_i L_i + α‖w‖₁: our f is s n times that with α = λ/(s n).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from ..declare import Trait
from ..methods.common_params import tol_param
from .external_solver import ExternalSolver, IterateReporter, Task, gap_tol
from .observation_mode import RERUN


@dataclass(frozen=True)
class Celer(ExternalSolver):
    """Each iteration solves the problem on a working set: of a logistic loss by a proximal Newton method
    (celer-pn), of a squared one by coordinate descent. It starts from zero and does not show its state, so
    that it is run anew with one iteration more each time."""

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
