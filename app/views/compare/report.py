"""Reports: figures and text as an HTML file that needs no server and no network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bokeh.embed import file_html
from bokeh.plotting import figure
from bokeh.util.paths import bokehjs_path
from jinja2 import Template

from solverscope.app import ui


class Section(NamedTuple):
    """A part of a report: a heading, optionally a figure, and HTML below the heading."""

    heading: str
    body: str = ""
    figure: figure | None = None


def report(title: str, sections: Sequence[Section]) -> str:
    """Return a report as HTML. It must be called in the page's thread, which owns the figures."""
    drawn = [section.figure for section in sections if section.figure is not None]
    # not by Bokeh's Resources: Panel has them ask for its own scripts as well
    script = (bokehjs_path() / "js" / "bokeh.min.js").read_text(encoding="utf-8")
    ground, ink = "#ffffff", "#222222"
    if drawn:  # the colours of the page, which is light or dark
        ground, ink = drawn[0].border_fill_color, drawn[0].xaxis[0].axis_label_text_color
    words = {"script": script, "style": ui.asset("report.css"), "ground": ground, "ink": ink}
    words["sections"] = [(one, drawn.index(one.figure) if one.figure else 0) for one in sections]
    template = Template(ui.asset("report.html"))
    if not drawn:
        return template.render(title=title, **words)
    return file_html(
        drawn, title=title, template=template, template_variables=words, suppress_callback_warning=True
    )
