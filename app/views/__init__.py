# ruff: noqa: F401 (imports are what is public)
"""The views: each draws a list of traces at a cursor, live or not, on the page or in a notebook.

>>> from solverscope.app import views
>>> views.Convergence(trace)

A new view is a subclass of :class:`View` in a file of its own, listed here; plug-ins register theirs.
"""

from solverscope.app.views.base.cursor import Cursor
from solverscope.solvers import Probe, Problem

from .base.probe_view import ProbeView
from .base.problem_view import ProblemView
from .base.view import View
from .bundle.cutting_planes import BundleView as Bundle
from .compare.past_runs import PastRuns
from .compare.race import Race
from .compare.rule_race import RuleRace
from .compare.summary import Table
from .convergence.accuracy import Accuracy
from .convergence.any_field import Record
from .convergence.convergence import Convergence
from .convergence.phase_times import PhaseTimes
from .convergence.rate import Rate
from .convergence.sparsity import Sparsity
from .convergence.steps import StepsView as Steps
from .landscape.landscape import LandscapeView as Landscape
from .log.algorithm import Algorithm
from .log.event_log import EventLog
from .log.why_slow import WhySlow
from .model.learned_model import ModelView as Model
from .path.lam_path import Path
from .playground.playground import Playground
from .search.curvature_memory import Memory
from .search.direction_finding import DirectionView as DirectionFinding
from .search.line_search import LineSearch
from .shrinking.row_sparsity import RowSparsity
from .shrinking.shrinking import Shrinking
from .sweep.sweep_map import Sweep
from .trajectories.weight_trajectories import Trajectories

#: Views on tabs, by group.
VIEW_GROUPS: dict[str, tuple[type[View], ...]] = {
    "Progress": (Steps, PhaseTimes, Rate, WhySlow, Landscape, Record),
    "Inside the solver": (Shrinking, Memory, LineSearch, DirectionFinding, Trajectories, Bundle),
    "Model": (RowSparsity, Model, Accuracy, Path),
    "Compare": (Table, Race, RuleRace, Sweep, PastRuns),
    "Log": (EventLog, Algorithm),
}

#: Views on tabs by id, in their order; those of plug-ins are the last.
TABS: dict[str, type[View]] = {view.id: view for group in VIEW_GROUPS.values() for view in group}

#: Views above the tabs.
ABOVE_TABS: tuple[type[View], ...] = (Convergence, Sparsity)

#: Views that take the place of those above the tabs, the first that suits the problem.
REPLACEMENTS: list[type[ProblemView]] = [Playground]


def register(view: type[View]) -> type[View]:
    """Add a view to the tabs, after the others; usable as a decorator.

    A :class:`ProblemView` is added to those shown above the tabs. A class with the same module and qualified
    name is replaced. Raises ValueError if the id is taken.
    """
    known = TABS | {other.id: other for other in REPLACEMENTS}
    old = known.get(view.id, view)
    if (old.__module__, old.__qualname__) != (view.__module__, view.__qualname__):
        raise ValueError(f"{view.id} is registered already: give your view another id")
    if old is not view and old in REPLACEMENTS:
        REPLACEMENTS.remove(old)
    if not issubclass(view, ProblemView):
        TABS[view.id] = view
    elif view not in REPLACEMENTS:
        REPLACEMENTS.append(view)
    return view


def probes(problem: Problem | None = None) -> tuple[Probe, ...]:
    """Return the probes of all views, without duplicates; if a problem is given, of views that
    may show it."""
    instead = [view for view in REPLACEMENTS if problem is None or view.suits(problem)]
    asked = (probe for view in (*ABOVE_TABS, *instead, *TABS.values()) for probe in view.probes)
    return tuple(dict.fromkeys(asked))
