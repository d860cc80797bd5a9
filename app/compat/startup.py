"""The changes to libraries that are made before the first page."""

from __future__ import annotations

from solverscope.app.compat import bokeh_defaults, panel_early_changes, panel_event_lock, panel_write_order


def apply() -> None:
    """Make the changes that concern all pages. It may be called repeatedly."""
    for change in (bokeh_defaults, panel_early_changes, panel_event_lock, panel_write_order):
        change.apply()
