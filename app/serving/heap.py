"""What the server gives back to the system when visitors have left."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Callable

from tornado.ioloop import IOLoop

#: Seconds after the end of a session in which Bokeh lets go of what it held.
SETTLED = 3.0
#: Parts of its heap that the allocator hands out to threads (usually eight a core). What runs leave behind in
#: many of them is too scattered to be given back, and most of a run's time is spent outside of the allocator.
ARENAS = 2
_M_ARENA_MAX = -8

_libc = ctypes.CDLL(None) if os.name == "posix" else None
_pending = False


def few_arenas() -> None:
    """Let all threads allocate from ``ARENAS`` parts of the heap, where the C library knows of parts."""
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(_M_ARENA_MAX, ARENAS)


def give_back(unused: bool) -> None:
    """Return free memory to the system; garbage is looked for before, which takes up to a second, only while
    the server is ``unused``."""
    if unused:
        gc.collect()
    if hasattr(_libc, "malloc_trim"):
        _libc.malloc_trim(0)


def give_back_soon(visitors: Callable[[], int]) -> None:
    """Do so a little later, once for all sessions that end meanwhile; ``visitors()`` counts who is left."""
    global _pending
    if _pending:
        return
    _pending = True

    def now() -> None:
        global _pending
        _pending = False
        give_back(unused=visitors() == 0)

    IOLoop.current().call_later(SETTLED, now)
