"""The scope of a notebook: views of the runs that a cell executes.

A notebook's cell computes in the thread that would draw. Therefore a :class:`Scope` is called between two
iterates, while the run's clock is stopped, and takes at most a tenth of the time. Drawings are sent at once
by :class:`.frames.Frames`; those that were not yet due are sent at the end of the cell.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import panel as pn

from solverscope.app.ui.cells import Cell
from solverscope.app.ui.frames import ONE_AT_A_TIME, kernel_cells
from solverscope.app.views.base.view import View
from solverscope.app.views.convergence.any_field import Record
from solverscope.app.views.convergence.convergence import Convergence
from solverscope.app.views.convergence.sparsity import Sparsity
from solverscope.solvers import FIELDS, Trace

#: Seconds from one drawing to the next, at least, and how many times longer than a drawing takes.
MIN_DRAW_SECONDS, DRAW_SPACING = 0.2, 10.0
#: Jupyter's server stops outputs of more than a million.
MAX_BYTES_A_SECOND = 300_000
#: Runs that are drawn together, at most: the newest.
MOST_TRACES = 24


class Scope(Cell):
    """Views of runs in a cell: call it with the trace of a run after each of its iterates and at the end.

    >>> scope = Scope()
    >>> scope                                                          # the last line of a cell
    >>> SparseLogistic("prox-qn", lam=0.01, scope=scope).fit(X, y)     # in a later one, and once more:
    >>> SparseLogistic("owl-qn", lam=0.01, scope=scope).fit(X, y)

    ``views`` are classes of :mod:`solverscope.app.views`, or views. By default they are those of the
    objective, the nonzeros and the runs' own fields, as far as the runs have these.
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
        self._undrawn = False
        self._cells = kernel_cells()
        if self._cells is not None:
            self._cells.after_each.add(self)

    def __call__(self, trace: Trace) -> None:
        """Draw new iterates of a run if an update is due; the first and the last are drawn by the end of the
        cell."""
        with ONE_AT_A_TIME:
            new = not any(trace is known for known in self.traces)
            if new:
                self.traces = [*self.traces[1 - MOST_TRACES :], trace]
            self._undrawn = True
            executing = self._cells is not None and self._cells.executing
            if self._clock() >= self._due or ((new or trace.result) and not executing):
                self._draw()

    def finish_cell(self) -> None:
        with ONE_AT_A_TIME:
            if self._undrawn:
                self._draw()
            super().finish_cell()

    def _draw(self) -> None:
        """Draw the runs, and send the drawing to the notebook outputs that show it."""
        first, began = not self._due > 0.0, self._clock()
        with self.sending():
            self._undrawn = False
            if self._usual:
                self._choose_views()
            for view in self.views:
                view.show(self.traces)
        now = self._clock()
        spacing = 0.0 if first else DRAW_SPACING * (now - began)  # plots are made but once
        self._due = now + max(MIN_DRAW_SECONDS, spacing, self._sent_size / MAX_BYTES_A_SECOND)

    def __repr__(self) -> str:
        runs = "; ".join(trace.info.sentence(trace.status, trace.last) for trace in self.traces)
        return f"<Scope of {runs or 'no runs yet'}; the last line of a notebook's cell shows it>"

    def _choose_views(self) -> None:
        """Show the default views of the fields that the runs report, and one for the first of their own
        fields."""
        own = [name for trace in self.traces for name in trace.fields if name not in FIELDS]
        if own and not any(isinstance(view, Record) for view in self.views):
            self.views.append(Record(self.traces, field=own[0]))
            self._root.append(self.views[-1])
        for view, name in zip(self.views, ("objective", "nnz"), strict=False):
            field = FIELDS[name]
            told = any(field.is_known(value) for one in self.traces for value in one.column(name)[:1])
            view.visible = told or not own

    def watch(self, estimator: Any) -> Any:
        """Draw the fits of a scikit-learn estimator, also within a pipeline or a search, and return the
        estimator.

        >>> scope.watch(GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0, 10.0]})).fit(X, y)

        Estimators of Solverscope are drawn by their ``scope``, and others by scikit-learn's callbacks. Raises
        TypeError if the estimator has neither.
        """
        from solverscope.solvers.estimators import FitWatch  # scikit-learn takes a second

        own = {name: self for name in estimator.get_params() if name.rpartition("__")[2] == "scope"}
        if own:
            return estimator.set_params(**own)
        if not hasattr(estimator, "set_callbacks"):
            raise TypeError(
                f"{type(estimator).__name__} takes no callbacks: scikit-learn's LogisticRegression does, and "
                "pipelines and searches do for it"
            )
        return estimator.set_callbacks(*getattr(estimator, "_skl_callbacks", ()), FitWatch(self))

    def __deepcopy__(self, memo: object) -> Scope:
        """Return the scope itself, so that copies of an estimator are drawn together."""
        return self

    def __panel__(self) -> pn.viewable.Viewable:
        return self._root


def live() -> Scope:
    """Return a new scope, which is displayed below the active cell if this is a notebook."""
    scope = Scope()
    if "IPython" in sys.modules:
        from IPython.display import display  # pyright: ignore[reportMissingImports] (there in a notebook)

        display(scope)
    return scope
