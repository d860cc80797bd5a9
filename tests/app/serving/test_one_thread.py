"""What a loop would hand over to other threads."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from solverscope.app.serving import one_thread
from tests import loop


def test_what_is_handed_over_is_done_in_the_thread_of_the_loop_in_which_it_runs():
    async def scenario() -> None:
        one_thread.keep()
        one_thread.keep()
        ident, running = await asyncio.to_thread(lambda: (threading.get_ident(), asyncio.get_running_loop()))
        assert (ident, running) == (threading.get_ident(), asyncio.get_running_loop())

    loop.run(scenario())


def test_an_error_comes_to_who_waits_for_it():
    async def scenario() -> None:
        one_thread.keep()
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 / 0)

    loop.run(scenario())


def test_without_a_loop_nothing_is_kept():
    def run() -> None:
        one_thread.keep()
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()

    with ThreadPoolExecutor(1) as other:  # Playwright keeps a loop in the thread of the tests
        other.submit(run).result()
