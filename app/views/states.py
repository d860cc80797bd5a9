"""What weights were at an iterate as a run's probes saw it: shrunk, in the working set, not zero, or back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from app import theme
from app.views.probe_view import Seen
from solvers import ACTIVE, SHRINKING, Trace
from solvers.runs.subsets import INSIDE, MOST_BYTES, UNKNOWN, contains, known_members

#: What a weight may be at an iterate, in the order of their codes, and its colour in pictures.
STATES = {
    "shrunk": "#88888822",
    "in the working set and zero": "#56B4E999",
    "not zero": theme.COLORS[0],
    "back, not zero, after it had been dropped": theme.COLORS[1],
}
SHRUNK, ZERO, NONZERO, RETURNED = range(4)
#: Not observed at this iterate, or not yet.
UNSEEN = len(STATES)


def subset(seen: Seen, name: str) -> dict[str, np.ndarray]:
    """Return the set ``inside`` or ``support`` of what the ``active`` probe saw."""
    return {key.removeprefix(name + "_"): kept for key, kept in seen.items() if key.startswith(name + "_")}


def states(trace: Trace, iteration: int, weights: np.ndarray) -> np.ndarray:
    """Return what these weights were, as observed last up to an iteration: codes in the order of
    ``STATES``."""
    _, seen = trace.probes.last(ACTIVE.name, iteration)
    inside, nonzero = (contains(subset(seen, name), weights) for name in ("inside", "support"))
    found = np.where(nonzero == INSIDE, NONZERO, np.where(inside == INSIDE, ZERO, SHRUNK)).astype(np.uint8)
    found[(nonzero != INSIDE) & ((inside == UNKNOWN) | (inside == INSIDE) & (nonzero == UNKNOWN))] = UNSEEN
    if (test := trace.probes.last(SHRINKING.name, iteration)) is not None:
        found[np.isin(weights, test[1]["returned"])] = RETURNED
    return found


def picked(seen: Seen) -> np.ndarray:
    """Return the working set, ascending; where it is all weights, or too large to be kept whole, those not
    zero."""
    members = known_members(subset(seen, "inside"))
    if members is None:
        members = known_members(subset(seen, "support"))
    return np.empty(0, dtype=np.int64) if members is None else members


def used(trace: Trace) -> np.ndarray:
    """Return weights picked for a working set after iteration 1, ascending: before, the solver knows nothing
    yet."""
    entries = trace.probes.entries(ACTIVE.name)
    last = max(k for k, _ in entries)
    sets = [picked(seen) for k, seen in entries if k > min(1, last - 1)]
    size = int(entries[0][1]["size"])
    if size <= 8 * MOST_BYTES:
        ever = np.zeros(size, dtype=bool)
        for members in sets:
            ever[members] = True
        return np.flatnonzero(ever)
    return np.unique(np.concatenate(sets)).astype(np.int64)


def returned(trace: Trace) -> np.ndarray:
    """Return weights that were ever back after they had been dropped by mistake, ascending."""
    found = [seen["returned"] for _, seen in trace.probes.entries(SHRINKING.name)]
    return np.unique(np.concatenate(found)).astype(np.int64) if found else np.empty(0, dtype=np.int64)


def name_of(trace: Trace, weight: int) -> str:
    """Name a weight, as far as the run has names."""
    about = trace.info.get("problem")
    if about is None:
        return f"weight {weight}"
    return trace.names.weight(weight, about["n_features"], about["n_outputs"])


def legend(colors: Mapping[str, str]) -> str:
    """Return what the colours mean, as HTML."""
    chip = "display:inline-block;width:12px;height:12px;margin:0 6px -1px 0;outline:1px solid #8886"
    chips = (
        f'<span style="white-space:nowrap"><span style="{chip};background:{color}"></span>{name}</span>'
        for name, color in colors.items()
    )
    return f'<span style="display:inline-flex;flex-wrap:wrap;gap:0 16px">{"".join(chips)}</span>'
