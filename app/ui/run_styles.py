"""Styles of runs: the index of a colour and a dash, and whether a run is faint."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

from solverscope.app.ui.colours import COLORS, dash
from solverscope.solvers import Trace


class RunStyle(NamedTuple):
    """The index of a colour and a dash; a ``ghost`` is drawn faintly."""

    number: int
    ghost: bool = False


_styles: WeakKeyDictionary[Trace, RunStyle] = WeakKeyDictionary()


def set_style(trace: Trace, number: int, *, ghost: bool = False) -> None:
    """Set the style of a run."""
    _styles[trace] = RunStyle(number, ghost)


def style_of(trace: Trace, place: int = 0) -> RunStyle:
    """Return the style set for a run, or the default for its index among the displayed runs."""
    return _styles.get(trace) or RunStyle(place)


def color_and_dash(trace: Trace, place: int = 0) -> tuple[str, str]:
    """Return the colour and the dash of a run."""
    k = style_of(trace, place).number
    return COLORS[k % len(COLORS)], dash(k)
