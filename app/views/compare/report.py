"""Figures and words as one HTML file that needs no server and no network."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, NamedTuple

from bokeh.embed.elements import html_page_for_render_items
from bokeh.embed.util import OutputDocumentFor, RenderItem, standalone_docs_json_and_render_items
from bokeh.plotting import figure
from bokeh.util.paths import bokehjs_path
from jinja2 import Template

from app import theme

TEMPLATE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{ title }}</title>
<link rel="icon" href="data:,">
<style>{{ style }}</style>
{{ bokeh_js }}
</head>
<body>
{{ body }}
{{ plot_script }}
</body>
</html>
""")


class Section(NamedTuple):
    """A part of a report: a heading, a figure where there is one, and HTML below the heading."""

    heading: str
    body: str = ""
    figure: figure | None = None


class Report:
    """What is on a page, taken at one moment. To make it takes the page's thread, as the figures are its own;
    ``html`` takes any."""

    def __init__(self, title: str, sections: Sequence[Section]) -> None:
        self._title, self._sections = title, list(sections)
        self._docs: dict[Any, Any] = {}
        self._item: RenderItem | None = None
        drawn = [section.figure for section in self._sections if section.figure is not None]
        if drawn:
            with OutputDocumentFor(drawn, always_new=True):
                self._docs, (self._item,) = standalone_docs_json_and_render_items(
                    drawn, suppress_callback_warning=True
                )

    def html(self) -> str:
        """Return the file."""
        # not by Bokeh's Resources: Panel has them ask for its own scripts as well
        script = (bokehjs_path() / "js" / "bokeh.min.js").read_text(encoding="utf-8")
        words = {"style": self._colors() + theme.asset("report.css"), "body": self._body()}
        items = [] if self._item is None else [self._item]
        return html_page_for_render_items(
            (f"<script>{script}</script>", ""), self._docs, items, self._title, TEMPLATE, words
        )

    def _colors(self) -> str:
        """Return the colours of the page as those of its figures, which are light or dark."""
        drawn = [section.figure for section in self._sections if section.figure is not None]
        ground, ink = "#ffffff", "#222222"
        if drawn:
            ground, ink = drawn[0].border_fill_color, drawn[0].xaxis[0].axis_label_text_color
        return f":root {{ --ground: {ground}; --ink: {ink}; }}\n"

    def _body(self) -> str:
        places = iter(self._item.roots if self._item is not None else ())
        parts = [f"<h1>{html.escape(self._title)}</h1>"]
        for section in self._sections:
            parts.append(f"<section><h2>{html.escape(section.heading)}</h2>{section.body}")
            if section.figure is not None:
                root = next(places)
                parts.append(
                    f'<div class="plot"><div id="{root.elementid}" data-root-id="{root.id}"></div></div>'
                )
            parts.append("</section>")
        return "\n".join(parts)
