"""Ticks of all visitors leave time for their clicks."""

from __future__ import annotations

import gc

from solverscope.app.serving.rhythm import EAGER, PERIOD, SHARE, SLOWEST, Rhythm


class Visitor:
    """Somebody whose page ticks."""


def settled(rhythm: Rhythm, visitors: list[Visitor], milliseconds: float) -> int:
    """The period once every visitor's ticks have taken so long for a while."""
    period = PERIOD
    for _ in range(30):
        for visitor in visitors:
            rhythm.note(visitor, milliseconds)
        period = rhythm.period(period)
    return period


def test_one_visitor_gets_five_ticks_a_second_and_ten_fewer():
    rhythm, visitors = Rhythm(), [Visitor() for _ in range(10)]
    assert settled(rhythm, visitors[:1], 15.0) == PERIOD
    period = settled(rhythm, visitors, 15.0)
    assert period > PERIOD
    assert SHARE * period >= 10 * 15.0


def test_who_leaves_makes_room_for_the_others():
    rhythm, visitors = Rhythm(), [Visitor() for _ in range(10)]
    slow = settled(rhythm, visitors, 15.0)
    rhythm.leave(visitors.pop())
    while len(visitors) > 1:
        visitors.pop()
    gc.collect()
    assert settled(rhythm, visitors, 15.0) == PERIOD < slow


def test_runs_that_show_nothing_yet_are_looked_at_more_often_while_there_is_time():
    rhythm, visitors = Rhythm(), [Visitor() for _ in range(10)]
    settled(rhythm, visitors[:1], 5.0)
    assert rhythm.period(PERIOD, eager=True) == EAGER
    settled(rhythm, visitors, 30.0)
    assert rhythm.period(EAGER, eager=True) > PERIOD


def test_no_page_waits_longer_than_the_slowest_tick():
    assert settled(Rhythm(), [Visitor() for _ in range(10)], 500.0) == SLOWEST
