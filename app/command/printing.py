"""Lists and results, printed as tables on standard output."""

from __future__ import annotations

import io
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from ..settings.columns import CHOICE_TABLE, HISTORY_TABLE, SWEEP_TABLE, TableColumn, TableColumns, table
from .streams import put

#: Characters of a line that is written to a file or a pipe.
PIPE_WIDTH = 160
#: Characters of a line of prose.
PROSE_WIDTH = 100


def show_table(columns: TableColumns, records: Sequence[Mapping[str, Any]], title: str | None = None) -> None:
    """Print a table with a row for each record; columns that have a format are right-aligned."""
    import rich.table
    from rich.console import Console
    from rich.text import Text

    # rich itself would end the process when the reader of a pipe has closed it
    terminal, text = sys.stdout.isatty(), io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=None if terminal else PIPE_WIDTH)
    lines = rich.table.Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name, column in columns.items():
        numeric = bool(column.form)
        lines.add_column(
            column.heading, justify="right" if numeric else "left", no_wrap=numeric or name == "id"
        )
    for record in records:
        lines.add_row(*map(Text, cells(columns, record)))
    console.print(lines)
    put(text.getvalue())


def cells(columns: TableColumns, record: Mapping[str, Any]) -> list[str]:
    """Return the formatted cells of a row; unknown values are "–"."""
    values = ((record.get(name), column.form) for name, column in columns.items())
    return ["–" if value is None else format(value, form) for value, form in values]


def show_entries(kind: str, entries: Sequence[dict[str, Any]], why: bool = False) -> None:
    """Print entries of :func:`solverscope.app.command.listing.entries`, one per line, cut to the terminal's
    width.

    With ``why``, reasons why entries are not available follow the list.
    """
    width = shutil.get_terminal_size((PIPE_WIDTH, 0)).columns if sys.stdout.isatty() else PIPE_WIDTH
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


def show_details(entries: Sequence[dict[str, Any]]) -> None:
    """Print everything about entries of a list: name, summary, requirements, and options with
    their ranges."""
    lines = []
    for entry in entries:
        lines += ["", f"{entry['id']}: {entry['name']}", *_indented(entry["summary"], "   ")]
        lines += [f"   {entry['paper']}"] if entry["paper"] else []
        lines += _indented(entry["needs"], "   ") if entry.get("needs") else []
        lines += [] if entry["available"] else _indented(f"not here: {entry['reason']}", "   ")
        for option in entry["options"]:
            lines.append(f"   {option['name']}={option['default']}: {option['range']}")
            lines += _indented(option["help"], "      ")
    put("".join(f"{line}\n" for line in lines[1:]))


def _indented(text: str, by: str) -> list[str]:
    """Wrap a text to indented lines of readable length."""
    return textwrap.wrap(text, PROSE_WIDTH, initial_indent=by, subsequent_indent=by)


def _shortened(text: str, width: int) -> str:
    """Pad a text to ``width`` characters, or cut it to that length with a final …."""
    return text.ljust(width) if len(text) <= width else f"{text[: width - 1]}…"


def show_runs(entries: Sequence[dict[str, Any]]) -> None:
    """Print entries of :func:`solverscope.app.command.runs.entries`, or a hint if there are none."""
    if not entries:
        put("no runs are kept yet: those of a page are, and `solverscope runs import FILE` adds others\n")
        return
    shown = []
    for entry in entries:
        options = ", ".join(f"{name}={value}" for name, value in entry["options"].items())
        problem = f"{entry['loss']} with {entry['penalty']}" if entry["loss"] else None
        shown.append({**entry, "problem": problem, "options": options})
    _show(HISTORY_TABLE, shown)
    put("".join(f"{e['damage']}\n" for e in entries if "damage" in e))


def show_comparison(record: Mapping[str, Any]) -> None:
    """Print the settings in which two runs differ, and the first iterate and quantity that differ."""
    heads = {"what": "setting", "left": record["left"], "right": record["right"]}
    if record["settings"]:
        show_table({name: TableColumn(head) for name, head in heads.items()}, record["settings"])
    put(f"{record['message']}\n")


def show_choices(records: Sequence[dict[str, Any]]) -> None:
    """Print the selected λ, one per line."""
    chosen = [record for record in records if record["type"] == "choice"]
    if chosen:
        rows = [one | {"data": _data(one), "settings": _pairs(one["settings"]) or None} for one in chosen]
        _show(CHOICE_TABLE, rows, "λ chosen on held-out data")


def show_results(
    columns: TableColumns, records: Sequence[dict[str, Any]], labels: Mapping[str, str] | None = None
) -> None:
    """Print the results of runs from their records: a table for each objective, with a row for each run.

    ``labels`` maps the labels of repeated runs to common ones. If given, there is one row of medians for each
    common label.
    """
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
        if labels is not None:
            runs: dict[str, list[dict[str, Any]]] = {}
            for row in rows:
                runs.setdefault(labels[row["label"]], []).append(row)
            rows = [_median(*of_label) for of_label in runs.items()]
        _show(columns, rows, objective if len(results) > 1 else None)
    show_choices(records)


def _median(label: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the medians of the known numbers of some results, and the number of results with each status."""
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
    """Print the results of a sweep, one row per cell.

    Gaps are relative to f* if it was computed, else to the best objective of the sweep.
    """
    from ..sweep.results import f_stars, gap_of

    cells = [record for record in records if record["type"] == "cell"]
    best = f_stars(cells)
    rows = [cell | {"gap": gap_of(cell, best), "data": _data(cell), "metric_name": ""} for cell in cells]
    if rows:
        _show(SWEEP_TABLE, sorted(rows, key=lambda row: (row["data"], row["seed"], -(row["lam"] or 0))))
    show_choices(records)


def show_papers(records: Sequence[dict[str, Any]]) -> None:
    """Print a list of papers, or of the figures and tables of one, with a column for each field."""
    fields = {name: value for name, value in records[0].items() if name not in ("type", "shows")}
    columns = {n: TableColumn(n, "d" if isinstance(value, int) else "") for n, value in fields.items()}
    show_table(columns, records)


def show_exhibits(records: Sequence[dict[str, Any]]) -> None:
    """Print the results of a paper's figures and tables: runs, its numbers next to ours, and verdicts."""
    show_cells(records)
    if sizes := [_size(record) for record in records if record["type"] == "size"]:
        show_table(table("exhibit", "data", "here", "paper", "same"), sizes)
    if values := [record for record in records if record["type"] == "value"]:
        numbers = {
            "name": TableColumn("number"),
            "in_paper": TableColumn("paper", "g"),
            "text": TableColumn("here"),
        }
        show_table({**table("exhibit"), **numbers}, values)
    if claims := [r | {"numbers": "; ".join(r["numbers"])} for r in records if r["type"] == "claim"]:
        show_table(table("exhibit", "verdict", "claim", "numbers"), claims)


def _size(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with the sizes of a data set, here and in the paper, replaced by strings."""
    from ..papers.sizes import DataSize

    here, paper = (
        None if record[name] is None else DataSize(**record[name]) for name in ("here", "in_paper")
    )
    texts = {"here": str(here), "paper": "not the paper's" if paper is None else str(paper)}
    return record | texts | {"same": "yes" if record["same"] else "no"}


def _data(record: dict[str, Any]) -> str:
    return ",".join(filter(None, [record["dataset"], _pairs(record["options"])]))


def _pairs(values: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in values.items())


def _show(columns: TableColumns, rows: Sequence[dict[str, Any]], title: str | None = None) -> None:
    """Print a table without its empty columns."""
    known = {
        name: column for name, column in columns.items() if any(row.get(name) is not None for row in rows)
    }
    headed = {
        name: one._replace(heading=one.heading.format(**rows[0]).strip()) for name, one in known.items()
    }
    show_table(headed, rows, title)
