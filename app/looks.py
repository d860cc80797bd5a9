"""How runs are drawn: the number of each one's colour and dash, and whether it is faint."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

from solverscope.app.colours import COLORS, dash
from solverscope.solvers import Trace


class Look(NamedTuple):
    """The number of a colour and a dash; a ``ghost`` is drawn faintly."""

    style: int
    ghost: bool = False


_looks: WeakKeyDictionary[Trace, Look] = WeakKeyDictionary()


def give(trace: Trace, style: int, *, ghost: bool = False) -> None:
    """Draw a run like this from now on."""
    _looks[trace] = Look(style, ghost)


def look(trace: Trace, place: int = 0) -> Look:
    """Return the look that a run was given, else that of its place among those shown."""
    return _looks.get(trace) or Look(place)


def style(trace: Trace, place: int = 0) -> tuple[str, str]:
    """Return colour and dash of a run."""
    k = look(trace, place).style
    return COLORS[k % len(COLORS)], dash(k)
