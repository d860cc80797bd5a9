"""The straight line that a search went along: what a probe keeps of it, and the same line rebuilt from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..parts.linesearch import Search

if TYPE_CHECKING:
    from ..problems.line import Line
    from ..problems.problem import Problem

#: Weights of a problem whose lines are kept: rebuilding one takes vectors of all of them.
MOST_WEIGHTS = 2_000_000
#: Entries of w and of d, those that are zero not counted, that are kept of one line.
MOST_ENTRIES = 100_000


def kept(search: Search, w: np.ndarray, step: float) -> dict[str, np.ndarray]:
    """Copy the line w_k + t d that led to ``w`` with ``step``: the entries of d and of w_k = w - step d that
    are not zero, and where they stand.

    Nothing is kept of a path that is not straight, of a huge problem, and of a line with very many entries.
    """
    active, d = search.active, search.d
    if active is None or d is None or not np.isfinite(step) or w.size > MOST_WEIGHTS:
        return {}
    found: dict[str, np.ndarray] = {}
    for name, entries in (("d", d), ("w", active.take(w) - step * d)):
        places = np.flatnonzero(entries)
        found[name] = entries[places]
        found[f"{name}_at"] = (places if active.full else active.coordinates[places]).astype(np.int32)
    return found if found["d"].size + found["w"].size <= MOST_ENTRIES else {}


def rebuild(problem: Problem, seen: Mapping[str, np.ndarray]) -> Line:
    """Return the line of which ``kept`` has kept what it took of ``problem``."""
    w, d = np.zeros(problem.size), np.zeros(problem.size)
    w[seen["w_at"]], d[seen["d_at"]] = seen["w"], seen["d"]
    return problem.line(problem.at(w), d)
