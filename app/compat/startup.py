"""What is changed before the first page is made."""

from __future__ import annotations

from solverscope.app.compat import (
    bokeh_closed_tab,
    bokeh_defaults,
    bokeh_failed_callback,
    bokeh_large_message,
    bokeh_slow_client,
    panel_early_changes,
    panel_event_lock,
    panel_local_styles,
    panel_location,
    panel_working_directory,
    panel_write_order,
)


def apply() -> None:
    """Make the changes that concern all pages. May be called again and again."""
    for change in (
        panel_early_changes,
        panel_event_lock,
        panel_write_order,
        panel_local_styles,
        panel_location,
        panel_working_directory,
        bokeh_failed_callback,
        bokeh_closed_tab,
        bokeh_slow_client,
        bokeh_large_message,
        bokeh_defaults,
    ):
        change.apply()
