"""Epochs, looks at all weights and returned weights beside the curves of non-zeros and working set."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope.app.page.cursor_bar import marks
from solverscope.app.views import EventLog, Sparsity
from solverscope.solvers import ACTIVE, Iterate, Trace
from solverscope.solvers.probes.probe import ProbeStore
from tests.app.helpers import curves, drawn

START = ("epoch-start", "memory-cleared")


@pytest.fixture
def trace() -> Trace:
    """A run whose weights come back, go and come back again within an epoch."""
    known = [
        {"epoch": 0, "events": ("epoch-start",), "violation": 9.0, "working_set": 50},
        {"epoch": 0, "working_set": 20},
        {"epoch": 1, "events": START, "violation": 3.0, "working_set": 30},
        *({"epoch": 1, "working_set": 20, "returned": n} for n in (2, 1, 2, 5, 4, 5)),
        {"epoch": 2, "events": START, "violation": 1.0, "working_set": 10, "returned": 0},
        {"epoch": 2, "working_set": 10, "returned": 1},
    ]
    rows = [{"iteration": k, "objective": 1.0, "nnz": 9, "returned": 0, **row} for k, row in enumerate(known)]
    return Trace.from_records(rows, label="a", problem={"n_params": 50})


class Pictures:
    """Three of five dual variables, as a solver tells of them."""

    of, size, full = "dual variables", 5, False
    coordinates = np.arange(3)

    def __len__(self) -> int:
        return 3

    def support(self, w: np.ndarray) -> np.ndarray:
        return self.coordinates


def test_plot_bar_and_events_tell_of_the_same_returned_weights(trace):
    view, events = Sparsity(trace, x="iteration"), EventLog(trace)
    assert events.has_content()
    told = [[k, text] for k, kind, text in marks(trace.since(None)[0]) if kind == "return"]
    assert [k for k, _ in told] == [3, 6, 10]
    assert [text.split()[0] for _, text in told] == ["2", "3", "1"]
    plotted = drawn(view.figure, "n").data
    assert (list(plotted["x"]), list(plotted["n"])) == ([3, 6, 10], [2, 3, 1])


def test_the_thin_line_goes_up_to_all_weights_where_an_epoch_begins_with_a_look_at_them(trace):
    looks = drawn(Sparsity(trace, x="iteration").figure, "high").data
    assert list(looks["x"]) == [2, 9]
    assert list(looks["low"]) == [30, 10]
    assert list(looks["high"]) == [50, 50]


def test_epochs_of_a_run_are_shaded_and_its_working_set_is_drawn(traces):
    view, trace = Sparsity(traces), traces[0]
    epochs = int(trace.epoch[-1]) + 1
    assert epochs > 1
    assert len(drawn(view.figure, "x0").data["x0"]) == epochs // 2
    np.testing.assert_allclose(curves(view.figure)[0].data["working_set"], trace.working_set)


def test_the_axis_says_what_a_working_set_is_of_if_not_of_weights(trace):
    assert Sparsity(trace).figure.yaxis[0].axis_label == "non-zero weights\nworking set: thin"
    store = ProbeStore([ACTIVE])
    store.observe(Iterate(0, w=np.zeros(2), live={"active": Pictures()}))
    trace.probes = store
    assert (
        Sparsity(trace).figure.yaxis[0].axis_label == "non-zero weights\nworking set of dual variables: thin"
    )
