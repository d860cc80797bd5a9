"""Thirty who follow a lesson: ``pytest -m bench tests/benchmarks/test_classroom.py -s``."""

from __future__ import annotations

import asyncio
import math
import os
import re
import statistics
import time

import pytest

from tests.benchmarks.test_load import WATCHED, all_run, shares, sign_after_run, warm, worst
from tests.benchmarks.visitor import Visitor
from tests.loop import run

pytestmark = pytest.mark.bench

FOLLOWERS = int(os.environ.get("SOLVERSCOPE_FOLLOWERS", "30"))


class Timed(Visitor):
    """Notes when it is told of which iterate of each run, as (seconds, iteration)."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.told: dict[str, list[tuple[float, int]]] = {}

    def _follow(self, event: dict) -> None:
        before = self.rows
        super()._follow(event)
        if self.rows is not before:
            for row in self.rows:
                if reached := re.sub(r"\D", "", str(row["iteration"])):
                    self.told.setdefault(row["label"], []).append((time.perf_counter(), int(reached)))


def behind(teacher: Timed, follower: Timed, since: float, until: float) -> list[float]:
    """Seconds from what the teacher's page was told of in this time to when the follower was told of that
    iterate, or a later one."""
    lags = []
    for label, heard in teacher.told.items():
        later = [(t, n) for t, n in follower.told.get(label, ()) if t >= since]
        for at, n in heard:
            if since <= at < until:
                reached = next((t for t, m in later if m >= n), math.inf)
                lags.append(max(reached - at, 0.0))
    return lags


async def lesson(server) -> tuple[list[float], float, float, float]:
    teacher = Timed(server.port)
    await teacher.open("?tol=1e-300&max_seconds=600")
    address = await teacher.teach()
    await sign_after_run(teacher, 0.0)
    await all_run(teacher)

    async def watch() -> tuple[float, float, float]:
        threads, began = server.threads(), time.perf_counter()
        await asyncio.sleep(WATCHED)
        return shares(server, threads, time.perf_counter() - began)[0], began, time.perf_counter()

    without, *_ = await watch()
    before = server.memory()
    followers = [Timed(server.port) for _ in range(FOLLOWERS)]
    for follower in followers:
        await follower.open(address, ready="LegendRows")
    with_them, since, until = await watch()
    memory = server.memory() - before
    await asyncio.sleep(2.0)
    assert "running" in teacher.states, "all of this while runs go on"
    lags = [lag for follower in followers for lag in behind(teacher, follower, since, until - 2.0)]
    for visitor in (teacher, *followers):
        await visitor.close()
    return lags, without, with_them, memory / FOLLOWERS


def test_followers_see_it_soon_and_cost_the_runs_little(server):
    run(warm(server))
    lags, without, with_them, memory = run(lesson(server))
    print(f"{FOLLOWERS} followers, load {os.getloadavg()[0]:.1f}, {len(lags)} lags")
    print(f"lag {statistics.median(lags):.3f} s, worst 5 % {worst(lags):.3f} s, {memory:.2f} MiB a follower")
    print(f"share of the runs {without:.3f} before, {with_them:.3f} with them")
    assert len(lags) > 1000
    assert statistics.median(lags) < 0.5
    assert worst(lags) < 1.5
    assert with_them > 0.8 * without
    assert memory < 8.0
