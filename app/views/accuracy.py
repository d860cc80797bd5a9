"""What the model is worth on held-out data."""

from __future__ import annotations

import numpy as np
from bokeh.models import ColumnDataSource, GlyphRenderer

from app.views.feed import POINTS, Feed, Rows, known
from app.views.plot import RunPlot
from solvers import Trace


class Accuracy(RunPlot):
    """The loss's metric on the test part, drawn where it was measured (it may take at most 2 % of a run's
    time). The cursor shows the last value measured up to its iteration."""

    id = "accuracy"
    title = "Test accuracy"
    y_label = "accuracy on the test part"
    hint = "Run a solver on data with a test part to see how good its weights are there."
    default_scale = "linear"

    def has_content(self) -> bool:
        return any(trace.test_metric for trace in self.traces)

    def glyphs(self, source: ColumnDataSource, color: str, dash: str) -> list[GlyphRenderer]:
        dots = self.figure.scatter("x", "y", source=source, size=5, color=color)
        return [*super().glyphs(source, color, dash), dots]

    def send(self, feed: Feed, trace: Trace) -> None:
        measured = list(trace.test_metric)
        if len(feed.source.data["x"]) == len(measured) <= POINTS or not len(trace):
            return
        stride = max(len(measured) // POINTS, 1)
        at, _, values = (np.array(column) for column in zip(*measured[::stride], strict=True))
        x = np.interp(at, trace.iteration, known(trace.column(self.x)))
        feed.source.data = {"x": x, "y": values}

    def values(self, trace: Trace, rows: Rows) -> dict[str, np.ndarray]:
        measured = list(trace.test_metric)
        if not measured:
            return {"y": np.full(len(rows["iteration"]), np.nan)}
        at, _, values = (np.array(column) for column in zip(*measured, strict=True))
        last = np.searchsorted(at, rows["iteration"], side="right") - 1
        return {"y": np.where(last >= 0, values[np.maximum(last, 0)], np.nan)}
