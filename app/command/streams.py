"""Standard streams, also if they are closed, full, or pipes without a reader."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import Any, NoReturn, TextIO

from .exit_status import BAD_INPUT

#: Parts of messages of the dynamic loader if the address space is too small.
NO_ROOM = ("failed to map segment", "annot allocate memory", "Could not find/load shared object")
#: Bytes of address space below which NumPy's OpenBLAS waits indefinitely for its buffers.
LEAST_MEMORY = 480 << 20
LACK_OF_MEMORY = "the solvers need more memory than the process may use: give it 700 MiB (ulimit -v 716800)"


def has_little_memory() -> bool:
    """Return whether the limit on the address space is so low that importing NumPy might hang."""
    try:
        import resource
    except ImportError:  # not on this system
        return False
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return limit != resource.RLIM_INFINITY and limit < LEAST_MEMORY


def leave_for_lack_of_memory() -> NoReturn:
    """End the process with a message."""
    Listener(sys.stderr).write(f"solverscope: {LACK_OF_MEMORY}\n")
    sys.exit(BAD_INPUT)


def is_lack_of_memory(error: BaseException | None) -> bool:
    """Return whether an error, or one that caused it, is due to a lack of memory."""
    while error is not None:
        if isinstance(error, MemoryError) or any(words in str(error) for words in NO_ROOM):
            return True
        error = error.__cause__ or error.__context__
    return False


def open_closed() -> None:
    """Open standard streams that are closed on the null device, so that no file gets their descriptors.

    All streams then escape characters that their encoding does not have.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")


def put(text: str) -> None:
    """Write to standard output and flush it.

    Raises BrokenPipeError if a pipe has no reader, and NotWritten if writing fails otherwise.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        from solverscope.solvers.compute.atomic_files import NotWritten, why_not_written

        reason, advice = why_not_written(error)
        raise NotWritten(f"standard output was not written, for {reason}: {advice}") from error


def put_json(records: Iterable[Any]) -> None:
    """Write JSON lines to standard output and flush it."""
    put("".join(json.dumps(record) + "\n" for record in records))


def abandon_output() -> None:
    """Redirect standard output to the null device, so that the interpreter has nothing to flush at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Listener:
    """A stream for messages to people, which are dropped if the stream has no reader."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._heard = True

    def write(self, text: str) -> int:
        return self._quietly(self._stream.write, text)

    def flush(self) -> None:
        self._quietly(self._stream.flush)

    def _quietly(self, call: Any, *arguments: Any) -> Any:
        if self._heard:
            try:
                return call(*arguments)
            except OSError:
                self._heard = False
        return 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
