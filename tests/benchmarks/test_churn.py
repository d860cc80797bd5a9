"""Runs that start and stop again and again: ``pytest -m bench tests/benchmarks/test_churn.py -s``."""

from __future__ import annotations

import os
import time
from collections.abc import Generator

import psutil
import pytest

from tests.app.conftest import Served
from tests.benchmarks.visitor import Visitor
from tests.loop import run

pytestmark = pytest.mark.bench

#: Seconds for which runs are started and stopped.
CHURN = float(os.environ.get("SOLVERSCOPE_CHURN", "240"))
#: What may be added from the first quarter to the end: MiB, threads, descriptors.
MORE = (30.0, 2, 10)
#: Followers and pages, and the seconds for which they are watched.
FOLLOWERS, PAGES, WATCHED = 30, 10, 15.0


@pytest.fixture
def public(tmp_path) -> Generator[Served, None, None]:
    """A server that lets everybody in, and has no fault at the end."""
    server = Served(tmp_path / "log", "--args", "--public")
    yield server
    log = server.stop()
    assert "Traceback" not in log, log


def state(server: Served) -> tuple[float, int, int]:
    """Memory in MiB, threads and descriptors of a server."""
    process = psutil.Process(server.process.pid)
    return server.memory(), process.num_threads(), process.num_fds()


async def churn(server: Served) -> tuple[list[tuple[float, int, int]], int]:
    """Start and stop runs in one page."""
    staying, began, times = Visitor(server.port), time.monotonic(), 0
    await staying.open("?tol=1e-300&max_seconds=600&data=breast-cancer&solvers=prox-qn;owl-qn;fobos")
    found = []
    while (spent := time.monotonic() - began) < CHURN:
        await staying.press("Run")
        await staying.wait_until(lambda: "running" in staying.states, "runs")
        await staying.press("Stop")
        await staying.wait_until(lambda: set(staying.states) <= {"stopped", "finished"}, "their end")
        times += 1
        if spent >= 0.25 * CHURN:
            found.append(state(server))
    await staying.close()
    return found, times


def test_runs_that_start_and_stop_leave_nothing_behind(public):
    found, times = run(churn(public))
    first, last = found[0], found[-1]
    print(f"{times} starts in {CHURN:g} s: {first} after a quarter, {last} at the end (MiB, threads, files)")
    for before, after, more in zip(first, last, MORE, strict=True):
        assert after <= before + more


async def full_room(server: Served) -> None:
    pages = [Visitor(server.port) for _ in range(PAGES)]
    for page in pages:
        await page.open("?tol=1e-300&max_seconds=600&data=breast-cancer&solvers=fobos")
    address = await pages[0].teach()
    followers = [Visitor(server.port) for _ in range(FOLLOWERS)]
    for follower in followers:
        await follower.open(address, ready="LegendRows")
    for page in pages:
        await page.press("Run")
    for visitor in (*pages, *followers):
        await visitor.wait_until(lambda seen=visitor: "running" in seen.states, "the runs")
    began, before = time.monotonic(), [visitor.rows for visitor in (*pages, *followers)]
    for visitor, rows in zip((*pages, *followers), before, strict=True):
        await visitor.wait_until(lambda seen=visitor, rows=rows: seen.rows != rows, "news", WATCHED)
    print(f"{FOLLOWERS} followers and {PAGES} pages have news within {time.monotonic() - began:.1f} s")
    for visitor in (*pages, *followers):
        await visitor.close()


def test_thirty_who_follow_while_ten_pages_run_all_have_news(public):
    run(full_room(public))
