"""Signals that ask the command line to end: Ctrl-C, a plain kill, a terminal that is closed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

#: All of them mean the same; Windows has no SIGHUP.
ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def handled_by(handler: Callable[..., None]) -> Iterator[None]:
    """Have ``handler`` called for the signals that ask for an end, if this is the main thread.

    A closed terminal stays ignored where it is, as below nohup.
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


def interrupt(*_: object) -> None:
    """Handle a signal as Ctrl-C is handled: end what is under way."""
    raise KeyboardInterrupt


def become(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Go on as another program, which gets all signals itself and whose end is the end of this process.

    Windows cannot do that: there it is waited for, and its exit status returned.
    """
    if os.name != "nt":
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os.execve(command[0], command, environment)
    return subprocess.call(command, env=environment)
