"""The runs side by side in numbers."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from app import theme
from app.views.base import View
from solvers import Trace, relative_gap

GAPS = (1e-2, 1e-4, 1e-6)


class Table(View):
    """For each run where it stands: objective, sparsity, work, and CPU seconds to given gaps."""

    id = "summary"
    title = "Summary"
    hint = "Run solvers to compare them here in numbers."

    def build(self) -> None:
        self._table = theme.html(sizing_mode="stretch_width", styles={"overflow-x": "auto"})
        self._body.append(self._table)

    def draw(self) -> None:
        heads = ["run", "status", "objective", "violation", "non-zeros", "iterations", "passes", "CPU"]
        heads += [f"CPU to a gap of {gap:g}" for gap in GAPS]
        rows = [_cells(trace) for trace in self.traces if len(trace)]
        text = as_html(heads, rows)
        if text != self._table.object:
            self._table.object = text


def as_html(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of texts."""
    body = "".join(f"<tr>{_line('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{_line('th', heads)}</tr></thead><tbody>{body}</tbody></table>"


def _line(tag: str, cells: Sequence[str]) -> str:
    return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)


def _cells(trace: Trace) -> list[str]:
    last, result = trace.last, trace.result
    violation = result.get("violation") if result else float(last["violation"])
    return [
        trace.info["label"],
        trace.status,
        theme.number(float(last["objective"]), 8),
        theme.number(violation, 3),
        theme.number(int(last["nnz"])) if last["nnz"] >= 0 else "–",
        theme.number(int(last["iteration"])),
        theme.number(float(last["passes"]), 4),
        theme.seconds(float(last["cpu_seconds"])),
        *(theme.seconds(seconds_to(trace, gap)) for gap in GAPS),
    ]


def seconds_to(trace: Trace, gap: float) -> float | None:
    """CPU seconds after which the run was within a relative gap of f*; None if f* is not known or it never
    was."""
    f_star = trace.info.get("f_star")
    if f_star is None:
        return None
    reached = np.flatnonzero(relative_gap(trace.objective, f_star) <= gap)
    return float(trace.cpu_seconds[reached[0]]) if len(reached) else None
