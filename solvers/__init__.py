"""Solvers for convex objectives f(w) = L(A w) + λR(w), as generators of iterates.

>>> problem = solvers.make_problem(data, loss="chain-crf", penalty="l1", lam=100.0)
>>> for it in solvers.make_solver("prox-qn").iterate(problem):
...     print(it.iteration, it.objective)
"""

from .declare import Parameter, Trait, param, parameters
from .methods.iterate import FIELDS, Ending, Iterate
from .methods.solver import Solver
from .problems.certificate import duality_gap
from .problems.crew import Crew, LocalCrew, ShardLost
from .problems.line import Line
from .problems.losses.base import BoundLoss, Loss
from .problems.losses.row_loss import RowLoss
from .problems.names import Names
from .problems.optimality import Knows, why_no_tol
from .problems.penalties import Penalty
from .problems.point import Point
from .problems.problem import Problem
from .problems.scores import Scores
from .problems.shard import Shard
from .registry import (
    LOSSES,
    PENALTIES,
    SOLVERS,
    compatible,
    fitting,
    losses_for,
    make_loss,
    make_problem,
    make_solver,
    origin_of,
    preset_params,
    register,
    why_not_here,
    why_not_loss,
    why_not_solver,
)
from .runs.branch import Origin
from .runs.breakpoints import USUAL as USUAL_CONDITIONS
from .runs.breakpoints import Condition, Watch
from .runs.path import log_spaced, path_runs, solve_path
from .runs.probes import (
    ACTIVE,
    CUTS,
    LEARNED,
    LINE,
    MEMORY,
    PLANE,
    ROWS,
    SCORES,
    SHRINKING,
    TRAJECTORIES,
    WEIGHTS,
    Probe,
)
from .runs.pseudocode import Pseudocode, Step, pseudocode
from .runs.run import Gate, Interrupted, Run, solve
from .runs.segments import Segment, segments
from .runs.stopping import Stopping, relative_gap, undercuts
from .runs.trace import Trace

__all__ = [
    "ACTIVE",
    "CUTS",
    "FIELDS",
    "LEARNED",
    "LINE",
    "LOSSES",
    "MEMORY",
    "PENALTIES",
    "PLANE",
    "ROWS",
    "SCORES",
    "SHRINKING",
    "SOLVERS",
    "TRAJECTORIES",
    "USUAL_CONDITIONS",
    "WEIGHTS",
    "BoundLoss",
    "Condition",
    "Crew",
    "Ending",
    "Gate",
    "Interrupted",
    "Iterate",
    "Knows",
    "Line",
    "LocalCrew",
    "Loss",
    "Names",
    "Origin",
    "Parameter",
    "Penalty",
    "Point",
    "Probe",
    "Problem",
    "Pseudocode",
    "RowLoss",
    "Run",
    "Scores",
    "Segment",
    "Shard",
    "ShardLost",
    "Solver",
    "Step",
    "Stopping",
    "Trace",
    "Trait",
    "Watch",
    "compatible",
    "duality_gap",
    "fitting",
    "log_spaced",
    "losses_for",
    "make_loss",
    "make_problem",
    "make_solver",
    "origin_of",
    "param",
    "parameters",
    "path_runs",
    "preset_params",
    "pseudocode",
    "register",
    "relative_gap",
    "segments",
    "solve",
    "solve_path",
    "undercuts",
    "why_no_tol",
    "why_not_here",
    "why_not_loss",
    "why_not_solver",
]
