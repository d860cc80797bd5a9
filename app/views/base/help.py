"""What a plot shows: two sentences, the equation that it draws, and what each of its marks means.

A view declares it beside the code that draws: ``help`` has one :class:`Help` for each of its figures, by the
figure's name. It becomes HTML when a visitor asks for it.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from app import theme


class Mark(NamedTuple):
    """A mark in a plot: a glyph that looks like it, what it means, and its colour; without one it has that of
    the text."""

    glyph: str
    words: str
    color: str = ""


#: Marks that many plots have.
RUN = Mark("━", "a run, in the colour and dash of its row")
HERE = Mark("●", "the iterate under the cursor, which the dashed line goes through")
AT_CURSOR = Mark("┆", "the iterate under the cursor", theme.GREY)
EPOCHS = Mark("▒", "epochs, shaded alternately", theme.GREY)

#: Which weights stay in a working set, by Zhong et al. 2014, Algorithm 2, line 6.
STAY = (
    r"\mathcal{A}_{k+1} = \{ j \in \mathcal{A}_k : "
    r"w_j \ne 0 \ \text{or} \ |g_j| > \lambda - \hat{M}/N \}"
)
#: And which one leaves.
LEAVES = r"\text{j leaves if} \quad w_j = 0 \quad \text{and} \quad |g_j| \le \lambda - \hat{M}/N"

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
