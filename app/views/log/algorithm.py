"""The algorithm of a run as in its paper, with the steps that an iterate tells about."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import panel as pn

from app import theme
from app.views.base.exports import ShownTable
from app.views.base.view import View
from solvers import FIELDS, SOLVERS, Pseudocode, Step, pseudocode
from solvers.runs.breakpoints import known

#: Digits of numbers in a step.
DIGITS = 4
#: An index of one letter, as in V_A, or of several, as in t_{k+1}.
INDEX, BRACED = re.compile(r"_([A-Za-z0-9*∞])(?![A-Za-z0-9])"), re.compile(r"_\{([^}]*)\}")


class Algorithm(View):
    """Pseudocode of the solver of the run under the cursor: the steps that the iterate there tells about
    stand out, each with its numbers."""

    id = "algorithm"
    title = "Algorithm"
    hint = "Run a solver to see its pseudocode here, with the numbers of the iterate under the cursor."

    def build(self) -> None:
        css = theme.asset("html.css", "algorithm.css")
        self._text = pn.pane.HTML("", stylesheets=[css], sizing_mode="stretch_width", margin=0)
        self._body.append(self._text)

    def has_content(self) -> bool:
        return self.chosen is not None and self._algorithm is not None and len(self.chosen) > 0

    @property
    def _algorithm(self) -> Pseudocode | None:
        solver = SOLVERS.get(self.chosen.info.solver)
        return None if solver is None else pseudocode(solver)

    def tables(self) -> list[ShownTable]:
        rows, _, _ = self.chosen.since(None)
        if (row := self.cursor.row(rows)) is None:
            return []
        here, before = _told(rows, row)
        title = f"{self.chosen.info.label} at iterate {theme.number(int(rows['iteration'][row]))}"
        lines = [
            (step.text, step.filled(here, written) if step.matches(here, before) else "")
            for step in self._algorithm.steps
        ]
        return [ShownTable(title, ("step", "here"), lines)]

    def draw(self) -> None:
        rows, _, _ = self.chosen.since(None)
        row = self.cursor.row(rows)
        if row is None or not self._drawn.changed("text", self.chosen, int(rows["iteration"][row])):
            return
        self.drew(int(rows["iteration"][row]))
        here, before = _told(rows, row)
        algorithm = self._algorithm
        steps = "".join(line(step, here, before) for step in algorithm.steps)
        label, source = html.escape(self.chosen.info.label), html.escape(algorithm.source)
        head = f"<h2>{label} <small>{source}</small></h2>"
        at = f"highlighted: the steps of iterate {theme.number(int(rows['iteration'][row]))}"
        self._text.object = f'{head}<p class="note">{at}</p><ol class="steps">{steps}</ol>'


def _told(rows: Mapping[str, np.ndarray], row: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of a recorded iterate, and of the one before; none before the first."""
    return values(rows, row), values(rows, row - 1) if row else {}


def values(rows: Mapping[str, np.ndarray], row: int) -> dict[str, Any]:
    """Return the values of a recorded iterate by field, None where they are not known."""
    return {name: known(name, rows[name][row]) for name in FIELDS}


def line(step: Step, here: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    """Write a step as HTML, with what the iterate with values ``here`` says of it, if it does."""
    depth = len(step.text) - len(step.text.lstrip())
    text, told = typeset(step.text.strip()), step.matches(here, before)
    said = html.escape(step.filled(here, written)) if told else ""
    now = ' aria-current="step"' if told else ""
    what = f"{text} <b>{said}</b>" if said else text
    return f'<li{now} style="padding-left: {8 * depth + 8}px">{what}</li>'


def typeset(text: str) -> str:
    """Write formulas of a plain text as HTML, with indices."""
    return INDEX.sub(r"<sub>\1</sub>", BRACED.sub(r"<sub>\1</sub>", html.escape(text)))


def written(value: Any) -> str:
    """Write the value of a field."""
    if isinstance(value, float):
        return theme.number(int(value) if value.is_integer() else value, DIGITS)
    return str(value)
