"""A single thread for all pages of a server: the thread of its event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from weakref import WeakSet

_kept: WeakSet[asyncio.AbstractEventLoop] = WeakSet()


class InPlace(ThreadPoolExecutor):
    """An executor without threads: ``submit`` runs the task before it returns."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # who waits for it gets it
            future.set_exception(error)
        return future


def keep() -> None:
    """Make the running event loop execute tasks of its default executor in its own thread.

    Bokeh 3.10 runs most callbacks of a page in other threads while the loop's thread builds pages. The state
    that pages share, including that of HoloViews and Param, is not protected by locks.
    """
    with suppress(RuntimeError):  # no loop, and so no server
        loop = asyncio.get_running_loop()
        if loop not in _kept:
            _kept.add(loop)
            loop.set_default_executor(InPlace())
