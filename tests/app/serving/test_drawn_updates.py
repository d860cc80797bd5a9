"""A browser gets the next update when it has drawn the last but one."""

from __future__ import annotations

from types import SimpleNamespace

from solverscope.app.serving.drawn_updates import DrawnUpdates
from solverscope.app.serving.tick_scheduler import MAX_TICK_MS


def test_the_next_update_waits_for_the_last_but_one():
    updates = DrawnUpdates()
    updates.count()
    updates.drawn = updates.sent
    assert not updates.is_behind
    updates.count()
    assert not updates.is_behind
    updates.count()
    assert updates.is_behind
    updates.drawn += 1
    assert not updates.is_behind


def test_nobody_waits_for_who_never_answers_or_has_stopped_drawing(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(
        "solverscope.app.serving.drawn_updates.time", SimpleNamespace(monotonic=lambda: now[0])
    )
    updates = DrawnUpdates()
    updates.count()
    assert not updates.is_behind, "it has never answered"
    updates.drawn = 1
    updates.count()
    updates.count()
    assert updates.is_behind
    now[0] += MAX_TICK_MS / 1000
    assert not updates.is_behind
