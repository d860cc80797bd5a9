"""Event loops for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def run(wanted: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in a thread and a loop of its own: in this thread Playwright's may be at work."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, wanted).result()


async def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for something that the loop brings about."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)
