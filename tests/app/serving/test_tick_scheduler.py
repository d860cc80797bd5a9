"""Ticks of all visitors leave time for their clicks."""

from __future__ import annotations

import gc

from solverscope.app.serving.tick_scheduler import (
    EAGER_TICK_MS,
    MAX_TICK_MS,
    MAX_TICK_SHARE,
    TICK_MS,
    TickScheduler,
)


class Visitor:
    """Somebody whose page ticks."""


def settled(scheduler: TickScheduler, visitors: list[Visitor], milliseconds: float) -> int:
    """The period once every visitor's ticks have taken so long for a while."""
    period = TICK_MS
    for _ in range(30):
        for visitor in visitors:
            scheduler.record(visitor, milliseconds)
        period = scheduler.period(period)
    return period


def test_one_visitor_gets_five_ticks_a_second_and_ten_fewer():
    scheduler, visitors = TickScheduler(), [Visitor() for _ in range(10)]
    assert settled(scheduler, visitors[:1], 15.0) == TICK_MS
    period = settled(scheduler, visitors, 15.0)
    assert period > TICK_MS
    assert MAX_TICK_SHARE * period >= 10 * 15.0


def test_who_leaves_makes_room_for_the_others():
    scheduler, visitors = TickScheduler(), [Visitor() for _ in range(10)]
    slow = settled(scheduler, visitors, 15.0)
    scheduler.remove(visitors.pop())
    while len(visitors) > 1:
        visitors.pop()
    gc.collect()
    assert settled(scheduler, visitors, 15.0) == TICK_MS < slow


def test_runs_that_show_nothing_yet_are_looked_at_more_often_while_there_is_time():
    scheduler, visitors = TickScheduler(), [Visitor() for _ in range(10)]
    settled(scheduler, visitors[:1], 5.0)
    assert scheduler.period(TICK_MS, eager=True) == EAGER_TICK_MS
    settled(scheduler, visitors, 30.0)
    assert scheduler.period(EAGER_TICK_MS, eager=True) > TICK_MS


def test_no_page_waits_longer_than_the_slowest_tick():
    assert settled(TickScheduler(), [Visitor() for _ in range(10)], 500.0) == MAX_TICK_MS
