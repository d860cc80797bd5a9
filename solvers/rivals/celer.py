"""celer's working sets with dual extrapolation.

celer minimizes Σ_i L_i + α‖w‖₁ for the logistic loss: our f is s times that with α = λ/s.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np

from ..declare import Trait
from ..methods.usual import tol_param
from .foreign import Foreign, Task, Tell
from .watched import ANEW


@dataclass(frozen=True)
class Celer(Foreign):
    """celer-pn: each iteration solves the problem on a working set by a proximal Newton method. It starts
    from zero and does not show its state, so that it is run anew with one iteration more each time."""

    id = "celer"
    name = "celer"
    summary = "celer's celer-pn on a logistic loss, run anew with more and more iterations"
    paper = "Massias, Vaiter, Gramfort and Salmon 2020"
    program = "celer"
    modules = ("celer",)
    needs = Trait.LOG_LINEAR | Trait.ONE_SCORE | Trait.ONE_NORM | Trait.NO_RIDGE
    watched = ANEW
    takes_start = False

    tol: float = tol_param()

    def advance(self, task: Task, tell: Tell) -> str:
        from celer import celer_path  # pyright: ignore[reportAttributeAccessIssue] (an extra)

        X = task.X.tocsc() if not isinstance(task.X, np.ndarray) else np.asfortranarray(task.X)
        given = {"alphas": [task.l1 / task.scale], "tol": self.tol, "use_PN": True, "return_n_iter": True}
        for n in count(1):
            _, w, _, needed = celer_path(X, task.y.astype(float), "logreg", max_iter=n, **given)
            tell(n, w)
            if needed[0] < n:
                break
        return "its own tolerance is met"
