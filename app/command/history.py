# ruff: noqa: B008 (an option is declared as the default of its parameter)
"""The commands ``runs`` and ``diff`` for runs in the history and in files."""

from __future__ import annotations

import typer

from ..settings import arguments
from . import printing, streams
from .exit_status import DIFFERENT, FINISHED
from .options import JSON_OPTION, OUT_OPTION, argument, option

history = typer.Typer(rich_markup_mode=None)


@history.callback(invoke_without_command=True)
def runs(context: typer.Context, as_json: bool = JSON_OPTION) -> None:
    """List the runs in the history, which are those of pages and imported files; import and export runs."""
    from . import runs

    if context.invoked_subcommand is None:
        found = runs.entries()
        if as_json:
            streams.put_json(found)
        else:
            printing.show_runs(found)


@history.command("import")
def import_(
    file: list[str] = argument("FILE...", "What `run --out` or benchopt wrote."),
) -> int:
    """Import runs from .jsonl, .npz or .parquet files into the history, so that a page can show them."""
    from . import runs

    for id in runs.add(file):
        streams.put(f"{id}\n")
    return FINISHED


@history.command()
def export(
    run: str = argument("ID", "See `solverscope runs`."),
    format: str | None = option("--format", "jsonl|csv", "What is printed; by default jsonl."),
    out: str | None = OUT_OPTION,
) -> int:
    """Print the records of a run, or write them to a file."""
    from solverscope.solvers.traces.trace import checked_path

    from . import runs

    id = arguments.number("ID", run, low=1, kind=int)
    if format is not None and out is not None:
        raise ValueError("give --format or --out, not both: the name of the file says in which form it is")
    if format not in (None, *runs.STDOUT_FORMATS):
        raise ValueError(f"--format {format} is not possible: choose one of {', '.join(runs.STDOUT_FORMATS)}")
    streams.put(runs.export(id, None if out is None else checked_path(out), format or runs.STDOUT_FORMATS[0]))
    return FINISHED


def diff(
    left: str = argument("A", "A run: its id in `solverscope runs`, or FILE[#LABEL] of --out."),
    right: str = argument("B", "The other run."),
    tol: str | None = option(
        "--tol", "X", "Largest relative difference of equal values; by default 1e-9, 0 for the same bits."
    ),
    as_json: bool = JSON_OPTION,
) -> int:
    """Compare two runs and show the first iterate and quantity that differ. The exit status is then 1."""
    from . import runs

    record = runs.compare(left, right, arguments.number("--tol", tol, low=0.0)).record()
    if as_json:
        streams.put_json([record])
    else:
        printing.show_comparison(record)
    return FINISHED if record["same"] else DIFFERENT
