"""The runs compared by numbers."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from solverscope.app.settings import wording
from solverscope.app.settings.columns import SUMMARY_TABLE, TABLE_GAPS, page_text, page_title, seconds_column
from solverscope.app.ui import run_styles
from solverscope.app.views.base.exports import CopyButtons, Value
from solverscope.app.views.base.sorted_table import SortedTable
from solverscope.app.views.base.view import View
from solverscope.solvers import Trace, relative_gap, segments
from solverscope.solvers.traces.trace import plain

#: Fields that are known most precisely once a run has ended.
AT_THE_END = ("violation", "dual_gap")
SUMMARY_HEADS = [page_title(name, column) for name, column in SUMMARY_TABLE.items()]


class Table(View):
    """A row per run: objective, proved gap, sparsity, work, and CPU seconds to given gaps.

    Headings sort the table, and it can be copied as text.
    """

    id = "summary"
    title = "Summary"
    hint = "Run solvers to compare their numbers here."

    def build(self) -> None:
        self._copy = CopyButtons()
        self.table = SortedTable()
        self._body.extend([self._copy, self.table])

    def draw(self) -> None:
        rows = [cells(trace) for trace in self.traces if len(trace)]
        self.table.show(SUMMARY_HEADS, [[text for _, text in row] for row in rows])
        self._copy.show(SUMMARY_HEADS, [[value for value, _ in row] for row in rows])


def as_html(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of strings as HTML."""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in heads)
    lines = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def cells(trace: Trace) -> list[tuple[Value, str]]:
    """Return the row of a run below ``SUMMARY_HEADS``: pairs of a value, None if unknown, and its text.

    A λ that was changed during the run is a string.
    """
    info = trace.info
    record = dict(trace.last)
    if trace.result:
        record |= {name: trace.result.get(name) for name in AT_THE_END}
    known = plain({name: record[name] for name in SUMMARY_TABLE if name in record})
    known |= {
        "label": f"{info.label} ({said})" if (said := kind(trace)) else info.label,
        "status": wording.of_ending(trace.status, trace.result),
        "lam": wording.of_lam(info.problem, info.lams) if info.lams else info.problem.get("lam"),
        **{seconds_column(gap): seconds_to(trace, gap) for gap in TABLE_GAPS},
    }
    return [(known[name], page_text(name, column, known[name])) for name, column in SUMMARY_TABLE.items()]


def kind(trace: Trace) -> str:
    """Return "ghost", "branch" or "ghost, branch" if a run is one; empty for other runs."""
    kinds = {"ghost": run_styles.style_of(trace).ghost, "branch": trace.info.origin is not None}
    return ", ".join(word for word, one in kinds.items() if one)


def seconds_to(trace: Trace, gap: float) -> float | None:
    """Return the CPU seconds until the run was within a relative gap of f*.

    Return None if f* is unknown, if the gap was not reached, or if it was reached before a branch began.
    After a change of λ, seconds are counted from the last change, with f* of the new λ.
    """
    here = segments(trace)[-1]
    if here.f_star is None:
        return None
    rows, _, _ = trace.since(None)
    near = relative_gap(rows["objective"], here.f_star) <= gap
    reached = np.flatnonzero(near & (rows["iteration"] >= here.first))
    if not len(reached) or (reached[0] == 0 and trace.info.origin is not None):
        return None
    return float(rows["cpu_seconds"][reached[0]]) - here.seconds[0]
