"""The pseudocode of a run's algorithm as in its paper, with the steps of an iterate highlighted."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import param

from solverscope.app import ui
from solverscope.app.ui.material_ui import pmui
from solverscope.app.views.base.exports import ShownTable
from solverscope.app.views.base.view import View
from solverscope.solvers import FIELDS, SOLVERS, Pseudocode, Step, parameters, pseudocode
from solverscope.solvers.probes.probe import CODE_LINES
from solverscope.solvers.runs.breakpoints import known

#: Digits of numbers in a step.
STEP_DIGITS = 4
#: Attribute of a step or a line that was executed.
_CURRENT = ' aria-current="step"'
#: An index of one letter, as in V_A, or of several, as in t_{k+1}.
LETTER_INDEX, BRACED_INDEX = re.compile(r"_([A-Za-z0-9*∞])(?![A-Za-z0-9])"), re.compile(r"_\{([^}]*)\}")


class Algorithm(View):
    """Pseudocode of the solver under the cursor, with the steps and numbers of the iterate highlighted.

    For a plug-in, its Python code is shown below; executed lines are recorded if ``lines`` is set.
    """

    id = "algorithm"
    title = "Algorithm"
    hint = "Run a solver to see its pseudocode here, with the numbers of the iterate under the cursor."
    probes = (CODE_LINES,)

    lines: bool = param.Boolean(default=False, doc="whether executed lines of a plug-in are followed")

    def build(self) -> None:
        css = ui.asset("html.css", "algorithm.css")
        self._text = ui.TextPane("", stylesheets=[css], sizing_mode="stretch_width", margin=0)
        self._ask = pmui.Checkbox.from_param(
            self.param.lines, label="Mark executed lines of Python", size="small", margin=(8, 0)
        )
        self._code = ui.TextPane("", stylesheets=[css], sizing_mode="stretch_width", margin=0)
        self._body.extend([self._text, self._ask, self._code])
        self.param.watch(lambda event: self.update(), "lines")

    def has_content(self) -> bool:
        if self.chosen is None or not len(self.chosen):
            return False
        return self._algorithm is not None or self.chosen.code is not None

    @property
    def _algorithm(self) -> Pseudocode | None:
        """Return the steps of the run's algorithm for its hyper-parameters, or None."""
        info = self.chosen.info
        solver = SOLVERS.get(info.solver)
        if solver is None or (algorithm := pseudocode(solver)) is None:
            return None
        return algorithm.with_params({p.name: p.default for p in parameters(solver)} | dict(info.params))

    def _told(self) -> tuple[int, list[tuple[Step, bool, str]]] | None:
        """Return the iteration at the cursor, and a list of steps, each with whether it was executed and its
        text.

        Return None if no iterate is recorded.
        """
        rows, _, _ = self.chosen.since(None)
        if (row := self.cursor.row(rows)) is None:
            return None
        here, before = values(rows, row), values(rows, row - 1) if row else {}
        algorithm = self._algorithm
        steps = [(step, step.matches(here, before)) for step in (algorithm.steps if algorithm else ())]
        told = [(step, on, step.filled(here, written) if on else "") for step, on in steps]
        return int(rows["iteration"][row]), told

    def tables(self) -> list[ShownTable]:
        if (found := self._told()) is None:
            return []
        title = f"{self.chosen.info.label} at iterate {ui.number(found[0])}"
        return [ShownTable(title, ("step", "here"), [(step.text, said) for step, _, said in found[1]])]

    def draw(self) -> None:
        for trace in self.traces:
            trace.follows_lines = self.lines
        found = self._told()
        if found is None:
            return
        self._draw_code(found[0])
        if not self._drawn.changed("text", self.chosen, found[0]):
            return
        iteration, told = found
        self.drew(iteration)
        algorithm = self._algorithm
        if algorithm is None:
            self._text.object = f"<h2>{html.escape(self.chosen.info.label)}</h2>"
            return
        label, source = html.escape(self.chosen.info.label), html.escape(algorithm.source)
        head = f"<h2>{label} <small>{source}</small></h2>"
        at = f"highlighted: the steps of iterate {ui.number(iteration)}"
        steps = "".join(line(*one) for one in told)
        self._text.object = f'{head}<p class="note">{at}</p><ol class="steps">{steps}</ol>'

    def _draw_code(self, iteration: int) -> None:
        """Show the source of a plug-in, with the lines that led to an iterate highlighted if they were
        recorded."""
        code = self.chosen.code
        self._ask.visible = self._code.visible = code is not None
        if code is None:
            return
        found = self.chosen.probes.last(CODE_LINES.name, iteration)
        seen = found is not None and found[0] == iteration
        if not self._drawn.changed("code", self.chosen, iteration if seen or self.lines else None, seen):
            return
        executed = set() if found is None or not seen else set(found[1]["lines"].tolist())
        note = "the file as the run has loaded it"
        if self.lines and seen:
            note = f"highlighted: lines executed for iterate {ui.number(iteration)}"
        elif self.lines:
            note = f"the lines of iterate {ui.number(iteration)} were not followed: step, or run again"
        listing = "".join(
            f"<li{_CURRENT if k in executed else ''}>{html.escape(line) or ' '}</li>"
            for k, line in enumerate(code.text.splitlines(), 1)
        )
        name = html.escape(Path(code.file).name)
        self._code.object = (
            f"<h2>{name} <small>code {code.digest}</small></h2><p class='note'>{note}</p>"
            f'<ol class="steps code">{listing}</ol>'
        )


def values(rows: Mapping[str, np.ndarray], row: int) -> dict[str, Any]:
    """Return the values of a recorded iterate by field; unknown values are None."""
    return {name: known(name, rows[name][row]) for name in FIELDS}


def line(step: Step, told: bool, said: str) -> str:
    """Return a step as HTML, highlighted with its numbers if it was executed."""
    depth = len(step.text) - len(step.text.lstrip())
    text, now = typeset(step.text.strip()), _CURRENT if told else ""
    what = f"{text} <b>{html.escape(said)}</b>" if said else text
    return f'<li{now} style="padding-left: {8 * depth + 8}px">{what}</li>'


def typeset(text: str) -> str:
    """Format formulas in a plain text as HTML, with indices."""
    return LETTER_INDEX.sub(r"<sub>\1</sub>", BRACED_INDEX.sub(r"<sub>\1</sub>", html.escape(text)))


def written(value: Any) -> str:
    """Format the value of a field."""
    if isinstance(value, float):
        return ui.number(int(value) if value.is_integer() else value, STEP_DIGITS)
    return str(value)
