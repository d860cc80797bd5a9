"""The runs side by side in numbers."""

from __future__ import annotations

import html
import io
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import panel as pn
import panel_material_ui as pmui
import param

from app import theme
from app.views.base import View
from app.views.plot import menu
from solvers import FIELDS, Trace, relative_gap
from solvers.runs.trace import save

GAPS = (1e-2, 1e-4, 1e-6)
#: Fields of the newest record, and digits shown of each.
COLUMNS = {"objective": 8, "violation": 3, "nnz": 4, "iteration": 4, "passes": 4, "cpu_seconds": 4}
#: What the rows may be ordered by, smallest first: name in the menu, number of a run.
ORDERS = {
    "start": ("Order of start", lambda trace: 0.0),
    "objective": ("Objective", lambda trace: float(trace.last["objective"])),
    "nnz": ("Non-zeros", lambda trace: float(trace.last["nnz"])),
    "iterations": ("Iterations", lambda trace: float(trace.last["iteration"])),
    "cpu": ("CPU seconds", lambda trace: float(trace.last["cpu_seconds"])),
    **{
        f"gap{gap:g}": (f"CPU to a gap of {gap:g}", lambda trace, gap=gap: seconds_to(trace, gap) or np.inf)
        for gap in GAPS
    },
}


class Table(View):
    """For each run where it stands: objective, sparsity, work, and CPU seconds to given gaps."""

    id = "summary"
    title = "Summary"
    hint = "Run solvers to compare them here in numbers."

    order: str = param.Selector(default="start", objects=list(ORDERS), doc="what the rows are ordered by")

    def build(self) -> None:
        names = {name: key for key, (name, _) in ORDERS.items()}
        save_all = pmui.FileDownload(
            callback=self._csv,
            filename="solverscope.csv",
            label="All iterates as CSV",
            size="small",
            margin=(4, 4),
        )
        self._body.append(pn.Row(menu("Order by", self.param.order, names, width=200), save_all, margin=0))
        self.param.watch(lambda *events: self.update(), "order")
        self._table = theme.html(sizing_mode="stretch_width", styles={"overflow-x": "auto"})
        self._body.append(self._table)

    def draw(self) -> None:
        heads = ["run", "status", *(FIELDS[name].title for name in COLUMNS)]
        heads += [f"CPU to a gap of {gap:g}" for gap in GAPS]
        started = [trace for trace in self.traces if len(trace)]
        rows = [_cells(trace) for trace in sorted(started, key=ORDERS[self.order][1])]
        text = as_html(heads, rows)
        if text != self._table.object:
            self._table.object = text

    def _csv(self) -> io.BytesIO:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "runs.csv"
            save(self.traces, path)
            return io.BytesIO(path.read_bytes())


def as_html(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of texts."""
    body = "".join(f"<tr>{_line('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{_line('th', heads)}</tr></thead><tbody>{body}</tbody></table>"


def _line(tag: str, cells: Sequence[str]) -> str:
    return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)


def _cells(trace: Trace) -> list[str]:
    last, result = trace.last, trace.result
    record = last | {"violation": result.get("violation")} if result else last
    return [
        trace.info["label"],
        trace.status,
        *(theme.cell(FIELDS[name], record[name], digits) for name, digits in COLUMNS.items()),
        *(theme.seconds(seconds_to(trace, gap)) for gap in GAPS),
    ]


def seconds_to(trace: Trace, gap: float) -> float | None:
    """Return the CPU seconds after which the run was within a relative gap of f*; None if f* is not known or
    it never was."""
    f_star = trace.info.get("f_star")
    if f_star is None:
        return None
    rows, _, _ = trace.since(None)
    reached = np.flatnonzero(relative_gap(rows["objective"], f_star) <= gap)
    return float(rows["cpu_seconds"][reached[0]]) if len(reached) else None
