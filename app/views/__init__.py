"""The views: each draws a list of traces at a cursor, live or not, in the page or alone in a notebook.

>>> from app import views
>>> views.Convergence(trace)

A new view is a new file with a subclass of :class:`View`, and a line here; a plug-in registers its own.
"""

from app.views.cursor import Cursor
from solvers import Probe

from .accuracy import Accuracy
from .base import View
from .convergence import Convergence
from .line_search import LineSearch
from .memory import Memory
from .path import Path
from .probe_view import ProbeView
from .rate import Rate
from .record import Record
from .rows import RowSparsity
from .shrinking import Shrinking
from .sparsity import Sparsity
from .steps import Steps
from .table import Table

#: Views on tabs, in their order.
TABS: dict[str, type[View]] = {
    view.id: view
    for view in (Shrinking, Memory, LineSearch, Steps, Rate, RowSparsity, Path, Record, Accuracy, Table)
}

#: Views above the tabs.
STANDING: tuple[type[View], ...] = (Convergence, Sparsity)


def register(view: type[View]) -> type[View]:
    """Add a view to the tabs, after the others (usable as a decorator); ValueError if its id is taken."""
    if TABS.get(view.id, view) is not view:
        raise ValueError(f"{view.id} is registered already: give your view another id")
    TABS[view.id] = view
    return view


def probes() -> tuple[Probe, ...]:
    """Return all probes that the views ask for, each once."""
    return tuple(dict.fromkeys(probe for view in (*STANDING, *TABS.values()) for probe in view.probes))


__all__ = [
    "TABS",
    "Accuracy",
    "Convergence",
    "Cursor",
    "LineSearch",
    "Memory",
    "Path",
    "ProbeView",
    "Rate",
    "Record",
    "RowSparsity",
    "Shrinking",
    "Sparsity",
    "Steps",
    "Table",
    "View",
    "probes",
    "register",
]
