"""Names for notebooks in addition to the views: live plots of the runs that a cell executes."""

from __future__ import annotations

from solverscope.app.loops.client import solverscope_run
from solverscope.app.ui.cells import extension
from solverscope.app.views.scope import Scope, live

__all__ = ["Scope", "extension", "live", "solverscope_run"]
