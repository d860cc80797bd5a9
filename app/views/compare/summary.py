"""The runs side by side in numbers."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from solverscope.app import looks, theme
from solverscope.app.settings import words
from solverscope.app.views.base.exports import CopyButtons, Value
from solverscope.app.views.base.sorted_table import SortedTable
from solverscope.app.views.base.view import View
from solverscope.solvers import FIELDS, Trace, relative_gap, segments
from solverscope.solvers.runs.trace import plain

GAPS = (1e-2, 1e-4, 1e-6)
#: Fields of the newest record, and digits shown of each.
COLUMNS = {"objective": 8, "violation": 3, "dual_gap": 3, "nnz": 4}
COLUMNS |= {"iteration": 4, "passes": 4, "cpu_seconds": 4}
#: Fields that are known best once a run has ended.
AT_THE_END = ("violation", "dual_gap")
HEADS = [
    *("run", "status", "λ", *(FIELDS[name].title for name in COLUMNS)),
    *(f"CPU to a gap of {theme.number(gap)}" for gap in GAPS),
]


class Table(View):
    """For each run where it stands: objective, how far it is proved to be from optimal, sparsity, work, and
    CPU seconds to given gaps; sorted by a click on a heading, and to be copied as text."""

    id = "summary"
    title = "Summary"
    hint = "Run solvers to compare their numbers here."

    def build(self) -> None:
        self._copy = CopyButtons()
        self.table = SortedTable()
        self._body.extend([self._copy, self.table])

    def draw(self) -> None:
        rows = [cells(trace) for trace in self.traces if len(trace)]
        self.table.show(HEADS, [[text for _, text in row] for row in rows])
        self._copy.show(HEADS, [[value for value, _ in row] for row in rows])


def as_html(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of texts."""
    body = "".join(f"<tr>{_line('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{_line('th', heads)}</tr></thead><tbody>{body}</tbody></table>"


def _line(tag: str, cells: Sequence[str]) -> str:
    return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)


def cells(trace: Trace) -> list[tuple[Value, str]]:
    """Return the row of a run, below ``HEADS``: each value, None where it is not known, and how it is
    written. λ that was changed on the way is a text."""
    info = trace.info
    record = dict(trace.last)
    if trace.result:
        record |= {name: trace.result.get(name) for name in AT_THE_END}
    known = plain({name: record[name] for name in COLUMNS})
    label = f"{info.label} ({said})" if (said := kind(trace)) else info.label
    lam = words.of_lam(info.problem, info.lams) if info.lams else info.problem.get("lam")
    status, times = words.of_ending(trace.status, trace.result), [seconds_to(trace, gap) for gap in GAPS]
    return [
        *((label, label), (status, status)),
        (lam, lam if isinstance(lam, str) else theme.number(lam, 6)),
        *((value, theme.cell(FIELDS[name], value, COLUMNS[name])) for name, value in known.items()),
        *((value, theme.seconds(value)) for value in times),
    ]


def kind(trace: Trace) -> str:
    """Tell a ghost and a branch from other runs, in a word each; empty for these."""
    kinds = {"ghost": looks.look(trace).ghost, "branch": trace.info.origin is not None}
    return ", ".join(word for word, one in kinds.items() if one)


def seconds_to(trace: Trace, gap: float) -> float | None:
    """Return the CPU seconds after which the run was within a relative gap of f*; None if f* is not known, it
    never was, or its old run had been before a branch began. Of a run whose λ was changed they are those from
    the last change on, and f* is that of the λ since then."""
    here = segments(trace)[-1]
    if here.f_star is None:
        return None
    rows, _, _ = trace.since(None)
    near = relative_gap(rows["objective"], here.f_star) <= gap
    reached = np.flatnonzero(near & (rows["iteration"] >= here.first))
    if not len(reached) or (reached[0] == 0 and trace.info.origin is not None):
        return None
    return float(rows["cpu_seconds"][reached[0]]) - here.seconds[0]
