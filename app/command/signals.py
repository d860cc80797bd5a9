"""Signals that ask the command line to end: Ctrl-C, a plain kill, a closed terminal."""

from __future__ import annotations

import signal
import sys
import threading
from _thread import interrupt_main
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from traceback import walk_stack
from types import FrameType

#: Signals that are all treated alike; Windows has no SIGHUP.
ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def handled_by(handler: Callable[..., None]) -> Iterator[None]:
    """Call ``handler`` for signals that ask to end, if this is the main thread.

    SIGHUP is still ignored if it was, as under nohup.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wanted = [s for s in ENDING if s == signal.SIGINT or signal.getsignal(s) is not signal.SIG_IGN]
    before = {s: signal.signal(s, handler) for s in wanted}
    try:
        yield
    finally:
        for one, old in before.items():
            signal.signal(one, signal.SIG_DFL if old is None else old)


@contextmanager
def interrupting() -> Iterator[Callable[[], bool]]:
    """Raise KeyboardInterrupt in the main thread at the first of these signals.

    Yields a function that returns whether there was one. If an exception would do harm or get lost, the
    signal is sent again a little later. This concerns llvmlite, which would free memory twice. It also
    concerns finalizers and callbacks of weak references, whose exceptions Python ignores.
    """
    before, raised = sys.unraisablehook, False

    def once(signum: int, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt; later signals are ignored, as the command is already ending."""
        nonlocal raised
        if raised:
            return
        if any(f.f_globals.get("__name__", "").startswith("llvmlite.") for f, _ in walk_stack(frame)):
            again()
            return
        raised = True
        raise KeyboardInterrupt

    def dropped(unraisable: sys.UnraisableHookArgs) -> None:
        nonlocal raised
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            raised = False
            again()
        else:
            before(unraisable)

    def again() -> None:
        threading.Timer(0.05, interrupt_main).start()

    sys.unraisablehook = dropped
    try:
        with handled_by(once):
            yield lambda: raised
    finally:
        sys.unraisablehook = before
