# ruff: noqa: F401 (imports are what is public)
"""How the page looks: colours, figures, numbers as texts, panes and Material UI's theme."""

from ..colours import COLORS, DASHES, GREY, dash
from .assets import ASSETS, asset
from .formatting import aligned, capital, cell, counted, number, seconds
from .material import REM, mui
from .plots import (
    IMAGE,
    columns,
    curve,
    diamonds,
    draw,
    fill,
    follow_axes,
    image,
    least,
    name_ticks,
    picture,
    plot,
    point_out,
    put,
    scale,
    show_all,
    source,
    step_ticks,
    styled,
    tip,
    upright,
    whole,
)
from .widgets import Said, column, html, mark, marks, pane, pictured, runs_legend, said, seen
