"""What a plot shows: two sentences, the equation that it draws, and what each of its marks means.

``help.toml`` has it for the figures of this package, by their names. A plug-in's view declares a ``help`` of
its own. It becomes HTML when a visitor asks for it.
"""

from __future__ import annotations

import html
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from solverscope.app import theme


class Mark(NamedTuple):
    """A mark in a plot: a glyph that looks like it, what it means, and its colour; without one it has that of
    the text."""

    glyph: str
    words: str
    color: str = ""


#: How colours are called in ``help.toml``.
NAMED = dict(zip(("blue", "orange", "green", "pink", "yellow", "sky"), theme.COLORS, strict=True))
NAMED["grey"] = theme.GREY
#: Where a line of an equation ends.
LINE = r", \qquad"


@dataclass(frozen=True)
class Help:
    """``text`` is two sentences, ``equation`` LaTeX, whose lines ``LINE`` ends, ``source`` the paper and the
    number that it has there."""

    title: str
    text: str
    equation: str
    source: str
    marks: tuple[Mark, ...]

    def html(self) -> str:
        """Return it as HTML, the equation as MathML, which browsers draw by themselves."""
        marks = "".join(
            f'<li><b style="color: {mark.color or "inherit"}">{mark.glyph}</b>{html.escape(mark.words)}</li>'
            for mark in self.marks
        )
        return (
            f"<h2>{html.escape(self.title)}</h2><p>{html.escape(self.text)}</p>"
            f"{''.join(map(formula, self.equation.split(LINE)))}"
            f'<p class="source">{html.escape(self.source)}</p><ul>{marks}</ul>'
        )


@cache
def formula(latex: str) -> str:
    """Return an equation in LaTeX as MathML."""
    from latex2mathml.converter import convert  # not before anybody asks

    return convert(latex, display="block")


def _mark(glyph: str, words: str, color: str = "") -> Mark:
    return Mark(glyph, words, NAMED.get(color, color))


_told = tomllib.loads(Path(__file__).with_name("help.toml").read_text(encoding="utf-8"))
#: Marks that many plots have.
MARKS = {name: _mark(*mark) for name, mark in _told["marks"].items()}
RUN, HERE = MARKS["run"], MARKS["here"]
#: Equations of fields of the record, and where they are from.
EQUATIONS = {field: tuple(about) for field, about in _told["equations"].items()}
#: What the figures of this package show.
FIGURES = {
    name: Help(
        **about | {"marks": tuple(MARKS[m] if isinstance(m, str) else _mark(*m) for m in about["marks"])}
    )
    for name, about in _told["figures"].items()
}
