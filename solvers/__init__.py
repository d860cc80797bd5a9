# ruff: noqa: F401 (imports are what is public)
"""Solvers for convex objectives f(w) = L(A w) + λR(w), as generators of iterates.

>>> problem = solvers.make_problem(data, loss="chain-crf", penalty="l1", lam=100.0)
>>> for it in solvers.make_solver("prox-qn").iterate(problem):
...     print(it.iteration, it.objective)
"""

from types import ModuleType as _Module

from .checks.bank import (
    CheckReport,
    check_dataset,
    check_loss,
    check_penalty,
    check_solver,
)
from .checks.case import CheckCase
from .checks.finding import CheckFailure
from .checks.pytest_entry import parametrize_with_checks
from .compatibility import (
    compatible,
    fitting,
    losses_for,
    why_not_loss,
    why_not_solver,
    why_not_solver_on,
)
from .curvature.memory import PairMemory
from .declare import Parameter, Trait, param, parameters
from .doctor.diagnosis import why_slow
from .doctor.experiment import Outcome, prove
from .doctor.finding import Finding, Remedy
from .from_data import make_loss, make_problem
from .linalg.scores import Scores
from .methods.iterate import FIELDS, LIVE, Ending, Iterate
from .methods.solver import Solver
from .penalty_factors import check_penalty_factors
from .probes.probe import (
    ACTIVE,
    CUTS,
    DIRECTION,
    LEARNED,
    LINE,
    MEMORY,
    PLANE,
    ROWS,
    SCORES,
    SHRINKING,
    SUPPORT,
    TRAJECTORIES,
    WEIGHTS,
    WIDE,
    Probe,
)
from .problems.certificates.certificate import duality_gap, lower_bound
from .problems.certificates.optimality import Knows, why_not_tolerance
from .problems.line import Line
from .problems.losses.loss import BoundLoss, Loss
from .problems.losses.margin import MarginLoss
from .problems.losses.row_loss import RowLoss
from .problems.losses.targets.target_loss import TargetLoss
from .problems.penalties import Penalty
from .problems.plane_section import PlaneSection, WeightPlane, main_plane, plane_along
from .problems.point import Point
from .problems.problem import Problem
from .problems.shards.shard import Shard
from .problems.shards.worker_pool import LocalWorkerPool, ShardLost, WorkerPool
from .problems.weight_names import Names
from .registry import LOSSES, PENALTIES, SOLVERS, make_solver, preset_params, register
from .relay import Relay, expand_legs, parse_legs, shorten_legs
from .runs.branch import Origin, origin_of
from .runs.breakpoints import USUAL_CONDITIONS, BreakpointWatch, Condition
from .runs.endings import SolverFailed
from .runs.lam_path import log_spaced, path_runs, solve_path
from .runs.own_loop import OwnLoop
from .runs.pseudocode import Pseudocode, Step, pseudocode
from .runs.run import Gate, Interrupted, Run
from .runs.solve import solve
from .runs.stopping import Stopping, relative_gap, undercuts
from .search.line_search import Armijo, Wolfe
from .search.outcome import SearchLog as Search
from .search.outcome import SearchResult
from .traces.first_difference import RunComparison, compare_runs
from .traces.reading import read
from .traces.run_info import RunInfo
from .traces.segments import Segment, segments
from .traces.trace import Trace, save, to_pandas
from .working_sets.rule import Rule
from .working_sets.rules import RULES
from .working_sets.screening import ScreeningContext

#: What is imported above is public, and nothing else.
__all__ = [name for name, thing in vars().copy().items() if name[0] != "_" and not isinstance(thing, _Module)]
