"""liblinear's solvers, from the package of its authors.

liblinear minimizes C Σ_i L_i + ½‖w‖² or C Σ_i L_i + ‖w‖₁: f is λ times that objective with C = s/λ. liblinear
has no limit on iterations, and does not expose intermediate weights. So it is run again and again with
smaller tolerances.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from itertools import count

import numpy as np

from ..declare import Trait, param
from ..methods.common_params import tol_param
from ..problems.problem import Problem
from .external_solver import ExternalSolver, IterateReporter, Task, signs
from .observation_mode import RERUN

#: Solvers by the squared hinge or the logistic loss, and by the penalty; the first is liblinear's own choice.
TYPES = {
    ("logistic", "l2"): ("0", "7"),
    ("logistic", "l1"): ("6",),
    ("multitask-squared-hinge", "l2"): ("2", "1"),
    ("multitask-squared-hinge", "l1"): ("5",),
}
#: Factor between two tolerances.
TOL_FACTOR = 0.25


@dataclass(frozen=True)
class LiblinearSolver(ExternalSolver):
    """A solver of liblinear by its number: 0 and 2 trust regions, 1 and 7 dual coordinate descent.

    For ‖w‖₁, 5 is coordinate descent and 6 newGLMNET. Iteration n of the record is the run with tolerance
    4⁻ⁿ.
    """

    id = "liblinear"
    name = "liblinear"
    summary = "liblinear's solvers by number, run anew with smaller and smaller tolerances"
    paper = "Fan, Chang, Hsieh, Wang and Lin 2008"
    program = "liblinear"
    modules = ("liblinear.liblinearutil",)
    needs = Trait.SMOOTH | Trait.MARGINS | Trait.SINGLE_NORM | Trait.UNIFORM
    observation_mode = RERUN
    takes_start = False

    type: str = param(
        "auto", "number of the solver", choices=("auto", "0", "1", "2", "5", "6", "7"), title="solver number"
    )
    tol: float = tol_param()

    def refuses(self, problem: Problem) -> str | None:
        fitting = TYPES[problem.loss.id, "l1" if problem.penalty.l1 else "l2"]
        if self.type not in ("auto", *fitting):
            return (
                f"{self.id} has no solver {self.type} for this loss and penalty: choose "
                f"{' or '.join(fitting)}"
            )
        return super().refuses(problem)

    def advance(self, task: Task, report: IterateReporter) -> str:
        from liblinear.liblinearutil import train  # pyright: ignore[reportMissingImports] (an extra)

        number = TYPES[task.loss, "l1" if task.l1 else "l2"][0] if self.type == "auto" else self.type
        for n in count():
            eps = TOL_FACTOR**n
            columns = []
            for y in signs(task):
                ctypes.CDLL(None).srand(1)  # so that the same run is the same again
                model = train(y.astype(float), task.X, f"-s {number} -c {task.C!r} -e {eps!r} -q")
                w = np.ctypeslib.as_array(model.w, (task.n_features,)).copy()
                columns.append(w if model.get_labels()[0] == 1 else -w)
            report(n + 1, np.array(columns).T)
            if eps <= self.tol:
                break
        return f"tolerance {eps:.2g} is met"
