"""Columns of the tables of runs: their headings and formats, and the columns of each table.

The value of a column is the field of that name of a record. Records of iterates have the fields
:data:`solverscope.solvers.FIELDS`. Records of results have those of :func:`.final_check.last_numbers` and of
the run; race tables show both kinds. A column whose field is missing from all records is omitted. The command
line imports this module when it starts, so the solvers and Panel are imported only when a value is formatted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class TableColumn(NamedTuple):
    """A column of a table of runs.

    ``heading`` and ``form``, a format specification, are used on the command line; values with a format are
    aligned to the right. ``title`` and ``digits`` are used on the page.
    """

    heading: str
    form: str = ""
    title: str = ""
    digits: int = 4
    seconds: bool = False


#: Measures of predictions on the test part, each for a kind of targets; a table shows those that are known.
TABLE_MEASURES = (
    *("test_metric", "test_ranking_loss", "test_micro_f1"),  # of classes and labels
    *("test_mse", "test_mae", "test_deviance"),  # of targets
)

#: The columns of a table by their names, in order.
TableColumns = Mapping[str, TableColumn]

#: Relative gaps to which tables have the CPU seconds.
TABLE_GAPS = (1e-2, 1e-4, 1e-6)
#: Those that other programs may be expected to reach.
SHORT_GAPS = TABLE_GAPS[:2]


def seconds_column(gap: float) -> str:
    """Return the name of the column with the CPU seconds until a relative gap is reached."""
    return f"seconds_to_{gap:g}"


def _seconds_to(gap: float) -> TableColumn:
    written = f"{gap:g}" if gap >= 1e-3 else f"{gap:.0e}".replace("e-0", "e−")
    return TableColumn(f"CPU s to {gap:g}", ".3g", f"CPU to a gap of {written}", seconds=True)


#: The columns that tables of runs may have, by the field of a record that stands there.
TABLE_COLUMNS: dict[str, TableColumn] = {
    "id": TableColumn("id"),
    "place": TableColumn("place"),
    "label": TableColumn("run"),
    "run": TableColumn("run"),
    "runs": TableColumn("runs", "d"),
    "solver": TableColumn("solver"),
    "watched": TableColumn("watched by"),
    "options": TableColumn("options"),
    "settings": TableColumn("settings"),
    "started": TableColumn("when"),
    "data": TableColumn("data"),
    "dataset": TableColumn("data"),
    "problem": TableColumn("problem"),
    "loss": TableColumn("loss"),
    "penalty": TableColumn("penalty"),
    "seed": TableColumn("seed", "d"),
    "status": TableColumn("status"),
    "state": TableColumn("state"),
    "lam": TableColumn("λ", ".5g", digits=6),
    "lam_ratio": TableColumn("λ/λmax", ".5g"),
    "objective": TableColumn("objective", ".10g", digits=8),
    "gap": TableColumn("gap", ".2e", digits=3),
    "behind": TableColumn("behind the leader by"),
    "dual_gap": TableColumn("proved bound", ".2e", digits=3),
    "violation": TableColumn("violation", ".2e", digits=3),
    "nnz": TableColumn("non-zeros", ","),
    "nnz_rows": TableColumn("rows", ","),
    "iterations": TableColumn("iterations", ","),
    "passes": TableColumn("passes", ",.1f"),
    "cpu_seconds": TableColumn("CPU s", ".3f"),
    "train_metric": TableColumn("train {metric_name}", ".4f"),
    "test_metric": TableColumn("test {metric_name}", ".4f"),
    "test_ranking_loss": TableColumn("ranking loss", ".4f"),
    "test_micro_f1": TableColumn("micro-F1", ".4f"),
    "test_mse": TableColumn("MSE", ".4g"),
    "test_mae": TableColumn("MAE", ".4g"),
    "test_deviance": TableColumn("mean deviance", ".4g"),
    "metric_name": TableColumn("measure"),
    "metric": TableColumn("mean", ".4f"),
    "deviation": TableColumn("±", ".4f"),
    "standard_error": TableColumn("s.e.", ".4f"),
    "lam_1se": TableColumn("λ, 1 s.e.", ".5g"),
    "lam_ratio_1se": TableColumn("λ/λmax, 1 s.e.", ".5g"),
    "held_out": TableColumn("on"),
    **{seconds_column(gap): _seconds_to(gap) for gap in TABLE_GAPS},
}


def table(*names: str, **headings: str) -> TableColumns:
    """Return a table of the named columns; ``headings`` replaces headings by column name."""
    found = {name: TABLE_COLUMNS.get(name, TableColumn(name.replace("_", " "))) for name in names}
    return found | {
        name: found[name]._replace(heading=heading, title=heading) for name, heading in headings.items()
    }


#: The legend of the page: fields of the newest record of each run.
LEGEND_TABLE = table("iteration", "epoch", "objective", "nnz", "working_set", "cpu_seconds")
#: The race of the page: the record of each run at equal cost, and what sets it apart from the first.
STANDING_TABLE = table(
    "place", "label", "objective", "gap", "behind", "iteration", iteration="at its iteration"
)
#: The summary of the page and of a report.
SUMMARY_TABLE = table(
    *("label", "status", "lam", "objective", "violation", "dual_gap", "nnz", "iteration", "passes"),
    *("cpu_seconds", *map(seconds_column, TABLE_GAPS)),
)
#: What ``solverscope runs`` prints.
HISTORY_TABLE = table(
    *("id", "started", "run", "solver", "options", "dataset", "problem", "lam", "objective", "iterations"),
    "state",
)
#: What ``solverscope run`` prints.
RUN_TABLE = table(
    *("label", "status", "objective", "gap", "dual_gap", "violation", "nnz", "iterations", "passes"),
    *("cpu_seconds", *TABLE_MEASURES),
)
#: What ``solverscope run --repeat`` prints.
REPEATED_TABLE = {"label": RUN_TABLE["label"], **table("runs"), **RUN_TABLE}
#: What ``solverscope path`` prints.
PATH_TABLE = table(
    *("label", "status", "lam", "objective", "gap", "violation", "nnz", "nnz_rows", "cpu_seconds"),
    *("train_metric", *TABLE_MEASURES),
)
#: What ``solverscope sweep`` prints of cells, and of the λ that it has chosen.
SWEEP_TABLE = table(
    *("data", "seed", "lam", "label", "status", "objective", "gap", "nnz", "iterations", "cpu_seconds"),
    *TABLE_MEASURES,
)
CHOICE_TABLE = table(
    *("data", "loss", "penalty", "label", "settings", "lam", "lam_ratio", "metric_name", "metric"),
    *("deviation", "standard_error", "lam_1se", "lam_ratio_1se", "held_out", "runs"),
)
#: What ``solverscope race`` prints of our solvers and of other programs.
PROGRAMS_TABLE = table(
    "label", "watched", *map(seconds_column, SHORT_GAPS), "status", label="solver", status="end"
)


def page_title(name: str, column: TableColumn) -> str:
    """Return the heading of a column on the page."""
    from solverscope.solvers import FIELDS

    if column.title or name not in FIELDS:
        return column.title or column.heading
    return FIELDS[name].title


def page_text(name: str, column: TableColumn, value: Any) -> str:
    """Format a value for the page: strings stay as they are, None becomes a dash."""
    from solverscope.app import ui
    from solverscope.solvers import FIELDS

    if isinstance(value, str):
        return value
    if name in FIELDS:
        return ui.cell(FIELDS[name], value, column.digits)
    return ui.seconds(value) if column.seconds else ui.number(value, column.digits)


def page_texts(columns: TableColumns, record: Mapping[str, Any]) -> list[str]:
    """Return the formatted cells of a row of a table on the page."""
    return [page_text(name, column, record.get(name)) for name, column in columns.items()]
