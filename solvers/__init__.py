"""Solvers for convex objectives f(w) = L(A w) + λR(w), as generators of iterates.

>>> problem = solvers.make_problem(data, loss="chain-crf", penalty="l1", lam=100.0)
>>> for it in solvers.make_solver("prox-qn").iterate(problem):
...     print(it.iteration, it.objective)
"""

from .declare import Parameter, Trait, param, parameters
from .methods.iterate import FIELDS, Ending, Iterate
from .methods.solver import Solver
from .problems.certificate import duality_gap
from .problems.line import Line
from .problems.losses.base import BoundLoss, Loss
from .problems.losses.row_loss import RowLoss
from .problems.names import Names
from .problems.optimality import Knows, why_no_tol
from .problems.penalties import Penalty
from .problems.point import Point
from .problems.problem import Problem
from .problems.scores import Scores
from .registry import (
    LOSSES,
    PENALTIES,
    SOLVERS,
    compatible,
    losses_for,
    make_problem,
    make_solver,
    preset_params,
    register,
    why_not_loss,
    why_not_solver,
)
from .runs.path import log_spaced, path_runs, solve_path
from .runs.probes import ACTIVE, LINE, MEMORY, PLANE, ROWS, SCORES, SHRINKING, WEIGHTS, Probe
from .runs.run import Gate, Interrupted, Run, solve
from .runs.stopping import Stopping, relative_gap, undercuts
from .runs.trace import Trace

__all__ = [
    "ACTIVE",
    "FIELDS",
    "LINE",
    "LOSSES",
    "MEMORY",
    "PENALTIES",
    "PLANE",
    "ROWS",
    "SCORES",
    "SHRINKING",
    "SOLVERS",
    "WEIGHTS",
    "BoundLoss",
    "Ending",
    "Gate",
    "Interrupted",
    "Iterate",
    "Knows",
    "Line",
    "Loss",
    "Names",
    "Parameter",
    "Penalty",
    "Point",
    "Probe",
    "Problem",
    "RowLoss",
    "Run",
    "Scores",
    "Solver",
    "Stopping",
    "Trace",
    "Trait",
    "compatible",
    "duality_gap",
    "log_spaced",
    "losses_for",
    "make_problem",
    "make_solver",
    "param",
    "parameters",
    "path_runs",
    "preset_params",
    "register",
    "relative_gap",
    "solve",
    "solve_path",
    "undercuts",
    "why_no_tol",
    "why_not_loss",
    "why_not_solver",
]
