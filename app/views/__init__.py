"""The views: each draws a list of traces at a cursor, live or not, in the page or alone in a notebook.

>>> from app import views
>>> views.Convergence(trace)

A new view is a new file with a subclass of :class:`View`, and a line here.
"""

from app.cursor import Cursor

from .base import View
from .convergence import Convergence
from .sparsity import Sparsity

#: Views on tabs, in their order.
TABS: dict[str, type[View]] = {view.id: view for view in ()}

__all__ = ["TABS", "Convergence", "Cursor", "Sparsity", "View"]
