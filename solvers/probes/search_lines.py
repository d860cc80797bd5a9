"""The line of a search, recorded by a probe, and the same line rebuilt from the record."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..problems.line import Line
from ..problems.problem import Problem
from ..search.outcome import SearchLog

#: Weights of a problem up to which lines are recorded: rebuilding one takes vectors over all weights.
MAX_LINE_WEIGHTS = 2_000_000
#: Nonzero entries of w and d together up to which a line is recorded.
MOST_ENTRIES = 100_000


def kept(search: SearchLog, w: np.ndarray, step: float) -> dict[str, np.ndarray]:
    """Return the line w_k + t d that led to ``w`` with ``step``: the non-zero entries of d and w_k, and their
    indices.

    Here w_k = w - step d. Return an empty dict if the path is not straight, or if the problem or the line has
    too many entries.
    """
    active, d = search.active, search.d
    if active is None or d is None or not np.isfinite(step) or w.size > MAX_LINE_WEIGHTS:
        return {}
    found: dict[str, np.ndarray] = {}
    for name, entries in (("d", d), ("w", active.take(w) - step * d)):
        places = np.flatnonzero(entries)
        found[name] = entries[places]
        found[f"{name}_at"] = (places if active.full else active.coordinates[places]).astype(np.int32)
    return found if found["d"].size + found["w"].size <= MOST_ENTRIES else {}


def rebuild(problem: Problem, seen: Mapping[str, np.ndarray]) -> Line:
    """Return the line recorded by :func:`kept`, on the same problem."""
    w, d = np.zeros(problem.size), np.zeros(problem.size)
    w[seen["w_at"]], d[seen["d_at"]] = seen["w"], seen["d"]
    return problem.line(problem.at(w), d)
