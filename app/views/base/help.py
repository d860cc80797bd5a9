"""Help on plots: two sentences, the equation that is drawn, and the meaning of each mark.

``app/help/plots.toml`` contains it for the figures of this package, by name. Views of plug-ins declare it in
``help``. It is converted to HTML on demand.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from solverscope.app import ui
from solverscope.app.help import table


class Mark(NamedTuple):
    """A mark in a plot: a glyph, its meaning, and its colour, by default that of the text."""

    glyph: str
    words: str
    color: str = ""


#: Names of colours in ``plots.toml``.
COLORS_BY_NAME = dict(zip(("blue", "orange", "green", "pink", "yellow", "sky"), ui.COLORS, strict=True))
COLORS_BY_NAME["grey"] = ui.GREY
#: Separator of the lines of an equation.
LINE_END = r", \qquad"


@dataclass(frozen=True)
class Help:
    """The help on a plot: a ``text``, an ``equation`` in LaTeX, and its ``source``, a paper and a number.

    Lines of the equation are separated by ``LINE_END``.
    """

    title: str
    text: str
    equation: str
    source: str
    marks: tuple[Mark, ...]

    def html(self) -> str:
        """Return the help as HTML, with the equation as MathML, which browsers can display."""
        marks = "".join(
            f'<li><b style="color: {mark.color or "inherit"}">{mark.glyph}</b>{html.escape(mark.words)}</li>'
            for mark in self.marks
        )
        return (
            f"<h2>{html.escape(self.title)}</h2><p>{html.escape(self.text)}</p>"
            f"{''.join(map(formula, self.equation.split(LINE_END)))}"
            f'<p class="source">{html.escape(self.source)}</p><ul>{marks}</ul>'
        )


@cache
def formula(latex: str) -> str:
    """Return an equation in LaTeX as MathML."""
    from latex2mathml.converter import convert  # not before anybody asks

    return convert(latex, display="block")


def _mark(glyph: str, words: str, color: str = "") -> Mark:
    return Mark(glyph, words, COLORS_BY_NAME.get(color, color))


_plots = table("plots")
#: Marks that many plots have.
SHARED_MARKS = {name: _mark(*mark) for name, mark in _plots["marks"].items()}
RUN, HERE = SHARED_MARKS["run"], SHARED_MARKS["here"]
#: Equations of fields of the record, and their sources.
EQUATIONS = {field: tuple(about) for field, about in _plots["equations"].items()}
#: Help on the figures of this package.
FIGURES = {
    name: Help(
        **about
        | {"marks": tuple(SHARED_MARKS[m] if isinstance(m, str) else _mark(*m) for m in about["marks"])}
    )
    for name, about in _plots["figures"].items()
}
