"""The weights of a run's iterates that probes have stored."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping

import numpy as np

from .probe import SUPPORT, WIDE, ProbeStore, Seen
from .search_lines import MAX_LINE_WEIGHTS

#: Probes that store the weights of sparse iterates, and of others that are not too large.
WEIGHT_PROBES = (SUPPORT, WIDE)


def weight_entries(store: ProbeStore) -> list[tuple[int, Seen]]:
    """Return the iterations whose weights are stored, ascending, each with its weights."""
    found = [entry for probe in WEIGHT_PROBES for entry in store.entries(probe.name)]
    return sorted(found, key=lambda entry: entry[0])


def line_between(
    store: ProbeStore, objectives: Mapping[int, float], iteration: int
) -> tuple[int, dict[str, np.ndarray]] | None:
    """Return the line between two stored iterates, in the form that the LINE probe records, with steps 0 and
    1.

    They are the last two stored up to ``iteration``, or else the first two; the second one's iteration is
    returned with the line. ``since`` in the line is the first one's iteration. Return None if fewer than two
    are stored, or if f of one is unknown.
    """
    entries = [entry for entry in weight_entries(store) if math.isfinite(objectives.get(entry[0], math.nan))]
    if len(entries) < 2 or int(entries[0][1]["size"]) > MAX_LINE_WEIGHTS:
        return None
    k = min(max(bisect_right(entries, iteration, key=lambda entry: entry[0]) - 1, 1), len(entries) - 1)
    (since, before), (until, after) = entries[k - 1 : k + 1]
    both = np.union1d(before["indices"], after["indices"])
    w, there = np.zeros((2, both.size))
    for values, seen in ((w, before), (there, after)):
        values[np.searchsorted(both, seen["indices"])] = seen["values"]
    f = objectives[since]
    nothing = np.array(math.nan)
    return until, {
        "t": np.ones(1),
        "phi": np.array([objectives[until]]),
        "allowed": np.full(1, math.nan),
        "start": np.array([f, f]),
        "block": np.array(-1),
        "step": np.array(1.0),
        "straight": np.array(True),
        "promised": nothing,
        "model": nothing,
        "since": np.array(since),
        **{"w": w, "w_at": both, "d": there - w, "d_at": both},
    }
