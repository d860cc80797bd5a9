"""The view of the model's metric on held-out data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from solverscope.app.views.base.feed import CURVE_POINTS, RecordFeed, Records, latest
from solverscope.app.views.base.plot import RunPlot
from solverscope.solvers import LOSSES, Problem, Solver, Trace

#: Height of the axis if the metric does not change.
SPAN = 0.1


class Accuracy(RunPlot):
    """The loss's metric on the test part, at the iterates at which it was measured.

    Measuring takes at most 2 % of a run's time. At the cursor the last measured value is shown.
    """

    id = "accuracy"
    title = "Test metric"
    hint = "Run a solver on data with a test part to see its test metric."
    default_scale = "linear"
    dots: ClassVar = {"size": 5}
    banded = False  # its points are measured apart from the rows

    @classmethod
    def fits(cls, problem: Problem | None, chosen: Sequence[type[Solver]]) -> bool:
        return problem is None or problem.has_test

    def build(self) -> None:
        super().build()
        self.figure.y_range.default_span = SPAN

    def has_content(self) -> bool:
        return any(trace.test_metric for trace in self.traces)

    @property
    def y_label(self) -> str:
        metrics = dict.fromkeys(name for trace in self.traces if (name := metric_name(trace)))
        return f"{', '.join(metrics) or 'metric'}  ·  on the test part"

    def send(self, feed: RecordFeed, trace: Trace) -> None:
        rows, _, _ = trace.since(None)
        newest = rows["iteration"][-1] if len(rows["iteration"]) else -1
        # not w = 0, whose guesses would stretch the axis; and a run that goes on may have measured iterates
        # since its rows were read
        measured = [(k, value) for k, _, value in list(trace.test_metric) if 0 < k <= newest]

        def columns() -> Records:
            at, y = np.array(measured[:: max(len(measured) // CURVE_POINTS, 1)]).reshape(-1, 2).T
            return {"x": np.interp(at, rows["iteration"], self.across(rows)), "iteration": at, "y": y}

        if measured:
            feed.replace(columns, (self._shown(trace), len(measured)))
        else:
            feed.clear()

    def values(self, trace: Trace, rows: Records) -> dict[str, np.ndarray]:
        at, _, values = np.array(list(trace.test_metric), dtype=float).reshape(-1, 3).T
        return {"y": latest(at, values, rows["iteration"])}


def metric_name(trace: Trace) -> str | None:
    """Return the name of a run's test metric: from its problem or result, else from its loss."""
    if trace.problem is not None:
        return trace.problem.loss.metric_name
    loss = LOSSES.get(trace.info.problem.get("loss"))
    return trace.result.get("metric_name") or (loss and loss.metric_name)
