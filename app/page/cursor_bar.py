"""The bar at the bottom of the page, which moves the cursor through a run and marks its events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import param

from solverscope.app import ui
from solverscope.app.page.session import Session
from solverscope.app.page.tabs.branches import Branches
from solverscope.app.ui import run_styles
from solverscope.app.ui.batch import batch
from solverscope.app.ui.component import Component
from solverscope.app.views.base.drawn import Drawn
from solverscope.app.views.base.run_events import in_words, run_events
from solverscope.solvers import FIELDS

MOST_MARKS = 200
#: Texts while there is no run: for visitors who can start one, for followers of a lesson, and for those who
#: explore it alone.
STEERING_HINT = "Press Run, then move through its iterations with this bar."
FOLLOWING_HINT = "The teacher's cursor stands here once there are runs."
BROWSING_HINT = "Move through the iterations of the teacher's runs with this bar, once there are some."


class CursorBar(Component):
    """A slider over iterations with marks of events, and a menu of branches from the cursor.

    It handles the keys space, arrows, Home and End.
    """

    state = param.Dict(default={}, doc="where the cursor is, and of which run")
    offer = param.Dict(default={}, doc="names of the branches that can be started there, and a note on them")
    hint = param.String(default="", constant=True, doc="what is said while there is no run")
    led = param.Boolean(default=False, constant=True, doc="whether somebody else moves the cursor")
    marks = param.List(default=[], doc="[iteration, kind, text] each")

    _esm = ui.page_script("cursor_bar.js")
    _stylesheets: ClassVar[list[str]] = [ui.asset("component.css", "cursor_bar.css")]

    def __init__(self, session: Session, on_space: Any, branches: Branches | None = None) -> None:
        hint = STEERING_HINT if session.steers else FOLLOWING_HINT if session.led else BROWSING_HINT
        super().__init__(sizing_mode="stretch_width", led=session.led, hint=hint)
        self._session, self._on_space, self._branches = session, on_space, branches
        self._drawn = Drawn()
        session.cursor.param.watch(self._moved, ["run", "iteration", "follow"])

    def _moved(self, *events: param.parameterized.Event) -> None:
        if not self._session.cursor.keeping_up:
            self.update()

    def update(self) -> None:
        """Show the current position of the cursor."""
        cursor = self._session.cursor
        trace = cursor.run
        head = int(trace.last.get("iteration", 0)) if trace is not None else 0
        state = {"head": head, "iteration": min(cursor.iteration, head), "follow": cursor.follow}
        rows, until, _ = trace.since(None) if trace is not None else ({"iteration": ()}, None, False)
        if (row := cursor.row(rows)) is not None:
            state |= {
                "label": trace.info.label,
                "color": run_styles.color_and_dash(trace)[0],
                "text": said(rows, row),
            }
        offer = self._branches.offer() if self._branches is not None else {}
        self.param.update(state=state, offer=offer)
        if self._drawn.changed("marks", *((trace, until) if trace is not None else ())):
            self.marks = marks(rows) if trace is not None else []

    @batch()
    def receive(self, data: dict[str, Any]) -> None:
        cursor = self._session.cursor
        match data:
            case {"action": "space"}:
                self._on_space()
            case {"action": "branch", "name": str(name)} if self._branches is not None:
                self._branches.start(name)
            case {"action": "follow"}:
                cursor.follow = not cursor.follow
                self._session.tick()
            case {"action": "move", "iteration": int(iteration)} if cursor.run is not None:
                cursor.place(cursor.run, min(iteration, self.state["head"]))
            case {"action": "by", "by": int(by)} if cursor.run is not None:
                rows, _, _ = cursor.run.since(None)
                if (row := cursor.row(rows)) is not None:
                    iterations = rows["iteration"]
                    cursor.place(cursor.run, int(iterations[min(max(row + by, 0), len(iterations) - 1)]))


def said(rows: Mapping[str, np.ndarray], row: int) -> str:
    """Describe a recorded iterate in a line of text."""
    record = {name: column[row] for name, column in rows.items()}
    parts = [
        f"iteration {ui.number(int(record['iteration']))}",
        f"f {ui.number(float(record['objective']), 6)}",
    ]
    if FIELDS["nnz"].is_known(record["nnz"]):
        parts.append(f"{ui.number(int(record['nnz']))} non-zeros")
    if FIELDS["step"].is_known(record["step"]):
        trials = int(record["ls_trials"])
        parts.append(
            f"step {ui.number(float(record['step']), 3)}" + (f" after {trials} trials" if trials > 1 else "")
        )
    parts += [in_words(word) for word in record["events"]]
    return " · ".join(parts)


def marks(rows: Mapping[str, np.ndarray]) -> list[list[Any]]:
    """Return the marks of a run: changes of λ, starts of epochs, returned variables and failed steps.

    If there are too many, some of the last two kinds are omitted.
    """
    found = [list(event) for event in run_events(rows, notes=False)]
    if len(found) > MOST_MARKS:
        epochs = [mark for mark in found if mark[1] in ("turn", "epoch")][:MOST_MARKS]
        rest = [mark for mark in found if mark[1] not in ("turn", "epoch")]
        stride = max(len(rest) // max(MOST_MARKS - len(epochs), 1), 1)
        found = sorted(epochs + rest[::stride])
    return found
