"""The scope of a notebook: views of the runs that a cell executes.

A notebook's cell computes in the thread that would draw. So a :class:`Scope` is called between two iterates,
off the clock of the run, and takes at most a tenth of the time. Its updates are sent once Panel's connection
is open, at the latest at the end of the cell.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

import panel as pn

from solverscope.app.ui.cells import Cell
from solverscope.app.views.base.view import View
from solverscope.app.views.convergence.any_field import Record
from solverscope.app.views.convergence.convergence import Convergence
from solverscope.app.views.convergence.sparsity import Sparsity
from solverscope.solvers import FIELDS, Trace

#: Seconds from one drawing to the next, at least, and how many times longer than a drawing takes.
MIN_DRAW_SECONDS, DRAW_SPACING = 0.2, 10.0


class Scope(Cell):
    """Views of runs in a cell: call it with the trace of a run after each of its iterates and at the end.

    >>> scope = Scope()
    >>> scope                                                          # the last line of a cell
    >>> SparseLogistic("prox-qn", lam=0.01, scope=scope).fit(X, y)     # in a later one, and once more:
    >>> SparseLogistic("owl-qn", lam=0.01, scope=scope).fit(X, y)

    ``views`` are classes of :mod:`solverscope.app.views`, or views that are made already. By default they are
    those of the objective, of the non-zeros and of the runs' own fields, as far as the runs have these.
    """

    def __init__(
        self,
        views: Sequence[type[View] | View] = (),
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__()
        made = [view() if isinstance(view, type) else view for view in views]
        self._usual = not made
        self.views = made or [Convergence(measure="objective"), Sparsity()]
        self.traces: list[Trace] = []
        self._clock, self._due = clock, -float("inf")
        self._root = pn.Column(*self.views)

    def __call__(self, trace: Trace) -> None:
        """Draw new iterates of a run, if an update is due or the run is new or over."""
        new = not any(trace is known for known in self.traces)
        if new:
            self.traces.append(trace)
        if new or trace.result or self._clock() >= self._due:
            began = self._clock()
            if self._usual:
                self._choose_views(trace)
            for view in self.views:
                view.show(self.traces)
            pn.io.push_notebook(self._root)
            now = self._clock()
            self._due = now + max(MIN_DRAW_SECONDS, DRAW_SPACING * (now - began))

    def __repr__(self) -> str:
        runs = "; ".join(trace.info.sentence(trace.status, trace.last) for trace in self.traces)
        return f"<Scope of {runs or 'no runs yet'}; the last line of a notebook's cell shows it>"

    def _choose_views(self, trace: Trace) -> None:
        """Show the usual views of what the runs have told, and one for the first of their own fields."""
        own = [name for name in trace.fields if name not in FIELDS]
        if own and not any(isinstance(view, Record) for view in self.views):
            self.views.append(Record(field=own[0]))
            self._root.append(self.views[-1])
        for view, name in zip(self.views, ("objective", "nnz"), strict=False):
            field = FIELDS[name]
            told = any(field.is_known(value) for one in self.traces for value in one.column(name)[:1])
            view.visible = told or not own

    def __deepcopy__(self, memo: object) -> Scope:
        """Return the same scope: copies of an estimator are drawn together."""
        return self

    def __panel__(self) -> pn.viewable.Viewable:
        return self._root


def live() -> Scope:
    """Return a new scope, shown below the cell that is being executed, if there is a notebook."""
    scope = Scope()
    if "IPython" in sys.modules:
        from IPython.display import display  # pyright: ignore[reportMissingImports] (there in a notebook)

        display(scope)
    return scope
