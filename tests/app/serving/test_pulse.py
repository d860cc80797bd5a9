"""A browser gets the next update when it has drawn the last but one."""

from __future__ import annotations

from types import SimpleNamespace

from solverscope.app.serving.pulse import Pulse
from solverscope.app.serving.rhythm import SLOWEST


def test_the_next_update_waits_for_the_last_but_one():
    pulse = Pulse()
    pulse.beat()
    pulse.drawn = pulse.sent
    assert not pulse.behind
    pulse.beat()
    assert not pulse.behind
    pulse.beat()
    assert pulse.behind
    pulse.drawn += 1
    assert not pulse.behind


def test_nobody_waits_for_who_never_answers_or_has_stopped_drawing(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("solverscope.app.serving.pulse.time", SimpleNamespace(monotonic=lambda: now[0]))
    pulse = Pulse()
    pulse.beat()
    assert not pulse.behind, "it has never answered"
    pulse.drawn = 1
    pulse.beat()
    pulse.beat()
    assert pulse.behind
    now[0] += SLOWEST / 1000
    assert not pulse.behind
