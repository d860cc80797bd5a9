"""Vertical lines that mark the changes of a run's λ in a plot."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from bokeh.models import LabelSet, VSpan
from bokeh.plotting import figure

from solverscope.app.ui import GREY, columns, draw, put, source
from solverscope.app.views.base.feed import Records
from solverscope.app.views.base.run_events import lam_in_words
from solverscope.solvers import Trace, segments

#: Width of a character of a label, relative to a narrow axis.
CHARACTER = 0.03
#: Distance of labels from the axis in pixels.
LABEL_OFFSET = 4


class LamMarks:
    """A dotted line for each change of λ, in the colour of its run, labelled with λ if there is space."""

    def __init__(self, plot: figure) -> None:
        self.source = source("x", "color", "said", "foot")
        draw(plot, VSpan(x="x", line_color="color", line_dash="dotted", line_width=1.5), self.source)
        looks = {"text_font_size": "0.92em", "text_color": "color", "x_offset": 3}
        labels = LabelSet(x="x", y="foot", text="said", source=self.source, y_units="screen", **looks)
        plot.add_layout(labels)

    def show(self, runs: Iterable[tuple[Trace, str]], across: Callable[[Records], np.ndarray]) -> None:
        """Mark the changes of λ of these runs, each of which is given with its colour.

        ``across(rows)`` returns the positions of rows on the horizontal axis. If several runs have the same λ
        at nearly the same position, it is labelled once.
        """
        found, reach = [], 0.0
        for trace, color in runs:
            rows, _, _ = trace.since(None)
            last = rows["iteration"][-1:]  # of a run without an iterate there is none
            changes = [change for change in segments(trace)[1:] if (change.first <= last).any()]
            if changes:
                x = across(rows)
                at = np.searchsorted(rows["iteration"], [change.first for change in changes])
                found += [(float(x[k]), color, c.lam) for k, c in zip(at, changes, strict=True)]
                reach = max(reach, float(np.nanmax(x)))
        found.sort(key=lambda mark: mark[0])
        marks, free = [], -np.inf
        for x, color, lam in found:
            said = lam_in_words(lam) if x >= free else ""
            marks.append((x, color, said, LABEL_OFFSET))
            free = max(free, x + CHARACTER * len(said) * reach)
        put(self.source, columns(self.source, marks))

    def show_run(self, trace: Trace) -> None:
        """Mark the changes of λ of one run, over iterations."""
        self.show([(trace, GREY)], lambda rows: rows["iteration"])
