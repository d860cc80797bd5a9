"""What happened in a run, iterate by iterate, in words: from its record alone."""

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
FAILED_SEARCH = "no step in this direction: the memory is cleared"
#: Trials of a line search that are many.
MANY_TRIALS = 8
#: Rise of f, in parts of it, that is more than rounding.
RISE = 1e-12
#: Events of the record that are told in other ways, or are too common to tell.
TOLD = {"epoch-start", "memory-cleared", "backtracked", "reclustered", *TROUBLE}

#: Columns of the record that are read here.
COLUMNS = (
    *("iteration", "epoch", "returned", "events", "objective", "ls_trials", "phase"),
    *("clusters", "crossovers"),
)


class Happening(NamedTuple):
    """Something that happened at an iterate. Kinds are turn (of λ), epoch, return, trouble, and note for the
    rest."""

    iteration: int
    kind: str
    text: str


def happenings(rows: Mapping[str, np.ndarray]) -> list[Happening]:
    """List what happened at recorded iterates, in their order."""
    found: list[Happening] = []
    returned_so_far, objective_before, phase_before = 0, np.inf, None
    for iteration, epoch, returned, events, objective, trials, phase, clusters, crossed in zip(
        *(rows[name].tolist() for name in COLUMNS), strict=True
    ):
        turned = [in_words(event) for event in events if marked(event) is not None]
        said = [("turn", text) for text in turned]
        if "epoch-start" in events:
            said.append(("epoch", f"epoch {epoch} begins"))
            returned_so_far = 0
        if returned > returned_so_far:
            back = "1 variable is" if returned == 1 else f"{theme.number(returned)} variables are"
            said.append(("return", f"{back} back that shrinking had missed"))
        returned_so_far = max(returned_so_far, returned)
        said += [("trouble", text) for word, text in TROUBLE.items() if word in events]
        if events.count("memory-cleared") > events.count("epoch-start"):
            said.append(("trouble", FAILED_SEARCH))
        if phase != phase_before and phase is not None and phase_before is not None:
            said.append(("note", f"phase {phase} begins"))
        if "reclustered" in events:
            crossing = f", and {theme.number(crossed)} weights cross" if crossed > 0 else ""
            said.append(("note", f"weights form {theme.number(clusters)} clusters{crossing}"))
        if trials >= MANY_TRIALS:
            said.append(("note", f"the line search takes {trials} trials"))
        if objective - objective_before > RISE * abs(objective) and not turned:
            said.append(("note", f"f goes up by {theme.number(objective - objective_before, 2)}"))
        said += [("note", in_words(word)) for word in events if word not in TOLD and marked(word) is None]
        found += [Happening(iteration, kind, text) for kind, text in said]
        objective_before, phase_before = objective, phase
    return found


def in_words(event: str) -> str:
    """Return an event of the record as a person would write it."""
    lam = marked(event)
    return event.replace("-", " ") if lam is None else lam_in_words(float(lam))


def lam_in_words(lam: float) -> str:
    """Say what λ is."""
    return f"λ = {theme.number(lam, 4)}"
