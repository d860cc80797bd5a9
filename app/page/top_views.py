"""The views above the tabs: two plots of every run, or a view made for the current problem."""

from __future__ import annotations

from collections.abc import Callable

from solverscope.app import ui
from solverscope.app.page.session import Session
from solverscope.app.ui.batch import batch
from solverscope.app.views import REPLACEMENTS, Convergence, ProblemView, Sparsity, View
from solverscope.solvers import Problem


class TopViews:
    """The two plots above the tabs, or instead the first view that suits the problem, which is built on
    demand.

    ``on_option(name, text)`` receives the value of an option of the data that a visitor selects in such a
    view.
    """

    def __init__(self, session: Session, on_option: Callable[[str, str], None]) -> None:
        self._session, self._on_option = session, on_option
        self.convergence = Convergence((), session.cursor)
        self.sparsity = Sparsity((), session.cursor, beside=self.convergence)
        self._plots = ui.column(self.convergence, self.sparsity, kind="plots")
        self._made: dict[type[ProblemView], ProblemView] = {}
        self.view = ui.column(self._plots, kind="standing")
        for view in (self.convergence, self.sparsity):
            session.show_in(view)

    @property
    def shown(self) -> list[View]:
        """Return the views that are currently shown."""
        return [view for view in (self.convergence, self.sparsity, *self._made.values()) if view.visible]

    def show(self, problem: Problem | None) -> None:
        """Show the views that suit a problem; change nothing if the problem is None."""
        if problem is None:
            return
        kind = next((kind for kind in REPLACEMENTS if kind.suits(problem)), None)
        with batch(models=kind is not None and kind not in self._made):
            if kind is not None and kind not in self._made:
                self._make(kind, problem)
            elif kind is not None:
                self._made[kind].problem = problem
            for part in (self.convergence, self.sparsity, self._plots):
                part.visible = kind is None
            for other, view in self._made.items():
                view.visible = other is kind

    def _make(self, kind: type[ProblemView], problem: Problem) -> None:
        """Build a view, and add it to the page after its first drawing.

        If models changed in the message that adds them, Panel would load their style sheets from another
        host.
        """
        view = kind((), self._session.cursor, problem=problem, on_option=self._on_option)
        self._made[kind] = view
        self._session.show_in(view)
        self.view.append(view)
