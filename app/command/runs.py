"""The history of runs without a page: listing, comparison, export and import."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from solverscope.solvers.compute.atomic_files import NotWritten
from solverscope.solvers.traces.first_difference import SAME_UP_TO, RunComparison, compare_runs
from solverscope.solvers.traces.reading import read
from solverscope.solvers.traces.trace import Trace, plain, save

from ..runs.archive import (
    PERSISTENT_LIMITS,
    Archive,
    ArchivedRun,
    NewerVersionError,
    default_path,
    explain,
    info_json,
)
from ..runs.compare import Difference, differing_settings, options
from ..runs.formats import as_bytes
from ..settings.resume_point import run_of_file

#: Formats in which `export` writes to standard output.
STDOUT_FORMATS = ("jsonl", "csv")
#: Suffix of benchopt's files.
BENCHOPT_SUFFIX = ".parquet"


@contextmanager
def opened() -> Iterator[Archive]:
    """Yield the archive in the home folder, as a context. Raises NotWritten if it cannot be used."""
    path = default_path()
    try:
        with closing(Archive(path, PERSISTENT_LIMITS)) as archive:
            yield archive
    except (sqlite3.Error, OSError, NewerVersionError) as error:
        if isinstance(error, NotWritten):
            raise
        what, advice = explain(error, path)
        raise NotWritten(f"{what}: {advice}") from error


def entries() -> list[dict[str, Any]]:
    """Return all runs as plain records, the newest last."""
    if not default_path().exists():
        return []
    with opened() as archive:
        return [_entry(kept) for kept in sorted(archive.runs(), key=lambda kept: kept.id)]


def _entry(kept: ArchivedRun) -> dict[str, Any]:
    problem = kept.about.get("problem", {})
    record = {
        "id": kept.id,
        "started": time.strftime("%Y-%m-%d %H:%M", time.localtime(kept.started)),
        "run": kept.name or kept.label,
        "solver": kept.solver,
        "options": options(kept),
        **{name: problem.get(name) for name in ("dataset", "loss", "penalty", "lam")},
        **{name: getattr(kept, name) for name in ("iterations", "objective", "state", "pinned")},
    }
    return plain(record | ({"damage": kept.damage} if kept.damage else {}))


def add(paths: Sequence[str]) -> list[int]:
    """Import the runs in files into the history; return their ids.

    Curves of benchopt are rescaled if a run of the history is on the same problem. Raises ValueError if a
    file cannot be read; then nothing is imported.
    """
    with opened() as archive:
        found = []
        for path in map(Path, paths):
            traces = _curves(archive, path) if path.suffix == BENCHOPT_SUFFIX else read(path)
            found += [(trace, path.stat().st_mtime) for trace in traces]
        return [archive.enter(trace, started=written) for trace, written in found]


def _curves(archive: Archive, path: Path) -> list[Trace]:
    from ..benchopt import lasso, results

    lassos = [
        archive.trace(kept.id)
        for kept in archive.runs()
        if (about := kept.about.get("problem", {})).get("loss") == "squared" and about.get("penalty") == "l1"
    ]
    found = []
    for curves in lasso.groups(results.read(path)).values():
        scaled = (lasso.in_our_units(curves, run) for run in lassos)
        found += next(filter(None, scaled), curves)
    return found


class ComparedRuns(NamedTuple):
    """A comparison of two runs: their names, the settings in which they differ, and the first iterate that
    differs."""

    names: tuple[str, str]
    settings: list[Difference]
    found: RunComparison

    def record(self) -> dict[str, Any]:
        """Return the comparison as a plain record."""
        first, parting = self.found.difference, self.found.parting
        return {
            "type": "diff",
            "left": self.names[0],
            "right": self.names[1],
            "same": first is None,
            "iterates": self.found.iterates,
            "quantities": list(self.found.quantities),
            "first": None if first is None else plain(first._asdict()),
            "parting": None if parting is None else plain(parting._asdict()),
            "settings": [one._asdict() for one in self.settings],
            "message": self.found.sentence(*self.names),
        }


def compare(left: str, right: str, tol: float | None = None) -> ComparedRuns:
    """Compare two runs, each given by its id in the history or as ``FILE[#LABEL]``.

    ``tol`` is the largest relative difference of equal values. Raises ValueError if a run cannot be read.
    """
    a, b = found_run(left), found_run(right)
    names = _title(a[0]), _title(b[0])
    if names[0] == names[1]:
        names = left, right
    try:
        found = compare_runs(a[1], b[1], tol=SAME_UP_TO if tol is None else tol)
    except ValueError as error:
        raise ValueError(f"{left} and {right} cannot be compared: {error}") from None
    return ComparedRuns(names, differing_settings(a[0], b[0]), found)


def _title(kept: ArchivedRun) -> str:
    return kept.title if kept.id else kept.label


def found_run(name: str) -> tuple[ArchivedRun, Trace]:
    """Return the run with this id in the history, or the run that ``FILE[#LABEL]`` names."""
    if name.isdecimal() and not Path(name).exists():
        with opened() as archive:
            return archive.run(int(name)), archive.trace(int(name))
    _, trace = run_of_file(name, "'{run}'")
    info = trace.info
    about = json.loads(info_json(trace))
    return ArchivedRun(0, label=info.label, solver=info.solver, about=about, state=trace.status), trace


def export(id: int, out: Path | None, form: str) -> str:
    """Return a run in the format ``form`` as a string; if ``out`` is given, write it there and return "".

    Raises ValueError if the run does not exist.
    """
    with opened() as archive:
        trace = archive.trace(id)
    if out is not None:
        save([trace], out)
        return ""
    return as_bytes([trace], form).decode()
