"""The views: each draws a list of traces at a cursor, live or not, in the page or alone in a notebook.

>>> from app import views
>>> views.Convergence(trace)

A new view is a new file with a subclass of :class:`View`, and a line here; a plug-in registers its own.
"""

from app.views.cursor import Cursor
from solvers import Probe, Problem

from .accuracy import Accuracy
from .algorithm import Algorithm
from .base import View
from .bundle import Bundle
from .convergence import Convergence
from .event_log import EventLog
from .line_search import LineSearch
from .memory import Memory
from .model import Model
from .past_runs import PastRuns
from .path import Path
from .phase_times import PhaseTimes
from .playground import Playground
from .probe_view import ProbeView
from .problem_view import ProblemView
from .race import Race
from .rate import Rate
from .record import Record
from .rows import RowSparsity
from .shrinking import Shrinking
from .sparsity import Sparsity
from .steps import Steps
from .sweep import Sweep
from .table import Table
from .trajectories import Trajectories

#: Views on tabs, in their order.
TABS: dict[str, type[View]] = {
    view.id: view
    for view in (
        Shrinking,
        Memory,
        LineSearch,
        Trajectories,
        Bundle,
        Steps,
        PhaseTimes,
        Rate,
        RowSparsity,
        Model,
        Path,
        Sweep,
        Record,
        EventLog,
        Algorithm,
        Accuracy,
        Table,
        Race,
        PastRuns,
    )
}

#: Views above the tabs.
STANDING: tuple[type[View], ...] = (Convergence, Sparsity)

#: Views that take the place of those above the tabs, the first that suits the problem.
INSTEAD: list[type[ProblemView]] = [Playground]


def register(view: type[View]) -> type[View]:
    """Add a view to the tabs, after the others, or a :class:`ProblemView` to those that stand above the tabs
    for problems of their own (usable as a decorator); ValueError if its id is taken."""
    known = TABS | {other.id: other for other in INSTEAD}
    if known.get(view.id, view) is not view:
        raise ValueError(f"{view.id} is registered already: give your view another id")
    if not issubclass(view, ProblemView):
        TABS[view.id] = view
    elif view not in INSTEAD:
        INSTEAD.append(view)
    return view


def probes(problem: Problem | None = None) -> tuple[Probe, ...]:
    """Return all probes that the views ask for, each once; without those of views that are made for other
    problems, if a problem is given."""
    instead = [view for view in INSTEAD if problem is None or view.suits(problem)]
    asked = (probe for view in (*STANDING, *instead, *TABS.values()) for probe in view.probes)
    return tuple(dict.fromkeys(asked))


__all__ = [
    "INSTEAD",
    "TABS",
    "Accuracy",
    "Algorithm",
    "Bundle",
    "Convergence",
    "Cursor",
    "EventLog",
    "LineSearch",
    "Memory",
    "Model",
    "PastRuns",
    "Path",
    "PhaseTimes",
    "Playground",
    "ProbeView",
    "ProblemView",
    "Race",
    "Rate",
    "Record",
    "RowSparsity",
    "Shrinking",
    "Sparsity",
    "Steps",
    "Sweep",
    "Table",
    "Trajectories",
    "View",
    "probes",
    "register",
]
