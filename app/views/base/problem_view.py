"""The base class of views that replace the plots above the tabs for certain problems."""

from __future__ import annotations

from collections.abc import Callable

import param

from solverscope.app.views.base.view import View
from solverscope.solvers import Problem


class ProblemView(View):
    """Base class of views that draw a problem, even before there are runs on it, and then the runs.

    A subclass defines which problems it ``suits``: for these, the page shows it instead of the plots above
    the tabs. ``problem`` is the one shown; in a notebook it is that of the runs. ``on_option(name, text)``,
    if set, receives the value of an option of the data that a visitor selects in the view.
    """

    problem: Problem | None = param.Parameter(default=None, doc="what is drawn")
    on_option: Callable[[str, str], None] | None = param.Callable(default=None, doc="takes name and text")

    @classmethod
    def suits(cls, problem: Problem) -> bool:
        """Return whether the view is intended for a problem."""
        raise TypeError(f"{cls.__name__} does not define suits")

    def drawn_problem(self) -> Problem | None:
        """Return the problem to draw, or None if neither the page nor a run has one."""
        found = (trace.problem for trace in self.traces)
        return self.problem or next((p for p in found if p is not None and self.suits(p)), None)

    def has_content(self) -> bool:
        return self.drawn_problem() is not None
