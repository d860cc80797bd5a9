"""The cursor: the run and the iteration that all views show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import param

from solverscope.app.ui.batch import batch
from solverscope.solvers import Trace

#: A tag of what marks the cursor in a figure.
CURSOR_TAG = "cursor"


class Cursor(param.Parameterized):
    """The cursor: a run and an iteration; if ``follow`` is true, it stays at the newest iterate."""

    run: Trace | None = param.ClassSelector(class_=Trace, default=None, allow_None=True, doc="the chosen run")
    iteration: int = param.Integer(default=0, bounds=(0, None), doc="the chosen iteration")
    follow: bool = param.Boolean(default=True, doc="stay at the newest iterate")

    #: True while ``keep`` moves the cursor: its caller brings the views up to date afterwards.
    keeping_up = False
    #: Whether the user has selected the run, so that it stays selected.
    chosen = False

    def reset(self) -> None:
        """Follow the newest iterate of the next first run."""
        self.chosen = False
        self.follow = True

    @batch()
    def choose(self, run: Trace, *, follow: bool) -> None:
        """Move the cursor to a run, and to its newest iterate if it is to ``follow`` the run."""
        self.chosen = True
        head = {"iteration": int(last["iteration"])} if follow and (last := run.last) else {}
        self.param.update(run=run, follow=follow, **head)

    @batch()
    def place(self, run: Trace, iteration: int) -> None:
        """Move the cursor to an iteration of a run, and stop following."""
        self.chosen = True
        self.param.update(run=run, iteration=max(int(iteration), 0), follow=False)

    def keep_up(self, traces: Sequence[Trace]) -> None:
        """Move to the first run, unless a run selected by the user still exists; while following, move to its
        newest iterate."""
        stays = self.chosen and self.run in traces
        run = self.run if stays else next(iter(traces), None)
        changes: dict[str, object] = {} if run is self.run else {"run": run}
        if run is not None and self.follow and (last := run.last):
            changes["iteration"] = int(last["iteration"])
        if changes:
            self.keep(**changes)

    def keep(self, **changes: object) -> None:
        """Change parameters with ``keeping_up`` set, so that views do not update themselves."""
        self.keeping_up = True
        try:
            self.param.update(**changes)
        finally:
            self.keeping_up = False

    def row(self, rows: Mapping[str, np.ndarray]) -> int | None:
        """Return the index of the row nearest to the cursor among rows of its run, or None if there are none.

        The index is valid for these rows only, as an active run may add and drop rows at any time.
        """
        iterations = rows["iteration"]
        if not len(iterations):
            return None
        between = 0.5 * (iterations[1:] + iterations[:-1])
        return int(np.searchsorted(between, self.iteration, side="right"))
