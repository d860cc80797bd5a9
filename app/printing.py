"""Lists and results as tables for people, on standard output."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

#: Columns of a table that goes to a file or a pipe.
WIDTH = 160


def _print(headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str] = ()) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in headings:
        right = heading in numbers
        table.add_column(heading, justify="right" if right else "left", no_wrap=right or heading == "id")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(width=None if sys.stdout.isatty() else WIDTH).print(table)


def show_entries(kind: str, entries: Sequence[dict[str, Any]]) -> None:
    """A list of :func:`app.listing.entries`."""
    size = ("size",) if kind == "datasets" else ()
    headings = ("id", "name", "summary", *size, "paper", "options", "available")
    rows = []
    for entry in entries:
        options = ", ".join(f"{o['name']}={o['default']}" for o in entry["options"])
        available = "yes" if entry["available"] else f"no: {entry['reason']}"
        texts = [entry[name] for name in ("id", "name", "summary", *size, "paper")]
        rows.append((*texts, options, available))
    _print(headings, rows)


class Results:
    """Collects the records of runs and shows what came out, one line a run."""

    def __init__(self) -> None:
        self._metric = "metric"
        self._f_star: float | None = None
        self._results: list[dict[str, Any]] = []

    def take(self, record: dict[str, Any]) -> None:
        """Note one record of the run stream."""
        if record["type"] == "reference":
            self._f_star = record["f_star"]
        elif record["type"] == "result":
            self._metric = record["metric_name"]
            self._results.append(record)

    def show(self) -> None:
        """Print the table, if anything ran."""
        if not self._results:
            return
        numbers = ("objective", "gap", "violation", "non-zeros", "iterations", "passes", "CPU s")
        headings = ("run", "status", *numbers, f"test {self._metric}")
        _print(headings, [self._row(r) for r in self._results], headings[2:])

    def _row(self, r: dict[str, Any]) -> tuple[str, ...]:
        from solvers import relative_gap

        known = self._f_star is not None and r["objective"] is not None
        gap = relative_gap(r["objective"], self._f_star) if known else None
        return (
            r["label"],
            r["status"],
            _number(r["objective"], ".10g"),
            _number(gap, ".2e"),
            _number(r["violation"], ".2e"),
            _number(r["nnz"], ","),
            f"{r['iterations']:,}",
            f"{r['passes']:,.1f}",
            f"{r['cpu_seconds']:.3f}",
            _number(r["test_metric"], ".4f"),
        )


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
