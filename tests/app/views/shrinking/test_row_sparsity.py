"""The rows view, on a run of six features and two outputs of which every weight is written down here."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope.app.views import RowSparsity
from solverscope.app.views.base.cursor import Cursor
from solverscope.app.views.shrinking.row_moves import RowMoves
from solverscope.app.views.shrinking.row_sparsity import MIN_SHADE, RowShare
from solverscope.solvers import Iterate, Names, Probe, Trace
from solverscope.solvers.probes.probe import ProbeStore
from tests.app.helpers import curves, drawn, in_sight, mark, said

#: Rows that are not zero at each iterate, with their weights.
STORY = [
    {},
    {0: (3.0, 4.0), 1: (0.0, 1.0), 2: (2.0, 0.0), 5: (0.5, -0.5)},
    {0: (3.0, 4.0), 1: (0.0, 6.0), 2: (2.0, 0.0), 3: (-1.0, 1.0)},
    {0: (3.0, 4.0), 1: (0.0, 6.0)},
]
WORDS = ("ham", "<b>", "egg", "tea", "jam", "rye")


def seen(rows: dict[int, tuple[float, float]]) -> dict[str, np.ndarray]:
    """What the ``rows`` probe gives."""
    order = sorted(rows, key=lambda j: (-np.hypot(*rows[j]), j))
    support = np.isin(np.arange(6), order)
    return {
        "support": np.packbits(support),
        "rows": np.array(order, dtype=np.int32),
        "norms": np.array([np.hypot(*rows[j]) for j in order], dtype=np.float32),
        "pattern": np.array([rows[j] for j in order], dtype=np.float32).reshape(-1, 2),
        "count": np.array(len(order)),
        "size": np.array(6),
    }


def run(names: Names, label: str = "a<b", story: list = STORY) -> Trace:
    records = [
        {"iteration": k, "nnz_rows": len(rows), "cpu_seconds": float(k)} for k, rows in enumerate(story)
    ]
    about = {"n_features": 6, "n_outputs": 2}
    trace = Trace.from_records(records, label=label, params={}, problem=about)
    trace.names = names
    trace.probes = ProbeStore([Probe("rows", lambda it: seen(story[it.iteration]))])
    for k in range(len(story)):
        trace.probes.observe(Iterate(k))
    return trace


@pytest.fixture
def words() -> Trace:
    return run(Names(WORDS, ("no", "yes")))


@pytest.fixture
def pixels() -> Trace:
    return run(Names(picture_shape=(2, 3)))


def patterns(view: RowSparsity) -> dict[str, list]:
    """What is drawn of W."""
    return drawn(view.patterns, "features").data


def at(trace: Trace | list[Trace], iteration: int) -> RowSparsity:
    first = trace if isinstance(trace, Trace) else trace[0]
    return RowSparsity(trace, Cursor(run=first, iteration=iteration, follow=False))


def test_features_in_use_are_per_cent_of_all(words):
    curve = curves(RowShare(words).figure)[0].data
    np.testing.assert_allclose(curve["y"], [0, 400 / 6, 400 / 6, 200 / 6], rtol=1e-6)


def test_who_came_in_and_went_out_since_the_iterate_before_and_since_the_start(words):
    assert [*vars(RowMoves(words, 0)).values()] == [None, [], [], [], []]
    assert [*vars(RowMoves(words, 1)).values()] == [0, [0, 2, 1, 5], [], [0, 2, 1, 5], []]
    assert [*vars(RowMoves(words, 2)).values()] == [1, [3], [5], [1, 0, 2, 3], [5]]
    assert [*vars(RowMoves(words, 3)).values()] == [2, [], [2, 3], [1, 0], [2, 3, 5]]


def test_features_whose_norms_were_too_small_to_be_kept_are_counted_and_come_last(words):
    _, found = words.probes.last("rows", 1)
    for name in ("rows", "norms"):
        found[name] = found[name][:1]
    assert RowMoves(words, 1).entered == [0, 1, 2, 5]


def test_the_features_are_named_and_cannot_become_part_of_the_page(words):
    told = said(at(words, 2))
    assert "<b>a&lt;b</b> at iteration 2: 4 of 6 features in use (66.7 %)." in told
    assert "New since iteration 1: 1. <i>tea</i>" in told
    assert "Dropped since iteration 1: 1. <i>rye</i>" in told
    assert "In use since the start, largest norm first: 4. <i>&lt;b&gt;</i> · <i>ham</i>" in told
    assert "Dropped since iteration 2: 2. <i>egg</i> · <i>tea</i>" in said(at(words, 3))


def test_w_is_drawn_with_its_rows_in_falling_order_of_their_norms(words):
    view = at(words, 2)
    data = patterns(view)
    assert data["features"] == [["<b>", "ham", "egg", "tea"]]
    assert data["outputs"] == [["no", "yes"]]
    np.testing.assert_array_equal(data["weight"][0], [[0, 6], [3, 4], [2, 0], [-1, 1]])
    image = data["image"][0]
    np.testing.assert_array_equal(np.sign(image), np.sign(data["weight"][0]))
    assert image.max() == 1.0
    assert np.abs(image[image != 0]).min() > MIN_SHADE
    assert data["dh"] == [4]
    assert drawn(view.patterns, "top").data["top"] == [4], "the most rows the run had"


def test_runs_stand_side_by_side_each_at_the_cursor_or_where_it_ended(words):
    short = run(words.names, "short", STORY[:2])
    view = at([words, short], 3)
    assert [list(names) for names in patterns(view)["features"]] == [
        ["<b>", "ham"],
        ["ham", "egg", "<b>", "rye"],
    ]
    assert patterns(view)["x"][1] > 1.0
    labels = view.patterns.xaxis[0].major_label_overrides
    assert list(labels.values()) == ["a<b\n2 of 6", "short\n4 of 6"]
    assert list(labels) == list(view.patterns.xaxis[0].ticker.ticks)
    view.cursor.follow = True
    view.cursor.place(short, 0)
    assert "0 of 6" in said(view)
    assert patterns(view)["dh"] == [1, 1], "nothing yet"
    assert (patterns(view)["image"][0] == 0).all()


def test_while_the_cursor_follows_every_run_is_shown_at_its_newest(words):
    short = run(words.names, "short", STORY[:2])
    view = RowSparsity([short, words])
    assert view.cursor.iteration == 1
    assert [len(names) for names in patterns(view)["features"]] == [4, 2]


def test_of_pixels_the_norms_make_a_picture_with_its_first_row_on_top(pixels, words):
    view = at(pixels, 2)
    assert list(in_sight(view)) == [view.share.figure, view.patterns, view.pictures]
    expected = [[5, 6, 2], [np.sqrt(2), 0, 0]]
    np.testing.assert_allclose(np.flipud(drawn(view.pictures, "norm").data["norm"][0]), expected, rtol=1e-6)
    assert drawn(view.pictures, "norm").data["image"][0].max() == 1.0
    moves = drawn(view.pictures, "marker").data
    assert [*zip(moves["x"], moves["y"], moves["marker"], strict=True)] == [
        (0.5, 0.5, "cross"),
        (2.5, 0.5, "x"),
    ]
    view.show([words])
    assert list(in_sight(view)) == [view.share.figure, view.patterns], "words make no picture"


def test_rows_of_a_binned_pattern_are_named_after_their_largest(words):
    _, entry = words.probes.last("rows", 2)
    entry["pattern"] = np.array([[3.0, 4.0], [1.0, 1.0]])
    assert patterns(at(words, 2))["features"] == [["<b> and 1 similar", "egg and 1 similar"]]


def test_nothing_is_sent_again_while_nothing_has_changed(words):
    view = at(words, 2)
    sent = patterns(view)
    view.update()
    assert patterns(view) is sent


def test_hidden_nothing_follows_the_cursor(words):
    view = at(words, 2)
    view.visible = False
    sent, curve = patterns(view), mark(view.share.figure)
    view.cursor.place(words, 1)
    view.update()
    assert patterns(view) is sent
    assert mark(view.share.figure) is curve
    view.visible = True
    assert patterns(view)["dh"] == [4]
    assert mark(view.share.figure)["x"] == [1.0]
