"""The views: each draws a list of traces at a cursor, live or not, in the page or alone in a notebook.

>>> from app import views
>>> views.Convergence(trace)

A new view is a new file with a subclass of :class:`View`, and a line here.
"""

from app.views.cursor import Cursor

from .accuracy import Accuracy
from .base import View
from .convergence import Convergence
from .line_search import LineSearch
from .memory import Memory
from .path import Path
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

__all__ = [
    "TABS",
    "Accuracy",
    "Convergence",
    "Cursor",
    "LineSearch",
    "Memory",
    "Path",
    "Rate",
    "Record",
    "RowSparsity",
    "Shrinking",
    "Sparsity",
    "Steps",
    "Table",
    "View",
]
