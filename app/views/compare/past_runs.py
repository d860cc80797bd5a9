"""The list of archived runs, and the comparison of two of them."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import param

from solverscope.app import ui
from solverscope.app.settings import wording
from solverscope.app.settings.own_file_names import named
from solverscope.app.ui.component import Component
from solverscope.app.ui.material_ui import pmui
from solverscope.app.views.base.exports import ShownTable
from solverscope.app.views.base.view import View
from solverscope.app.views.compare.summary import as_html
from solverscope.solvers import Trace

#: Fields of a row that a table shows, and their headings.
LISTED = {"title": "run", "data": "data", "lam": "λ", "iterations": "iterations"}
LISTED |= {"objective": "objective", "state": "state"}


class RunList(Component):
    """A list of runs that can be sorted, filtered, selected, named, pinned, shown and deleted.

    ``assets/runs.js`` draws it from dictionaries, and sends back the visitor's actions.
    """

    entries = param.List(default=[], doc="one dictionary a run: its id, texts, and whether it is shown")
    chosen = param.List(default=[], doc="ids of the lines that are chosen")
    notice = param.String(default="", doc="what is said above the lines")
    undo = param.Boolean(default=False, doc="whether what was deleted can be put back")

    _esm = ui.script("tables.js", "runs.js")
    _stylesheets: ClassVar[list[str]] = [ui.asset("component.css", "runs.css", "tables.css")]


class PastRuns(View):
    """Archived runs of this visit and earlier ones.

    The page fills the list with ``say``, and executes the actions that ``on_act`` receives. In a notebook the
    list contains the given runs.
    """

    id = "runs"
    title = "Runs"
    hint = "Past runs are listed here after the first one."
    followed = False

    def __init__(
        self,
        *shown: Any,
        on_act: Callable[[dict[str, Any]], None] | None = None,
        **params: Any,
    ) -> None:
        self._given = on_act is None
        self.list = RunList(sizing_mode="stretch_width")
        self.list.on_message = on_act
        self._first = ui.html(sizing_mode="stretch_width", css_classes=["differences"])
        self._differences = ui.html(sizing_mode="stretch_width", css_classes=["differences"])
        self._iteration = 0
        self.there = pmui.Button(
            label="Show this iterate", icon="my_location", variant="text", size="small", visible=False
        )
        self.there.on_click(self._ask_to_go)
        super().__init__(*shown, **params)

    def build(self) -> None:
        self._compared = ui.column(self._first, self.there, self._differences, kind="narrow early")
        self._compared.visible = False
        self._body.append(ui.column(ui.column(self.list, kind="broad"), self._compared, kind="across"))

    def has_content(self) -> bool:
        return super().has_content() if self._given else bool(self.list.entries or self.list.notice)

    def draw(self) -> None:
        if self._given:
            started = [trace for trace in self.traces if len(trace)]
            self.list.entries = [_line_of(k, trace) for k, trace in enumerate(started)]

    def tables(self) -> list[ShownTable]:
        rows = [[entry[name] for name in LISTED] for entry in self.list.entries]
        return [ShownTable(self.title, list(LISTED.values()), rows)]

    def say(self, entries: Sequence[dict[str, Any]], chosen: Sequence[int], notice: str, undo: bool) -> None:
        """Show a list below a message."""
        self.list.param.update(entries=list(entries), chosen=list(chosen), notice=notice, undo=undo)
        self.update()

    def compare(
        self,
        heads: Sequence[str] = (),
        rows: Sequence[Sequence[str]] = (),
        said: str = "",
        iteration: int | None = None,
    ) -> None:
        """Show a sentence on the first difference, above a table of the others, or nothing if ``heads`` is
        empty.

        ``iteration`` is that of the first difference, or None if the cursor cannot go there.
        """
        self._first.object = f"<h2>Differences</h2><p>{html.escape(ui.capital(said))}.</p>" if heads else ""
        self._differences.object = as_html(heads, rows) if rows else ""
        self._iteration = iteration or 0
        self.there.visible = iteration is not None
        self._compared.visible = bool(heads)

    def _ask_to_go(self, event: object) -> None:
        if self.list.on_message is not None:
            self.list.on_message({"action": "go", "iteration": self._iteration})


def line(
    id: int,
    title: str,
    problem: Mapping[str, Any],
    iterations: int | None,
    objective: float | None,
    state: str,
    changes: Sequence[Mapping[str, Any]] = (),
    **more: Any,
) -> dict[str, Any]:
    """Return an entry of the list; ``changes`` are changes of λ, and ``more`` fields that only archived runs
    have."""
    return {
        "id": id,
        "title": title,
        "data": named(str(problem.get("dataset", ""))),
        "lam": wording.of_lam(problem, changes, "from") or ui.number(None),
        "iterations": ui.number(iterations),
        "objective": ui.number(objective, 8),
        "state": state,
        **{"solver": "", "options": "", "message": "", "setting": "", "name": "", "started": 0.0},
        **{"alive": False, "pinned": False, "shown": False, "kept": False},
        **more,
    }


def _line_of(k: int, trace: Trace) -> dict[str, Any]:
    last, info = trace.last, trace.info
    ends = int(last["iteration"]), float(last["objective"])
    state = wording.of_ending(trace.status, trace.result)
    return line(k, info.label, info.problem, *ends, state, info.lams, solver=info.solver)
