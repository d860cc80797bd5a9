"""The changes that are made in the browser, in the order in which they are made."""

from __future__ import annotations

from app.compat import (
    bokeh_axis_title,
    bokeh_css_values,
    bokeh_empty_range,
    bokeh_hidden_layout,
    bokeh_plot_drawn,
    bokeh_plot_layout,
    bokeh_reconnect,
    bokeh_style_sheets,
    bokeh_type_size,
    panel_import_map,
    panel_page_layout,
    panel_react_state,
)

CHANGES = (
    panel_import_map.CHANGE,
    panel_react_state.CHANGE,
    bokeh_reconnect.CHANGE,
    bokeh_style_sheets.CHANGE,
    bokeh_css_values.CHANGE,
    bokeh_hidden_layout.CHANGE,
    bokeh_plot_layout.CHANGE,
    panel_page_layout.CHANGE,
    bokeh_plot_drawn.CHANGE,
    bokeh_empty_range.CHANGE,
    bokeh_axis_title.CHANGE,
    bokeh_type_size.CHANGE,
)


def scripts() -> list[str]:
    """Return the names of the assets with the changes that fit."""
    return [change.script for change in CHANGES if change.fits()]
