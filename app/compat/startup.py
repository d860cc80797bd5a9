"""The changes to libraries that are applied before the first page."""

from __future__ import annotations

from solverscope.app.compat import bokeh_defaults, panel_early_changes, panel_event_lock, panel_write_order


def apply() -> None:
    """Apply the changes that concern all pages; repeated calls have no effect."""
    for change in (bokeh_defaults, panel_early_changes, panel_event_lock, panel_write_order):
        change.apply()
