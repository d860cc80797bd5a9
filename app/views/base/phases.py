"""The phases of a run, such as fine, coarse and patch-up, derived from its record."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from solverscope.app.views.base.feed import Records


@dataclass(frozen=True)
class Span:
    """A contiguous phase: its name, its round (-1 if the solver does not count rounds), and its first and
    last row."""

    phase: str
    round: int
    first: int
    last: int


def spans(rows: Records) -> list[Span]:
    """Return the phases of a run in order, from rows of its record; none if its solver names no phases."""
    phases, rounds = rows["phase"], rows["epoch"]
    if not np.not_equal(phases, None).any():
        return []
    new = (phases[1:] != phases[:-1]) | (rounds[1:] != rounds[:-1])
    starts = np.append(0, np.flatnonzero(new) + 1)
    ends = np.append(starts[1:], len(phases)) - 1
    return [
        Span(str(phases[first]), int(rounds[first]), int(first), int(last))
        for first, last in zip(starts, ends, strict=True)
        if phases[first] is not None
    ]


def turns(rows: Records) -> np.ndarray:
    """Return the last row of each phase that is followed by one with another name.

    Epochs of shrinking, which have the same name, are marked differently.
    """
    found = pairwise(spans(rows))
    return np.array([span.last for span, then in found if span.phase != then.phase], dtype=np.int64)
