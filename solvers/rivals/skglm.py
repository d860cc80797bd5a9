"""skglm's proximal Newton method with working sets.

skglm minimizes (1/n) Σ_i L_i + α(ρ‖w‖₁ + ½(1 - ρ)‖w‖²): our f is s n times that with α = (a + b)/(s n), a and
b the strengths of ‖w‖₁ and ½‖w‖², and ρ = a/(a + b).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np

from ..declare import Trait
from ..methods.usual import tol_param
from .foreign import Foreign, Task, Tell
from .watched import RESTART


@dataclass(frozen=True)
class Skglm(Foreign):
    """ProxNewton: each iteration solves the problem on a working set. It keeps nothing but w and the scores
    from one to the next, so that a restart for each does the same; it checks its arguments again."""

    id = "skglm"
    name = "skglm ProxNewton"
    summary = "skglm's ProxNewton on a logistic loss, watched by warm restarts"
    paper = "Bertrand et al. 2022"
    program = "skglm"
    modules = ("skglm.solvers", "skglm.datafits", "skglm.penalties")
    needs = Trait.LOG_LINEAR | Trait.ONE_SCORE | Trait.ONE_NORM | Trait.NO_RIDGE
    watched = RESTART

    tol: float = tol_param()

    def advance(self, task: Task, tell: Tell) -> str:
        from skglm.datafits import Logistic
        from skglm.penalties import L1
        from skglm.solvers import ProxNewton

        X = task.X.tocsc() if not isinstance(task.X, np.ndarray) else np.asfortranarray(task.X)
        y, n_terms = task.y.astype(float), task.scale * task.n_rows
        tol = task.aim / n_terms
        solver = ProxNewton(max_iter=1, tol=tol, fit_intercept=False, warm_start=True)
        w = task.w0.copy() if task.w0.size else np.zeros(task.size)
        scores = np.asarray(X @ w)
        for n in count(1):
            w, _, violation = solver.solve(X, y, Logistic(), L1(task.l1 / n_terms), w, scores)
            if violation <= tol:  # of the weights that it was given
                return "its own tolerance is met"
            tell(n, w)
        raise AssertionError
