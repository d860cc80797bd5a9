"""Events of a run in words, from its record alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from app import theme
from solvers.runs.segments import marked

#: Events that are failed steps, in words.
TROUBLE = {
    "stalled-on-working-set": "no progress on the working set",
    "curvature-skipped": "curvature pair skipped",
}
#: The same of a memory that is cleared without a new epoch, which begins with an empty one.
FAILED_SEARCH = "no step along this direction: memory cleared"
#: Trials of a line search that are many.
MANY_TRIALS = 8
#: Rise of f, in parts of it, that is more than rounding.
RISE = 1e-12
#: Events of the record that are reported otherwise, or too common to report.
TOLD = {"epoch-start", "memory-cleared", "backtracked", "reclustered", *TROUBLE}

#: Columns of the record that are read here.
COLUMNS = (
    *("iteration", "epoch", "events", "objective", "ls_trials", "phase"),
    *("clusters", "crossovers"),
)


class RunEvent(NamedTuple):
    """An event at an iterate, of the kind turn (a change of λ), epoch, return, trouble or note."""

    iteration: int
    kind: str
    text: str


def begins(rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """Tell at which of the recorded iterates an epoch begins."""
    return np.array(["epoch-start" in events for events in rows["events"]], dtype=bool)


def returns(rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """Count the weights that come back at each recorded iterate, which shrinking had missed: those beyond the
    most that any iterate of the epoch had back before."""
    found = np.maximum(rows["returned"], 0)
    for epoch in np.split(found, np.flatnonzero(begins(rows))):  # views
        epoch[:] = np.diff(np.maximum.accumulate(epoch), prepend=0)
    return found


def run_events(rows: Mapping[str, np.ndarray]) -> list[RunEvent]:
    """List the events of the recorded iterates, in their order."""
    found: list[RunEvent] = []
    objective_before, phase_before = np.inf, None
    columns = [returns(rows).tolist(), *(rows[name].tolist() for name in COLUMNS)]
    for returned, iteration, epoch, events, objective, trials, phase, clusters, crossed in zip(
        *columns, strict=True
    ):
        turned = [in_words(event) for event in events if marked(event) is not None]
        said = [("turn", text) for text in turned]
        if "epoch-start" in events:
            said.append(("epoch", f"epoch {epoch} begins"))
        if returned:
            back = "1 weight returns" if returned == 1 else f"{theme.number(returned)} weights return"
            said.append(("return", f"{back} that shrinking had missed"))
        said += [("trouble", text) for word, text in TROUBLE.items() if word in events]
        if events.count("memory-cleared") > events.count("epoch-start"):
            said.append(("trouble", FAILED_SEARCH))
        if phase != phase_before and phase is not None and phase_before is not None:
            said.append(("note", f"phase {phase} begins"))
        if "reclustered" in events:
            crossing = f", {theme.number(crossed)} weights change cluster" if crossed > 0 else ""
            said.append(("note", f"{theme.number(clusters)} clusters form{crossing}"))
        if trials >= MANY_TRIALS:
            said.append(("note", f"the line search takes {trials} trials"))
        if objective - objective_before > RISE * abs(objective) and not turned:
            said.append(("note", f"f rises by {theme.number(objective - objective_before, 2)}"))
        said += [("note", in_words(word)) for word in events if word not in TOLD and marked(word) is None]
        found += [RunEvent(iteration, kind, text) for kind, text in said]
        objective_before, phase_before = objective, phase
    return found


def in_words(event: str) -> str:
    """Return an event of the record as a person would write it."""
    lam = marked(event)
    return event.replace("-", " ") if lam is None else lam_in_words(float(lam))


def lam_in_words(lam: float) -> str:
    """Say what λ is."""
    return f"λ = {theme.number(lam, 4)}"
