"""Panes and pieces of HTML in the page's style."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import panel as pn
from bokeh.plotting import figure

from solverscope.datasets.names import PIXEL

from ..colours import STROKES
from .assets import asset


def html(text: str = "", **layout: Any) -> pn.pane.HTML:
    """Make a pane of HTML in the page's style."""
    return pn.pane.HTML(text, stylesheets=[asset("html.css")], **({"margin": 0} | layout))


def column(*objects: Any, kind: str) -> pn.Column:
    """Return a part of the page's frame or of a view, laid out as ``layout.css`` says of its kind,
    the first of the classes that it names."""
    classes = kind.split()
    made = pn.Column(
        *objects, css_classes=classes, stylesheets=[asset("layout.css")], sizing_mode="stretch_both", margin=0
    )

    def show(event: Any) -> None:  # a class, since the layout of a kind is stronger than Bokeh's way to hide
        mark(made, "hidden", not event.new)

    made.param.watch(show, "visible")
    return made


def mark(part: pn.viewable.Viewable, name: str, on: bool) -> None:
    """Give a part of the page a class, or take it away."""
    others = [one for one in part.css_classes if one != name]
    part.css_classes = [*others, name] if on else others


class Said(pn.pane.HTML):
    """Sentences in a place of a fixed height, which can be scrolled by keys as well."""

    def _transform_object(self, obj: Any) -> dict[str, Any]:
        text = f'<div class="text" role="group" tabindex="0" aria-label="At the cursor">{obj}</div>'
        return super()._transform_object(text if obj else obj)


def said(lines: int = 2, narrow: int | None = None, *, on_top: bool = False) -> Said:
    """Return a place for sentences that change with the cursor: ``lines`` high (``narrow`` in a narrow
    window), and scrolled if there are more, so that nothing moves when they change. ``on_top`` of a view
    they leave its corner to the note of the iterate shown."""
    heights = {"--lines": str(lines), "--narrow": str(narrow or lines)}
    looks = {"css_classes": ["said", "on-top"] if on_top else ["said"], "styles": heights, "margin": 0}
    return Said(stylesheets=[asset("html.css")], sizing_mode="stretch_width", **looks)


def pane(fig: figure | None = None) -> pn.pane.Bokeh:
    """Return a place for a figure, which takes all the room that the frame gives it."""
    return pn.pane.Bokeh(fig, sizing_mode="stretch_both", margin=0)


def seen(shown: bool) -> dict[str, str]:
    """Return the styles that show something, or hide it and keep its place, so that the page need not be
    laid out again. Opacity hides panes of HTML, which are always visible; visibility keeps the focus away
    from what is hidden."""
    if shown:
        return {"opacity": "1", "visibility": "inherit", "pointer-events": "auto"}
    return {"opacity": "0", "visibility": "hidden", "pointer-events": "none"}


def pictured(name: str, shape: tuple[int, int] | None) -> str:
    """Return the name of a feature or a weight as HTML; pixels of a picture of this shape are shown while the
    pointer is on it."""
    text = escape(name)
    if shape is None or not name.startswith(PIXEL.partition("(")[0]):
        return text
    return f'<span class="pictured" data-shape="{shape[0]} {shape[1]}">{text}</span>'


def marks(meanings: Iterable[tuple[str, str, str]]) -> str:
    """Return what the marks in a picture mean as a line of HTML: a glyph, its colour and words each."""
    entries = (
        f'<span style="white-space:nowrap"><b style="color:{color}">{glyph}</b> {words}</span>'
        for glyph, color, words in meanings
    )
    return (
        '<p class="note" style="display:flex;flex-wrap:wrap;gap:0 14px;margin:0">' + "".join(entries) + "</p>"
    )


def runs_legend(runs: Iterable[tuple[str, str, str, str, bool]]) -> str:
    """Return which line is which run as HTML: a label, colour, dash and note each, and whether it is
    faint."""
    entries = "".join(
        f'<li{" class=ghost" if faint else ""}><svg viewBox="0 0 32 10" aria-hidden="true">'
        f'<path d="M0 5h32" stroke="{color}" stroke-width="2" stroke-dasharray="{STROKES[dash]}"/>'
        f"</svg>{escape(label)} <small>{escape(note)}</small></li>"
        for label, color, dash, note, faint in runs
    )
    return f'<ul class="legend">{entries}</ul>'
