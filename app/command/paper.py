"""The command ``paper``: figures and tables of papers are reproduced in an HTML page with
verdicts on claims."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solverscope.solvers.compute.atomic_files import replacing

from ..papers import Exhibit, Paper, groups, paper, papers
from ..papers.bounds import Interval
from ..papers.measures import ExhibitRun
from ..papers.plan import USUAL_BUDGET, Plan, layout, plan
from ..sweep.cell_store import Store
from ..sweep.cluster import ClusterSpec
from ..sweep.driver import SweepDriver
from . import sweep as sweeps
from .exit_status import INTERRUPTED
from .headless import Emit
from .printing import show_papers
from .progress_bar import ProgressBar
from .streams import put_json

if TYPE_CHECKING:
    from ..papers.drawing import ExhibitOutcome

#: Word for all figures and tables of a paper that can be run.
ALL_EXHIBITS = "all"
#: Seconds in each unit that a budget may be given in.
TIME_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def budget(text: str | None) -> float:
    """Parse a time such as 90, 5m or 1.5h, and return it in seconds; return the default for None.

    Raises ValueError if it is invalid or zero.
    """
    if text is None:
        return USUAL_BUDGET
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if found is None or not float(found[1]):
        raise ValueError(
            f"--budget {text[:80]} is not possible: give seconds, or a number with s, m or h: 5m"
        )
    return float(found[1]) * TIME_UNITS[found[2]]


def show(id: str | None, as_json: bool) -> None:
    """Print a list of papers, or the figures and tables of one. Raises ValueError if it does not exist."""
    found = list(_papers() if id is None else _exhibits(paper(id)))
    if as_json:
        put_json(found)
    else:
        show_papers(found)


def _papers() -> Iterator[dict[str, Any]]:
    for one in papers().values():
        states = [_state(exhibit)["state"] for exhibit in one.exhibits.values()]
        counts = {word: states.count(word) for word in ("ready", "no data", "not run")}
        yield {"type": "paper", "id": one.id, "paper": one.cite, "title": one.title, **counts}


def _exhibits(found: Paper) -> Iterator[dict[str, Any]]:
    for exhibit in found.exhibits.values():
        told = {"id": exhibit.id, "title": exhibit.title, "shows": exhibit.shows}
        yield {"type": "exhibit", **told, **_state(exhibit)}


def _state(exhibit: Exhibit) -> dict[str, Any]:
    """Return whether an exhibit can be run, on which data or why not, and which data are missing."""
    found = layout(exhibit)
    word = "ready" if found.data else "not run" if exhibit.why_not else "no data"
    about = f"on {', '.join(found.data)}" if found.data else exhibit.why_not
    return {"state": word, "about": about, "not at hand": ", ".join(found.absent)}


def execute(
    id: str,
    figure: str,
    seconds: float,
    place: ClusterSpec,
    out: str | None,
    emit: Emit,
    progress: ProgressBar,
    *,
    resume: bool,
) -> int:
    """Run figures and tables of a paper as a sweep within a time budget, and write a page of results.

    ``emit`` receives a record of each claim. Returns the exit status. Raises ValueError if the paper or
    figure does not exist or cannot be run.
    """
    found, folder = paper(id), Path(f"{id}.paper" if out is None else out)
    exhibits = list(found.exhibits.values()) if figure == ALL_EXHIBITS else [found.exhibit(figure)]
    slots = (place.workers or os.cpu_count() or 1) * place.threads
    planned = plan(f"{id} {figure}", exhibits, seconds, slots)
    store = Store(folder / f"{figure}.sweep")
    sweep = SweepDriver(planned.spec, place, store, resume=resume)
    for exhibit in exhibits:
        for note in planned.notes[exhibit.id]:
            progress.say(f"{exhibit.name}: {note}")
    for watched in sweep.cells.values():
        if not watched.alive:
            watched.trace = store.trace(watched.cell)
    status = sweeps.execute(sweep, emit, progress)
    if status == INTERRUPTED:  # its page takes seconds, and comes with the rest
        return status
    outcomes = list(_outcomes(exhibits, planned, sweep.cells, progress))
    _write(found, outcomes, folder / f"{figure}.html", emit)
    progress.say(f"{id} {figure}: {folder / figure}.html")
    return status


def _outcomes(
    exhibits: Sequence[Exhibit], planned: Plan, cells: Mapping[str, Any], progress: ProgressBar
) -> Iterator[ExhibitOutcome]:
    from ..papers.drawing import ExhibitOutcome

    seen: dict[tuple[str, groups.GroupWatch], groups.Groups] = {}
    for exhibit in exhibits:
        if (keys := planned.cells.get(exhibit.id)) is not None:
            runs = [ExhibitRun.of(cells[key]) for key in keys]
            if (watch := exhibit.weights) is not None:
                for k, key in enumerate(keys):
                    trace = runs[k].trace
                    if (key, watch) not in seen and trace is not None and len(trace):
                        progress.say(f"{exhibit.name}: {runs[k].label} runs once more, for its weights")
                        seen[key, watch] = groups.of_run(cells[key].cell, watch, len(trace) - 1)
                    runs[k] = replace(runs[k], groups=seen.get((key, watch)))
            yield ExhibitOutcome.of(exhibit, runs, planned.notes[exhibit.id])


def bounds(here: Interval | None) -> dict[str, float | None]:
    """Return the fields of a measured number: its value if it is known, and its lower and upper bound."""
    if here is None:
        return dict.fromkeys(("here", "at_least", "at_most"))
    ends = {"at_least": here.low, "at_most": here.high}
    return {"here": here.low if here.known else None} | ends


def _write(found: Paper, outcomes: Sequence[ExhibitOutcome], file: Path, emit: Emit) -> None:
    from ..papers.drawing import page  # takes a second to import, which a list of papers does not need

    for outcome in outcomes:
        where = {"paper": found.id, "exhibit": outcome.exhibit.id}
        for size in outcome.sizes:
            here, in_paper = asdict(size.here), None if size.paper is None else asdict(size.paper)
            sizes = {"here": here, "in_paper": in_paper, "same": size.same}
            emit({"type": "size", **where, "data": size.data, **sizes})
        for value in outcome.exhibit.values:
            numbers = {"in_paper": value.paper, **bounds(outcome.measured(value))}
            text = {"text": outcome.as_measured(value), "differ": outcome.differs(value)}
            emit({"type": "value", **where, "name": value.name, **numbers, **text})
        for verdict in outcome.verdicts:
            said = {"claim": verdict.claim, "verdict": verdict.word, "of": verdict.of}
            said["numbers"] = list(verdict.numbers)
            emit({"type": "claim", **where, **said})
    with replacing(file, encoding="utf-8") as written:
        written.write(page(found, outcomes))
    emit({"type": "page", "paper": found.id, "exhibit": file.stem, "file": str(file)})
