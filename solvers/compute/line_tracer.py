"""A tracer that records which lines of a file a thread executes."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

#: Number of the tool by which ``sys.monitoring`` knows this one: debuggers and profilers have 0 to 2.
TOOL_ID = 4


class LineTracer:
    """A tracer of the functions of one file, in the thread that calls :meth:`following`.

    From Python 3.12 on it only slows down these functions. In 3.11 it slows down all Python code of the
    thread, by more than ``seconds``.

    Parameters
    ----------
    file : str
        The file.
    codes : collection of CodeType
        The code objects of its functions.

    Attributes
    ----------
    lines : set of int
        Line numbers that were executed.
    seconds : float
        CPU seconds spent on recording them.
    """

    def __init__(self, file: str, codes: Collection[CodeType]) -> None:
        self.lines: set[int] = set()
        self.seconds = 0.0
        self._file, self._codes = file, codes

    @contextmanager
    def following(self) -> Iterator[None]:
        """Record lines during the block, unless a debugger or another tracer is active in this thread."""
        if sys.version_info >= (3, 12):
            with _monitoring(self, self._codes):
                yield
        elif sys.gettrace() is not None:
            yield
        else:
            sys.settrace(self._enter)
            try:
                yield
            finally:
                sys.settrace(None)

    def note(self, line: int) -> None:
        """Record an executed line."""
        began = time.thread_time()
        self.lines.add(line)
        self.seconds += time.thread_time() - began

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if frame.f_code.co_filename == self._file else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.note(frame.f_lineno)
        return self._line


_lock = threading.Lock()
#: The tracer of each thread that follows lines, and how many threads follow each code.
_tracers: dict[int, LineTracer] = {}
_followed: Counter[CodeType] = Counter()


@contextmanager
def _monitoring(tracer: LineTracer, codes: Collection[CodeType]) -> Iterator[None]:
    """Report the lines of some functions to the tracer of this thread, by ``sys.monitoring``."""
    monitoring: Any = vars(sys)["monitoring"]
    with _lock:
        if monitoring.get_tool(TOOL_ID) is None:
            monitoring.use_tool_id(TOOL_ID, __name__)
            monitoring.register_callback(TOOL_ID, monitoring.events.LINE, _report)
    _follow(monitoring, codes, 1)
    _tracers[threading.get_ident()] = tracer
    try:
        yield
    finally:
        del _tracers[threading.get_ident()]
        _follow(monitoring, codes, -1)


def _follow(monitoring: Any, codes: Collection[CodeType], change: int) -> None:
    with _lock:
        for code in codes:
            _followed[code] += change
            events = monitoring.events.LINE if _followed[code] else 0
            if monitoring.get_local_events(TOOL_ID, code) != events:
                monitoring.set_local_events(TOOL_ID, code, events)


def _report(code: CodeType, line: int) -> None:
    tracer = _tracers.get(threading.get_ident())
    if tracer is not None:
        tracer.note(line)
