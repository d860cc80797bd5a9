"""``solverscope paper``: what papers show, run again, as one HTML page with a verdict on each claim."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .headless import Emit
from .printing import show_papers
from .progress_bar import Progress
from .streams import put

if TYPE_CHECKING:
    from app.papers import Exhibit, Paper
    from app.papers.drawing import Outcome

    from ..sweep.cluster import Place

#: All figures and tables of a paper that can be run, in place of one of them.
ALL = "all"
#: Seconds in each unit that a budget may be given in.
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def budget(text: str | None) -> float:
    """Return the seconds that a text such as 90, 5m or 1.5h means; the usual ones for None."""
    from app.papers.plan import USUAL_BUDGET

    if text is None:
        return USUAL_BUDGET
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if found is None or not float(found[1]):
        raise ValueError(
            f"--budget {text[:80]} is not possible: give seconds, or a number with s, m or h: 5m"
        )
    return float(found[1]) * UNITS[found[2]]


def show(id: str | None, as_json: bool) -> None:
    """Print the papers, or the figures and tables of one; ValueError where there is no such."""
    from app.papers import paper

    found = list(_papers() if id is None else _exhibits(paper(id)))
    if as_json:
        put("".join(json.dumps(record) + "\n" for record in found))
    else:
        show_papers(found)


def _papers() -> Iterator[dict[str, Any]]:
    from app.papers import papers

    for paper in papers().values():
        states = [_state(exhibit)["state"] for exhibit in paper.exhibits.values()]
        counts = {word: states.count(word) for word in ("ready", "no data", "not run")}
        yield {"type": "paper", "id": paper.id, "paper": paper.cite, "title": paper.title, **counts}


def _exhibits(paper: Paper) -> Iterator[dict[str, Any]]:
    for exhibit in paper.exhibits.values():
        told = {"id": exhibit.id, "title": exhibit.title, "shows": exhibit.shows}
        yield {"type": "exhibit", **told, **_state(exhibit)}


def _state(exhibit: Exhibit) -> dict[str, Any]:
    """Say in a word whether an exhibit can be run here, on which data or why not, and what is not at hand."""
    from app.papers.plan import layout

    found = layout(exhibit)
    word = "ready" if found.data else "not run" if exhibit.why_not else "no data"
    about = f"on {', '.join(found.data)}" if found.data else exhibit.why_not
    return {"state": word, "about": about, "not at hand": ", ".join(found.absent)}


@dataclass(frozen=True)
class Request:
    """Figures and tables of a paper to be run within a budget of seconds, at a place, into a folder."""

    paper: Paper
    exhibits: Sequence[Exhibit]
    seconds: float
    place: Place
    folder: Path
    resume: bool = False
    files: Sequence[str] = ()

    @property
    def name(self) -> str:
        return self.exhibits[0].id if len(self.exhibits) == 1 else ALL

    @classmethod
    def of(cls, id: str, figure: str, seconds: float, place: Place, out: str | None, **how: Any) -> Request:
        """Return what the command line asks for. Raises ValueError, one sentence."""
        from app.papers import paper

        found = paper(id)
        chosen = list(found.exhibits.values()) if figure == ALL else [found.exhibit(figure)]
        return cls(found, chosen, seconds, place, Path(f"{id}.paper" if out is None else out), **how)


def execute(request: Request, emit: Emit, progress: Progress) -> int:
    """Run it as a sweep, write its page, and hand a record of each claim to ``emit``. Returns the exit
    status."""
    from app.papers.plan import plan

    from ..sweep.cell_store import Store
    from ..sweep.driver import Sweep
    from . import sweep as sweeps

    place, name = request.place, f"{request.paper.id} {request.name}"
    slots = (place.workers or os.cpu_count() or 1) * place.threads
    planned = plan(name, request.exhibits, request.seconds, slots)
    store = Store(request.folder / f"{request.name}.sweep")
    sweep = Sweep(planned.spec, place, store, resume=request.resume, files=request.files)
    for exhibit in request.exhibits:
        for note in planned.notes[exhibit.id]:
            progress.say(f"{exhibit.name}: {note}")
    for watched in sweep.cells.values():
        if not watched.alive:
            watched.trace = store.trace(watched.cell)
    status = sweeps.execute(sweep, emit, progress)
    outcomes = list(_outcomes(request, planned.cells, planned.notes, sweep.cells, progress))
    _write(request, outcomes, emit, progress)
    return status


def _outcomes(
    request: Request,
    keys: Mapping[str, Sequence[str]],
    notes: Mapping[str, Sequence[str]],
    cells: Mapping[str, Any],
    progress: Progress,
) -> Iterator[Outcome]:
    from app.papers import groups
    from app.papers.drawing import Outcome
    from app.papers.measures import Run

    seen: dict[tuple[str, groups.Watch], groups.Groups] = {}
    for exhibit in request.exhibits:
        if exhibit.id in keys:
            runs = [Run.of(cells[key]) for key in keys[exhibit.id]]
            if (watch := exhibit.weights) is not None:
                for k, key in enumerate(keys[exhibit.id]):
                    trace = runs[k].trace
                    if (key, watch) not in seen and trace is not None and len(trace):
                        progress.say(f"{exhibit.name}: {runs[k].label} runs once more, for its weights")
                        seen[key, watch] = groups.of_run(cells[key].cell, watch, len(trace) - 1)
                    runs[k] = replace(runs[k], groups=seen.get((key, watch)))
            yield Outcome.of(exhibit, runs, notes[exhibit.id])


def _write(request: Request, outcomes: Sequence[Outcome], emit: Emit, progress: Progress) -> None:
    from app.papers.drawing import page
    from solvers.runs.atomic_files import replacing

    for outcome in outcomes:
        where = {"paper": request.paper.id, "exhibit": outcome.exhibit.id}
        for value in outcome.exhibit.values:
            here = outcome.measured(value)
            known = here.low if here is not None and here.known else None
            emit({"type": "value", **where, "name": value.name, "in_paper": value.paper, "here": known})
        for verdict in outcome.verdicts:
            said = {"claim": verdict.claim, "verdict": verdict.word, "of": verdict.of}
            said["numbers"] = list(verdict.numbers)
            emit({"type": "claim", **where, **said})
    file = request.folder / f"{request.name}.html"
    with replacing(file, encoding="utf-8") as written:
        written.write(page(request.paper, outcomes))
    emit({"type": "page", "paper": request.paper.id, "exhibit": request.name, "file": str(file)})
    progress.say(f"{request.paper.id} {request.name}: {file}")
