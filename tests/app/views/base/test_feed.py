"""What is sent to the browser: new rows only, thinned, the newest always."""

from __future__ import annotations

import numpy as np
import pytest
from bokeh.core.serialization import Serializer
from bokeh.document import Document

from solverscope.app.views.base.feed import (
    CURVE_POINTS,
    MAX_POINTS_AS_NUMBERS,
    RecordFeed,
    known,
    positive,
    shaded,
)
from solverscope.solvers import Trace


def grow(trace: Trace, count: int) -> None:
    start = len(trace)
    for k in range(start, start + count):
        trace.append({"iteration": k, "objective": 1.0 / (k + 1)})


def columns(rows):
    return {"x": known(rows["iteration"]), "y": known(rows["objective"])}


class Counted(RecordFeed):
    """A feed that counts the values it sends."""

    def __init__(self) -> None:
        super().__init__(("x", "y"))
        self.sent = 0

    def update(self, trace, columns, key=None):
        def counting(rows):
            self.sent += len(rows["iteration"])
            return columns(rows)

        return super().update(trace, counting, key)


def test_only_new_rows_are_sent():
    trace, feed = Trace(), Counted()
    grow(trace, 100)
    assert feed.update(trace, columns)
    grow(trace, 7)
    assert feed.update(trace, columns)
    assert feed.sent == 107
    assert not feed.update(trace, columns)
    assert feed.sent == 107
    assert list(feed.source.data["x"]) == list(range(107))


@pytest.mark.parametrize(
    ("count", "arrays"), [(2, 0), (MAX_POINTS_AS_NUMBERS, 0), (MAX_POINTS_AS_NUMBERS + 1, 2)]
)
def test_a_few_points_go_in_one_message_and_many_in_arrays(count, arrays):
    trace, feed = Trace(), RecordFeed(("x", "y"))
    grow(trace, 5)
    feed.update(trace, columns)
    document, streamed = Document(), []
    document.add_root(feed.source)
    document.on_change(lambda event: streamed.append(Serializer(deferred=True).serialize(event)))
    grow(trace, count)
    feed.update(trace, columns)
    assert [len(message.buffers) for message in streamed] == [arrays]
    np.testing.assert_allclose(feed.source.data["x"], np.arange(5 + count))
    np.testing.assert_allclose(feed.source.data["y"], trace.objective, rtol=1e-6)


def test_a_long_run_stays_bounded_keeps_its_first_point_and_always_shows_its_newest():
    trace, feed = Trace(), Counted()
    rng = np.random.default_rng(0)
    while len(trace) < 9_000:
        grow(trace, int(rng.integers(1, 60)))
        feed.update(trace, columns)
        x = feed.source.data["x"]
        assert x[0] == 0
        assert x[-1] == trace.iteration[-1]
        assert np.all(np.diff(x) > 0)
        assert len(x) <= 2 * CURVE_POINTS + 60
    assert feed.sent < 6 * len(trace) / 2


def test_a_trace_that_thins_itself_is_sent_again():
    trace, feed = Trace(), Counted()
    grow(trace, 9_990)
    feed.update(trace, columns)
    for k in range(9_990, 12_000):
        trace.append({"iteration": k, "objective": 1.0})
    assert trace.cadence == 2
    feed.update(trace, columns)
    x = feed.source.data["x"]
    assert np.all(np.diff(x) > 0)
    assert x[-1] == trace.iteration[-1]


def test_a_changed_key_sends_the_curve_again():
    trace, feed = Trace(), Counted()
    grow(trace, 50)
    feed.update(trace, columns, key="gap")
    feed.update(
        trace, lambda rows: {"x": known(rows["iteration"]), "y": 2 * known(rows["objective"])}, key="twice"
    )
    assert feed.source.data["y"][0] == 2.0


def test_other_columns_are_sent_once_for_each_key():
    feed = RecordFeed(("x", "y"))
    feed.replace(lambda: {"x": [1], "y": [2]}, "one")
    feed.replace(lambda: {"x": [1], "y": [3]}, "one")
    assert feed.source.data["y"] == [2]
    feed.replace(lambda: {"x": [1], "y": [3]}, "another")
    assert feed.source.data["y"] == [3]
    feed.clear()
    feed.replace(lambda: {"x": [1], "y": [3]}, "another")
    assert feed.source.data["y"] == [3]


def test_every_second_epoch_is_shaded_from_its_first_to_the_next_ones_first_row():
    x = np.arange(7) / 2
    starts, ends = shaded(x, np.array([0, 0, 1, 1, 2, 3, 3]))
    np.testing.assert_array_equal(starts, [1.0, 2.5])
    np.testing.assert_array_equal(ends, [2.0, 3.0])
    assert len(shaded(x[:0], np.empty(0, int))[0]) == 0
    assert len(shaded(x, np.full(7, -1))[0]) == 0, "a run without epochs"


def test_values_are_light_and_unknown_ones_are_nan():
    trace, feed = Trace(), RecordFeed(("x", "y"))
    trace.append({"iteration": 0})
    feed.update(trace, lambda rows: {"x": known(rows["iteration"]), "y": known(rows["nnz"])})
    assert feed.source.data["y"].dtype == np.float32
    assert np.isnan(feed.source.data["y"][0])
    assert np.isnan(positive(np.array([0.0, -1.0]))).all()
