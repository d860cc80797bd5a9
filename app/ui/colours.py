"""Colours and dashes that distinguish runs."""

from __future__ import annotations

#: Okabe and Ito's colours without black and yellow, which a dark or a light page swallows.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")

DASHES = ("solid", "dashed", "dotdash", "dotted")

GREY = "#888888"

#: SVG dash arrays, in pixels, for Bokeh's dashes.
STROKES = {"solid": "none", "dashed": "6", "dotdash": "2 4 6 4", "dotted": "2 4"}


def dash(k: int) -> str:
    """Return the dash of run ``k``, which differs from that of the next run and of the next run of its
    colour."""
    return DASHES[(k % len(COLORS) + k // len(COLORS)) % len(DASHES)]
