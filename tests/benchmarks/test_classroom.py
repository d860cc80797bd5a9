"""Thirty who follow a lesson: ``pytest -m bench tests/benchmarks/test_classroom.py -s``."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import time

import pytest

from tests.benchmarks.test_load import WATCHED, all_run, shares, sign_after_run, warm, worst
from tests.benchmarks.visitor import Visitor
from tests.loop import run

pytestmark = pytest.mark.bench

FOLLOWERS = int(os.environ.get("SOLVERSCOPE_FOLLOWERS", "30"))


class Timed(Visitor):
    """Notes when it is told of an iterate of a run, the first time."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.told: dict[tuple[str, str], float] = {}

    def _follow(self, event: dict) -> None:
        super()._follow(event)
        for row in self.rows:
            self.told.setdefault((row["label"], row["iteration"]), time.perf_counter())


async def lesson(server) -> tuple[list[float], float, float, float]:
    teacher = Timed(server.port)
    await teacher.open()
    heard: list[str] = []
    teacher._heard = heard
    id, data = teacher.models["Teaching"], {"type": "map", "entries": [["action", "teach"]]}
    await teacher._model_event("data_event", id, data=data)
    while not (codes := [frame for frame in heard if "teach=" in frame]):
        await asyncio.sleep(0.1)
    teacher._heard = None
    found = (event.get("new") for event in json.loads(codes[0])["events"] if event.get("attr") == "address")
    address = next(found)
    await sign_after_run(teacher, 0.0)
    await all_run(teacher)

    async def watch() -> float:
        threads, began = server.threads(), time.perf_counter()
        await asyncio.sleep(WATCHED)
        return shares(server, threads, time.perf_counter() - began)[0]

    without, before = await watch(), server.memory()
    followers = [Timed(server.port) for _ in range(FOLLOWERS)]
    for follower in followers:
        await follower.open(address, ready="LegendRows")
    with_them, memory = await watch(), server.memory() - before
    lags = [
        follower.told[key] - teacher.told[key]
        for follower in followers
        for key in follower.told.keys() & teacher.told.keys()
        if key in follower.told
    ]
    for visitor in (teacher, *followers):
        await visitor.close()
    return [max(lag, 0.0) for lag in lags], without, with_them, memory / FOLLOWERS


def test_followers_see_it_soon_and_cost_the_runs_little(server):
    run(warm(server))
    lags, without, with_them, memory = run(lesson(server))
    print(f"{FOLLOWERS} followers, load {os.getloadavg()[0]:.1f}")
    print(f"lag {statistics.median(lags):.3f} s, worst 5 % {worst(lags):.3f} s, {memory:.2f} MiB a follower")
    print(f"share of the runs {without:.3f} before, {with_them:.3f} with them")
    assert statistics.median(lags) < 0.5
    assert worst(lags) < 1.5
    assert with_them > 0.8 * without
    assert memory < 8.0
