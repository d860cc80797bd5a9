"""Lists and results as tables for people, on standard output."""

from __future__ import annotations

import io
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from .streams import put

#: Heading and format of the columns of a table, by the field of a record that stands there.
Columns = Mapping[str, tuple[str, str]]
#: Letters of a line that goes to a file or a pipe.
WIDTH = 160


def show_table(columns: Columns, records: Sequence[Mapping[str, Any]], title: str | None = None) -> None:
    """Print a line for each record; columns that have a format, as numbers do, stand to the right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # rich itself would end the process when the reader of a pipe has closed it
    terminal, text = sys.stdout.isatty(), io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=None if terminal else WIDTH)
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for heading, form in columns.values():
        table.add_column(heading, justify="right" if form else "left", no_wrap=bool(form) or heading == "id")
    for record in records:
        table.add_row(*map(Text, cells(columns, record)))
    console.print(table)
    put(text.getvalue())


def cells(columns: Columns, record: Mapping[str, Any]) -> list[str]:
    """Return the texts of a line."""
    values = ((record.get(field), form) for field, (_, form) in columns.items())
    return ["–" if value is None else format(value, form) for value, form in values]


def _named(*fields: str) -> Columns:
    """Return columns of texts that are headed by the names of their fields."""
    return {field: (field, "") for field in fields}


def show_entries(kind: str, entries: Sequence[dict[str, Any]], why: bool = False) -> None:
    """Print a list of :func:`solverscope.app.command.listing.entries`, a line each, as long as the terminal
    is wide; with ``why`` the reasons of those that are not available below it."""
    width = shutil.get_terminal_size((WIDTH, 0)).columns if sys.stdout.isatty() else WIDTH
    rows = [
        {
            **entry,
            "here": "yes" if entry["available"] else "no",
            "options": ", ".join(o["name"] for o in entry["options"]),
            "size": entry.get("size") or "",
        }
        for entry in entries
    ]
    heads = [head for head in ("id", "here", "size", "summary", "options") if any(row[head] for row in rows)]
    if all(entry["available"] for entry in entries):
        heads.remove("here")
    table = [dict(zip(heads, heads, strict=True)), *rows]
    widths = {head: max(len(row[head]) for row in table) for head in heads}
    if "size" in heads:
        widths["size"] = min(widths["size"], width // 4)
    free = width - sum(widths[head] + 2 for head in heads if head not in ("summary", "options"))
    if "options" in heads:  # a third of the room, or what the summary leaves
        widths["options"] = min(widths["options"], max(free // 3, free - widths["summary"] - 2))
        free -= widths["options"] + 2
    widths["summary"] = min(widths["summary"], max(free, 20))
    lines = ["  ".join(_shortened(row[head], widths[head]) for head in heads).rstrip() for row in table]
    if any(not entry["available"] for entry in entries):
        missing = [f"{entry['id']}: {entry['reason']}" for entry in entries if not entry["available"]]
        hint = f"why {len(missing)} are not here: solverscope list {kind} --why"
        lines += ["", *(missing if why else [hint])]
    put("".join(f"{line}\n" for line in lines))


def _shortened(text: str, width: int) -> str:
    """Return a text of this many letters, with … for what is cut off."""
    return text.ljust(width) if len(text) <= width else f"{text[: width - 1]}…"


def show_runs(entries: Sequence[dict[str, Any]]) -> None:
    """Print a list of :func:`solverscope.app.command.runs.entries`; a sentence if there are none."""
    if not entries:
        put("no runs are kept yet: those of a page are, and `solverscope runs import FILE` adds others\n")
        return
    shown = []
    for entry in entries:
        options = ", ".join(f"{name}={value}" for name, value in entry["options"].items())
        shown.append({**entry, "problem": f"{entry['loss']} with {entry['penalty']}", "options": options})
    _show(HISTORY, shown)
    put("".join(f"{e['damage']}\n" for e in entries if "damage" in e))


#: Columns of what comes out of runs.
COLUMNS = {
    **_named("id", "run", "solver", "options", "data", "status", "state", "problem", "loss", "penalty"),
    **_named("settings"),
    **{"label": ("run", ""), "runs": ("runs", "d"), "started": ("when", ""), "dataset": ("data", "")},
    **{"seed": ("seed", "d"), "lam": ("λ", ".5g"), "objective": ("objective", ".10g")},
    **{"gap": ("gap", ".2e"), "dual_gap": ("proved bound", ".2e"), "violation": ("violation", ".2e")},
    **{"nnz": ("non-zeros", ","), "nnz_rows": ("rows", ","), "iterations": ("iterations", ",")},
    **{"passes": ("passes", ",.1f"), "cpu_seconds": ("CPU s", ".3f")},
    "train_metric": ("train {metric_name}", ".4f"),
    "test_metric": ("test {metric_name}", ".4f"),
    **{"lam_ratio": ("λ/λmax", ".5g"), "metric_name": ("measure", ""), "metric": ("mean", ".4f")},
    **{"deviation": ("±", ".4f"), "held_out": ("on", "")},
    **{"test_ranking_loss": ("ranking loss", ".4f"), "test_micro_f1": ("micro-F1", ".4f")},
}
#: The columns of each table, in their order.
HISTORY = (
    *("id", "started", "run", "solver", "options", "dataset", "problem", "lam", "objective", "iterations"),
    "state",
)
RUN = (
    *("label", "status", "objective", "gap", "dual_gap", "violation", "nnz", "iterations", "passes"),
    *("cpu_seconds", "test_metric"),
)
PATH = (
    *("label", "status", "lam", "objective", "gap", "violation", "nnz", "nnz_rows", "cpu_seconds"),
    *("train_metric", "test_metric", "test_ranking_loss", "test_micro_f1"),
)
SWEEP = (
    *("data", "seed", "lam", "label", "status", "objective", "gap", "nnz", "iterations", "cpu_seconds"),
    "test_metric",
)
CHOICE = (
    *("data", "loss", "penalty", "label", "settings", "lam", "lam_ratio", "metric_name", "metric"),
    *("deviation", "held_out", "runs"),
)


def show_choices(records: Sequence[dict[str, Any]]) -> None:
    """Print the λ that were chosen, one line each."""
    chosen = [record for record in records if record["type"] == "choice"]
    if chosen:
        rows = [one | {"data": _data(one), "settings": _pairs(one["settings"]) or None} for one in chosen]
        _show(CHOICE, rows, "λ chosen on held-out data")


def show_results(
    fields: Sequence[str], records: Sequence[dict[str, Any]], labels: Mapping[str, str] | None = None
) -> None:
    """Print what came out of runs, from their records: one line a run, in a table for each objective. With
    ``labels`` of repeated runs by their own, one line for each, with medians."""
    results: dict[str, list[dict[str, Any]]] = {}
    f_star, objective = None, ""
    for record in records:
        if record["type"] == "problem":
            f_star, objective = None, f"{record['loss']} with {record['penalty']}"
        elif record["type"] == "reference":
            f_star = record["f_star"]
        elif record["type"] == "result":
            row = {"gap": _gap(record["objective"], f_star), **record}
            results.setdefault(objective, []).append(row)
    for objective, rows in results.items():
        shown = fields
        if labels is not None:
            runs: dict[str, list[dict[str, Any]]] = {}
            for row in rows:
                runs.setdefault(labels[row["label"]], []).append(row)
            shown, rows = [fields[0], "runs", *fields[1:]], [_median(*of_label) for of_label in runs.items()]
        _show(shown, rows, objective if len(results) > 1 else None)
    show_choices(records)


def _median(label: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the median of each number of some results, of those that have it; how often each status is."""
    found = dict(rows[0])
    for name in found:
        known = [row[name] for row in rows if isinstance(row[name], int | float)]
        if known:
            found[name] = median(known)
    counts = Counter(row["status"] for row in rows)
    status = ", ".join(counts if len(counts) == 1 else (f"{n} {name}" for name, n in counts.items()))
    return found | {"label": label, "runs": len(rows), "status": status}


def _gap(objective: float | None, f_star: float | None) -> float | None:
    from solverscope.solvers import relative_gap, undercuts

    if f_star is None or objective is None or undercuts(objective, f_star):
        return None
    return relative_gap(objective, f_star)


def show_cells(records: Sequence[dict[str, Any]]) -> None:
    """Print what came out of a sweep, one line a cell. Gaps are to f* where it was solved for, else to the
    best objective of the sweep."""
    from ..sweep.results import f_stars, gap_of

    cells = [record for record in records if record["type"] == "cell"]
    best = f_stars(cells)
    rows = [cell | {"gap": gap_of(cell, best), "data": _data(cell), "metric_name": ""} for cell in cells]
    if rows:
        _show(SWEEP, sorted(rows, key=lambda row: (row["data"], row["seed"], -(row["lam"] or 0))))
    show_choices(records)


def show_papers(records: Sequence[dict[str, Any]]) -> None:
    """Print a list of papers, or of the figures and tables of one: a column a field."""
    fields = {name: value for name, value in records[0].items() if name not in ("type", "shows")}
    show_table({n: (n, "d" if isinstance(value, int) else "") for n, value in fields.items()}, records)


def show_exhibits(records: Sequence[dict[str, Any]]) -> None:
    """Print what came out of figures and tables of a paper: runs, its numbers beside ours, verdicts."""
    show_cells(records)
    if sizes := [_size(record) for record in records if record["type"] == "size"]:
        show_table(_named("exhibit", "data", "here", "paper", "same"), sizes)
    if values := [record for record in records if record["type"] == "value"]:
        numbers = {"name": ("number", ""), "in_paper": ("paper", "g"), "text": ("here", "")}
        show_table({**_named("exhibit"), **numbers}, values)
    if claims := [r | {"numbers": "; ".join(r["numbers"])} for r in records if r["type"] == "claim"]:
        show_table(_named("exhibit", "verdict", "claim", "numbers"), claims)


def _size(record: dict[str, Any]) -> dict[str, Any]:
    """Return the sizes of a data set here and in the paper as texts."""
    from ..papers.sizes import Size

    here, paper = (None if record[name] is None else Size(**record[name]) for name in ("here", "in_paper"))
    texts = {"here": str(here), "paper": "not the paper's" if paper is None else str(paper)}
    return record | texts | {"same": "yes" if record["same"] else "no"}


def _data(record: dict[str, Any]) -> str:
    return ",".join(filter(None, [record["dataset"], _pairs(record["options"])]))


def _pairs(values: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in values.items())


def _show(fields: Sequence[str], rows: Sequence[dict[str, Any]], title: str | None = None) -> None:
    """Print a table of ``COLUMNS``, without those of which nothing is known."""
    shown = {field: COLUMNS[field] for field in fields if any(row.get(field) is not None for row in rows)}
    show_table({f: (head.format(**rows[0]).strip(), form) for f, (head, form) in shown.items()}, rows, title)
