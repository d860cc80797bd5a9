# ruff: noqa: F401 (imports are what is public)
"""The appearance of the page: colours, figures, formatted numbers, panes and the Material UI theme."""

from .assets import ASSETS, asset, head_script, page_script, script
from .colours import COLORS, DASHES, GREY, dash
from .formatting import aligned, capital, cell, counted, number, seconds
from .material import REM, mui
from .plots import (
    IMAGE,
    LAM_AXIS,
    columns,
    curve,
    diamonds,
    draw,
    fill,
    follow_axes,
    hover_name,
    image,
    integer_ticks,
    least,
    name_ticks,
    picture,
    plot,
    point_out,
    put,
    scale,
    shape,
    show_all,
    source,
    step_ticks,
    styled,
    upright,
)
from .widgets import (
    CursorText,
    TextPane,
    column,
    cursor_text,
    holoviews_pane,
    html,
    mark_legend,
    pane,
    pixel_label,
    runs_legend,
    set_class,
    visibility_css,
)
