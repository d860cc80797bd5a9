"""The changes that are made in the browser: a script of ``assets/compat`` each, with what a :class:`.Change`
says, in TOML, in the comment that it begins with."""

from __future__ import annotations

import tomllib
from pathlib import Path

from app.compat.change import Change

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "compat"
#: In the order in which they are made.
NAMES = (
    "panel_import_map",
    "panel_react_state",
    "bokeh_reconnect",
    "bokeh_style_sheets",
    "bokeh_css_values",
    "bokeh_hidden_layout",
    "bokeh_plot_layout",
    "panel_page_layout",
    "bokeh_plot_drawn",
    "bokeh_empty_range",
    "bokeh_axis_title",
    "bokeh_type_size",
)


def _change(name: str) -> Change:
    about, _, script = (FOLDER / f"{name}.js").read_text(encoding="utf-8").partition("*/\n")
    said = tomllib.loads(about.removeprefix("/*"))
    return Change(name=name, script=script, **said | {"knows": tuple(said["knows"])})


CHANGES = {name: _change(name) for name in NAMES}


def scripts() -> str:
    """Return the scripts of the changes that fit."""
    return "\n".join(change.script for change in CHANGES.values() if change.fits())
