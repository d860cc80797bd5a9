"""Panes and elements of HTML in the page's style."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import panel as pn
from bokeh.document import Document
from bokeh.plotting import figure

from solverscope.datasets.names import PIXEL

from .assets import asset
from .colours import STROKES


class TextPane(pn.pane.HTML):
    """A pane of HTML whose style sheets come from the server of its page.

    A model that a batch has just added has no document yet, so Panel would use style sheets of another host.
    """

    def _get_properties(self, doc: Document | None) -> dict[str, Any]:
        return super()._get_properties(pn.state.curdoc if doc is None else doc)


def html(text: str = "", **layout: Any) -> TextPane:
    """Return a pane of HTML in the page's style."""
    return TextPane(text, stylesheets=[asset("html.css")], **({"margin": 0} | layout))


def column(*objects: Any, kind: str) -> pn.Column:
    """Return a part of the page's frame or of a view, laid out by ``layout.css``.

    ``kind`` lists its CSS classes, the first of which determines the layout.
    """
    classes = kind.split()
    made = pn.Column(
        *objects, css_classes=classes, stylesheets=[asset("layout.css")], sizing_mode="stretch_both", margin=0
    )

    def show(event: Any) -> None:  # a class, since the layout of a kind is stronger than Bokeh's way to hide
        set_class(made, "hidden", not event.new)

    made.param.watch(show, "visible")
    return made


def set_class(part: pn.viewable.Viewable, name: str, on: bool) -> None:
    """Add a CSS class to a part of the page, or remove it."""
    others = [one for one in part.css_classes if one != name]
    part.css_classes = [*others, name] if on else others


class CursorText(TextPane):
    """A pane of text with a fixed height, which can also be scrolled by the keyboard."""

    def _transform_object(self, obj: Any) -> dict[str, Any]:
        text = f'<div class="text" role="group" tabindex="0" aria-label="At the cursor">{obj}</div>'
        return super()._transform_object(text if obj else obj)


def cursor_text(lines: int = 2, narrow: int | None = None, *, on_top: bool = False) -> CursorText:
    """Return a pane for text that depends on the cursor, ``lines`` high, and ``narrow`` high in narrow
    windows.

    Longer texts are scrolled, so that nothing moves when the text changes. With ``on_top`` the text does not
    cover the corner of a view in which the displayed iterate is noted.
    """
    heights = {"--lines": str(lines), "--narrow": str(narrow or lines)}
    classes = ["cursor-text", "on-top"] if on_top else ["cursor-text"]
    looks = {"css_classes": classes, "styles": heights, "margin": 0}
    return CursorText(stylesheets=[asset("html.css")], sizing_mode="stretch_width", **looks)


def pane(fig: figure | None = None) -> pn.pane.Bokeh:
    """Return a pane for a figure, which fills the space in its frame."""
    return pn.pane.Bokeh(fig, sizing_mode="stretch_both", margin=0)


def holoviews_pane() -> pn.pane.HoloViews:
    """Return a pane for a HoloViews plot, which fills the space in its frame."""
    return pn.pane.HoloViews(sizing_mode="stretch_both", margin=0, linked_axes=False)


def visibility_css(shown: bool) -> dict[str, str]:
    """Return styles that show an element, or hide it without changing the layout.

    Opacity is needed to hide panes of HTML, which are always visible; visibility keeps the focus away from
    them.
    """
    if shown:
        return {"opacity": "1", "visibility": "inherit", "pointer-events": "auto"}
    return {"opacity": "0", "visibility": "hidden", "pointer-events": "none"}


def pixel_label(name: str, shape: tuple[int, int] | None) -> str:
    """Return the name of a feature or a weight as HTML.

    If it is the name of pixels, the page shows them in an image of this ``shape`` while the pointer is on it.
    """
    text = escape(name)
    if shape is None or not name.startswith(PIXEL.partition("(")[0]):
        return text
    return f'<span class="pixel-label" data-shape="{shape[0]} {shape[1]}">{text}</span>'


def mark_legend(meanings: Iterable[tuple[str, str, str]]) -> str:
    """Return a legend of the marks in a plot as a line of HTML; each mark is a glyph, its colour and its
    meaning."""
    entries = (
        f'<span style="white-space:nowrap"><b style="color:{color}">{glyph}</b> {words}</span>'
        for glyph, color, words in meanings
    )
    return (
        '<p class="note" style="display:flex;flex-wrap:wrap;gap:0 14px;margin:0">' + "".join(entries) + "</p>"
    )


def runs_legend(runs: Iterable[tuple[str, str, str, str, bool]]) -> str:
    """Return a legend of runs as HTML; each run is a label, a colour, a dash, a note, and whether it is
    faint."""
    entries = "".join(
        f'<li{" class=ghost" if faint else ""}><svg viewBox="0 0 32 10" aria-hidden="true">'
        f'<path d="M0 5h32" stroke="{color}" stroke-width="2" stroke-dasharray="{STROKES[dash]}"/>'
        f"</svg>{escape(label)} <small>{escape(note)}</small></li>"
        for label, color, dash, note, faint in runs
    )
    return f'<ul class="legend">{entries}</ul>'
