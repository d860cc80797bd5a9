"""Descriptions of the events of a run, derived from its record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from solverscope.app import ui
from solverscope.solvers.traces.segments import marked

#: Descriptions of events that are failed steps.
TROUBLE = {
    "stalled-on-working-set": "no progress on the working set",
    "curvature-skipped": "curvature pair skipped",
}
#: The same of a search that failed: its solver says so, or clears its memory where no epoch begins.
FAILED_SEARCH = "no step along this direction: memory cleared"
#: Number of trials from which on a line search is reported as long.
MANY_TRIALS = 8
#: Relative increase of f that is more than rounding.
RISE = 1e-12
#: Events of the record that are reported otherwise, or too common to report.
TOLD = {"epoch-start", "memory-cleared", "search-failed", "backtracked", "reclustered", *TROUBLE}


class RunEvent(NamedTuple):
    """An event at an iterate. Its kind is turn (a change of λ), epoch, return, trouble or note."""

    iteration: int
    kind: str
    text: str


def begins(rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return a mask of the recorded iterates at which an epoch begins."""
    found = np.zeros(len(rows["events"]), dtype=bool)
    for row in np.flatnonzero(rows["events"]):
        found[row] = "epoch-start" in rows["events"][row]
    return found


def returns(rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return, for each recorded iterate, the number of weights that shrinking had missed and that returned.

    Within an epoch, only the excess over the largest number so far is counted.
    """
    found = np.maximum(rows["returned"], 0)
    for epoch in np.split(found, np.flatnonzero(begins(rows))):  # views
        epoch[:] = np.diff(np.maximum.accumulate(epoch), prepend=0)
    return found


def run_events(rows: Mapping[str, np.ndarray], *, notes: bool = True) -> list[RunEvent]:
    """Return the events of the recorded iterates in order; without ``notes``, events of that kind are
    omitted."""
    back, objective, phase = returns(rows), rows["objective"], rows["phase"]
    with np.errstate(invalid="ignore"):  # of infinite ones
        rises = np.diff(objective, prepend=np.inf) > RISE * np.abs(objective)
    eventful = rows["events"].astype(bool) | (back > 0)
    if notes:
        begins_phase = np.append(False, phase[1:] != phase[:-1])[: len(phase)]
        eventful |= rises | begins_phase | (rows["ls_trials"] >= MANY_TRIALS)
    found: list[RunEvent] = []
    for k in np.flatnonzero(eventful).tolist():
        events, returned, trials = rows["events"][k], int(back[k]), int(rows["ls_trials"][k])
        turned = [in_words(event) for event in events if marked(event) is not None]
        said = [("turn", text) for text in turned]
        if "epoch-start" in events:
            said.append(("epoch", f"epoch {rows['epoch'][k]} begins"))
        if returned:
            weights = ui.counted(returned, "weight returns", "weights return")
            said.append(("return", f"{weights} that shrinking had missed"))
        said += [("trouble", text) for word, text in TROUBLE.items() if word in events]
        if "search-failed" in events or events.count("memory-cleared") > events.count("epoch-start"):
            said.append(("trouble", FAILED_SEARCH))
        if notes:
            if begins_phase[k] and phase[k] is not None and phase[k - 1] is not None:
                said.append(("note", f"phase {phase[k]} begins"))
            if "reclustered" in events:
                crossed = int(rows["crossovers"][k])
                crossing = f", {ui.number(crossed)} weights change cluster" if crossed > 0 else ""
                said.append(("note", f"{ui.number(int(rows['clusters'][k]))} clusters form{crossing}"))
            if trials >= MANY_TRIALS:
                said.append(("note", f"the line search takes {trials} trials"))
            if rises[k] and not turned:
                said.append(("note", f"f rises by {ui.number(float(objective[k] - objective[k - 1]), 2)}"))
            said += [("note", in_words(word)) for word in events if word not in TOLD and marked(word) is None]
        found += [RunEvent(int(rows["iteration"][k]), kind, text) for kind, text in said]
    return found


def in_words(event: str) -> str:
    """Return an event of the record as text."""
    lam = marked(event)
    return event.replace("-", " ") if lam is None else lam_in_words(float(lam))


def lam_in_words(lam: float) -> str:
    """Return "λ = " and its value."""
    return f"λ = {ui.number(lam, 4)}"
