"""Lines that mark on a plot where λ of a run was changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from bokeh.models import ColumnDataSource, LabelSet
from bokeh.plotting import figure

from app.theme import GREY
from app.views.base.run_events import lam_in_words
from solvers import Trace, segments

#: Share of the axis that is kept free behind a λ that is written out.
APART = 0.06


class Turn(NamedTuple):
    """A change of λ: the first row of a run at the new one, and that λ."""

    row: int
    lam: float


def lam_turns(trace: Trace, iterations: np.ndarray) -> list[Turn]:
    """Find the changes of λ among these rows of a run."""
    changes = segments(trace)[1:]
    rows = np.searchsorted(iterations, [change.first for change in changes])
    return [Turn(int(k), c.lam) for k, c in zip(rows, changes, strict=True) if k < len(iterations)]


class LamMarks:
    """A dotted line a change, in the colour of its run, with λ at its foot where there is room."""

    def __init__(self, plot: figure) -> None:
        self.source = ColumnDataSource({"x": [], "color": [], "said": [], "foot": []})
        plot.vspan("x", source=self.source, line_color="color", line_dash="dotted", line_width=1.5)
        looks = {"text_font_size": "0.92em", "text_color": "color", "x_offset": 3}
        labels = LabelSet(x="x", y="foot", text="said", source=self.source, y_units="screen", **looks)
        plot.add_layout(labels)

    def show(
        self, places: Sequence[float], colors: Sequence[str], lams: Sequence[float], reach: float
    ) -> None:
        """Mark these places; ``reach`` is how far the axis goes. λ of several runs that is the same at about
        the same place is written once."""
        order = sorted(range(len(places)), key=lambda k: places[k])
        said, free = [], -np.inf
        for k in order:
            write = places[k] >= free
            said.append(lam_in_words(lams[k]) if write else "")
            free = places[k] + APART * reach if write else free
        marks = {
            "x": [places[k] for k in order],
            "color": [colors[k] for k in order],
            "said": said,
            "foot": [4] * len(order),
        }
        if marks != self.source.data:
            self.source.data = marks

    def show_run(self, trace: Trace) -> None:
        """Mark the changes of one run, over iterations."""
        rows, _, _ = trace.since(None)
        turns = lam_turns(trace, rows["iteration"])
        places = [float(rows["iteration"][turn.row]) for turn in turns]
        reach = float(rows["iteration"][-1]) if turns else 0.0
        self.show(places, [GREY] * len(turns), [turn.lam for turn in turns], reach)
