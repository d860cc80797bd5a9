"""The figure of a sample's labels along a line search: Figure 12 of Yu et al. 2010."""

from __future__ import annotations

import numpy as np

from solverscope.app import ui
from solverscope.app.ui.material_ui import pmui
from solverscope.app.views.search.line_figures import KINK_COLOR, PHI_COLOR, PLOT_HEIGHT
from solverscope.solvers.probes.label_lines import LabelLines

LINE_COLOR, NEW_COLOR = ui.GREY, ui.COLORS[1]


class LabelFigure:
    """Lines of the labels of a sample over the step t, and their maximum, which Algorithm 4 finds label by
    label.

    A slider sets how many lines it has examined.
    """

    def __init__(self, name: str) -> None:
        self._found: LabelLines | None = None
        self._reach = 1.0
        self.figure = ui.plot(name, x_label="step t", y_label="b + t a", height=PLOT_HEIGHT)
        self._lines = ui.source("t", "value")
        self._new = ui.source("t", "value")
        self._maximum = ui.source("t", "value")
        self._kinks = ui.source("t", "value")
        at = ("t", "value")
        self.figure.multi_line("t", "value", source=self._lines, color=LINE_COLOR, line_alpha=0.6)
        self.figure.line(*at, source=self._maximum, color=PHI_COLOR, line_width=4, name="maximum")
        self.figure.line(*at, source=self._new, color=NEW_COLOR, line_width=2, name="new")
        self.figure.scatter(*at, source=self._kinks, color=KINK_COLOR, line_color=ui.GREY, size=9)
        self.slider = pmui.IntSlider(
            label="Lines examined", start=1, end=2, value=1, width=140, size="small", margin=(2, 12)
        )
        self.slider.param.watch(lambda event: self._draw(), "value")
        self.said = ui.html()

    def show(self, found: LabelLines | None, reach: float) -> None:
        """Draw the lines of a sample for 0 <= t <= ``reach``, with all of them examined."""
        if found is self._found:
            return
        self._found, self._reach = found, reach
        if found is None:
            return
        n = len(found.stages)
        self.slider.param.update(end=max(n, 2), value=n, disabled=n < 2)
        self._draw()

    def _draw(self) -> None:
        found = self._found
        if found is None:
            return
        stage = found.stages[min(self.slider.value, len(found.stages)) - 1]
        ends = np.array([0.0, self._reach])
        values = found.b[:, None] + np.outer(found.a, ends)
        ui.fill(self._lines, [ends] * len(values), list(values))
        ui.fill(self._new, ends, values[stage.line])
        starts = np.array(stage.starts)
        shown = starts <= self._reach
        t = np.append(starts[shown], self._reach)
        active = np.array(stage.active)[shown]
        on = found.b[active] + t[:-1] * found.a[active]
        last = found.b[active[-1]] + t[-1] * found.a[active[-1]]
        ui.fill(self._maximum, t, np.append(on, last))
        ui.fill(self._kinks, t[1:-1], on[1:])
        self.said.object = f"<p>{sentence(found, self.slider.value)}</p>"


def sentence(found: LabelLines, shown: int) -> str:
    """Describe what Algorithm 4 does with the last line that it has examined."""
    stage = found.stages[min(shown, len(found.stages)) - 1]
    said = f"Sample {found.sample}, label {found.label}: line {min(shown, len(found.stages))} of "
    said += f"{len(found.stages)} is that of label {stage.line}. "
    if shown <= 1:
        said += "It is the maximum at t = 0."
    elif stage.active[-1] != stage.line:
        said += "It never is the maximum."
    elif stage.popped:
        gone = ", ".join(map(str, stage.popped))
        said += f"It crosses before {gone} begins: that is popped, and this is pushed at t = "
        said += f"{ui.number(stage.starts[-1], 3)}."
    else:
        said += f"It is pushed onto the stack at t = {ui.number(stage.starts[-1], 3)}."
    return said
