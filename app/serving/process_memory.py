"""Functions that return free memory to the operating system after visitors have left."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Callable

from tornado.ioloop import IOLoop

#: Seconds after the end of a session within which Bokeh drops what it held.
SETTLE_SECONDS = 3.0
#: Arenas of the allocator (usually eight a core). What runs leave behind in many of them is too fragmented to
#: be released. Few are enough, since a run spends most of its time outside of the allocator.
MAX_ARENAS = 2
_M_ARENA_MAX = -8

_libc = ctypes.CDLL(None) if os.name == "posix" else None
_pending = False


def limit_arenas() -> None:
    """Limit the number of arenas from which threads allocate, if the C library has arenas."""
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(_M_ARENA_MAX, MAX_ARENAS)


def release(unused: bool) -> None:
    """Return free memory to the operating system.

    If the server is ``unused``, garbage is collected before, which takes up to a second.
    """
    if unused:
        gc.collect()
    if hasattr(_libc, "malloc_trim"):
        _libc.malloc_trim(0)


def release_soon(visitors: Callable[[], int]) -> None:
    """Release memory after a delay, once for all sessions that end in the meantime."""
    global _pending
    if _pending:
        return
    _pending = True

    def now() -> None:
        global _pending
        _pending = False
        release(unused=visitors() == 0)

    IOLoop.current().call_later(SETTLE_SECONDS, now)
