"""Lines that mark on a plot the changes of a run's λ."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from bokeh.models import LabelSet, VSpan
from bokeh.plotting import figure

from solverscope.app.ui import GREY, columns, draw, put, source
from solverscope.app.views.base.feed import Records
from solverscope.app.views.base.run_events import lam_in_words
from solverscope.solvers import Trace, segments

#: Share of a narrow axis that each character of a λ takes that is written out.
CHARACTER = 0.03
#: Pixels from the axis to what is written above it.
LABEL_OFFSET = 4


class LamMarks:
    """One dotted line per change, in the colour of its run, with λ at its foot if there is room."""

    def __init__(self, plot: figure) -> None:
        self.source = source("x", "color", "said", "foot")
        draw(plot, VSpan(x="x", line_color="color", line_dash="dotted", line_width=1.5), self.source)
        looks = {"text_font_size": "0.92em", "text_color": "color", "x_offset": 3}
        labels = LabelSet(x="x", y="foot", text="said", source=self.source, y_units="screen", **looks)
        plot.add_layout(labels)

    def show(self, runs: Iterable[tuple[Trace, str]], across: Callable[[Records], np.ndarray]) -> None:
        """Mark the changes of λ of these runs, each in its colour. ``across(rows)`` returns the places of
        rows on the axis. If several runs have the same λ at nearly the same place, it is written once."""
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
        """Mark the changes of one run, over iterations."""
        self.show([(trace, GREY)], lambda rows: rows["iteration"])
