"""What happened in a run, in words, and the list through which one goes to it."""

from __future__ import annotations

import panel as pn
import pytest

from solverscope.app.views import Cursor, EventLog
from solverscope.app.views.base.run_events import FAILED_SEARCH, MANY_TRIALS, TROUBLE, run_events
from solverscope.app.views.log.event_log import MAX_EVENTS, EventList
from solverscope.solvers import Trace
from tests.app.helpers import text


def trace(*records: dict, label: str = "a<b") -> Trace:
    whole = [{"iteration": k, "objective": 1.0, **record} for k, record in enumerate(records)]
    return Trace.from_records(whole, label=label)


def told(*records: dict) -> list[tuple]:
    return [tuple(event) for event in run_events(trace(*records).since(None)[0])]


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([{"events": ("epoch-start",), "epoch": 0}], [(0, "epoch", "epoch 0 begins")]),
        (
            [{"returned": 0}, {"returned": 20846, "events": ("epoch-start", "memory-cleared"), "epoch": 2}],
            [
                (1, "epoch", "epoch 2 begins"),
                (1, "return", "20\u202f846 weights return that shrinking had missed"),
            ],
        ),
        ([{"returned": 3}, {"returned": 2}, {"returned": 3}], None),
        ([{}, {"events": ("memory-cleared",)}], [(1, "trouble", FAILED_SEARCH)]),
        ([{"events": ("curvature-skipped",)}], [(0, "trouble", TROUBLE["curvature-skipped"])]),
        (
            [
                {"phase": "fine"},
                {"phase": "cluster", "events": ("reclustered",), "clusters": 12, "crossovers": 5},
            ],
            [
                (1, "note", "phase cluster begins"),
                (1, "note", "12 clusters form, 5 weights change cluster"),
            ],
        ),
        ([{"events": ("reclustered",), "clusters": 12}], [(0, "note", "12 clusters form")]),
        ([{"ls_trials": MANY_TRIALS}], [(0, "note", f"the line search takes {MANY_TRIALS} trials")]),
        ([{"ls_trials": MANY_TRIALS - 1, "events": ("backtracked",)}], []),
        ([{}, {"objective": 1.25}], [(1, "note", "f rises by 0.25")]),
        ([{}, {"objective": 1.0 + 1e-15}, {"objective": 0.5}], []),
        ([{"events": ("kink", "my-own-word")}], [(0, "note", "kink"), (0, "note", "my own word")]),
    ],
)
def test_each_thing_that_happens_has_its_sentence(records, said):
    if said is None:  # what is back is told once an epoch, as long as no more come
        said = [(0, "return", "3 weights return that shrinking had missed")]
    assert told(*records) == said


def test_a_click_puts_the_cursor_there_and_the_line_under_it_is_marked():
    run, other = trace(*[{"events": ("kink",)}] * 5), trace({}, {}, label="quiet")
    cursor = Cursor()
    view = EventLog([run, other], cursor)
    (shown,) = pn.panel(view).select(EventList)
    assert "a&lt;b" in text(view)
    assert shown.entries == [[k, "note", "kink"] for k in range(5)]
    shown.receive({"iteration": 3})
    assert (cursor.run, cursor.iteration, cursor.follow) == (run, 3, False)
    assert shown.iteration == 3
    shown.receive({"iteration": "3"})
    cursor.choose(other, follow=False)
    view.update()
    assert not view.has_content()
    (hint,) = (pane.object for pane in pn.panel(view).select(pn.pane.HTML) if "cover" in pane.css_classes)
    assert "quiet has had no epoch" in hint


def test_the_list_grows_with_its_run_and_keeps_the_newest():
    run = Trace({"label": "a"})
    view = EventLog(run)
    (shown,) = pn.panel(view).select(EventList)
    assert not view.has_content()
    for k in range(MAX_EVENTS + 20):
        run.append({"iteration": k, "objective": 1.0, "events": ("kink",)})
    view.update()
    assert [shown.entries[0][0], shown.entries[-1][0]] == [20, MAX_EVENTS + 19]
    assert f"the newest {MAX_EVENTS} of" in text(view)


def test_a_change_of_lambda_is_told_and_f_that_goes_up_with_it_is_no_event():
    found = told(
        {"objective": 1.0},
        {"objective": 3.0, "events": ("lam=0.02", "epoch-start"), "epoch": 1},
        {"objective": 4.0, "epoch": 1},
    )
    assert found == [(1, "turn", "λ = 0.02"), (1, "epoch", "epoch 1 begins"), (2, "note", "f rises by 1")]


class Looked(tuple):
    """Events of an iterate that count how often they are looked into."""

    looks = 0

    def count(self, event: str) -> int:
        Looked.looks += 1
        return super().count(event)


def test_iterates_at_which_nothing_happened_are_not_looked_at_one_by_one():
    rows = dict(trace(*[{"objective": 100.0 - k} for k in range(100)]).since(None)[0])
    events = rows["events"] = rows["events"].copy()
    for k in range(100):
        events[k] = Looked(("curvature-skipped",) if k in (3, 70) else ())
    Looked.looks = 0
    assert [event.iteration for event in run_events(rows)] == [3, 70]
    assert 0 < Looked.looks <= 4


def test_without_notes_the_other_events_are_the_same():
    records = [
        {"events": ("epoch-start", "memory-cleared"), "epoch": 0},
        {"ls_trials": MANY_TRIALS, "objective": 2.0, "returned": 3, "epoch": 0},
        {"events": ("curvature-skipped", "odd-thing"), "phase": "fine", "objective": float("inf")},
        {"events": ("reclustered",), "phase": "coarse", "clusters": 12, "objective": float("inf")},
    ]
    rows = trace(*records).since(None)[0]
    whole = run_events(rows)
    assert {"epoch", "return", "trouble", "note"} == {event.kind for event in whole}
    assert run_events(rows, notes=False) == [event for event in whole if event.kind != "note"]
