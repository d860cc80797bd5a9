"""Standard streams that are closed, full, or pipes without a reader."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import Any, NoReturn, TextIO

from .exit_status import BAD_INPUT

#: What loaders of shared objects say where the address space is too small for them.
NO_ROOM = ("failed to map segment", "annot allocate memory", "Could not find/load shared object")
#: Bytes of address space without which NumPy's OpenBLAS waits forever for its buffers.
LEAST_MEMORY = 480 << 20
LACK_OF_MEMORY = "the solvers need more memory than the process may use: give it 700 MiB (ulimit -v 716800)"


def has_little_memory() -> bool:
    """Return whether the process may use too little address space to load NumPy, which may then hang."""
    try:
        import resource
    except ImportError:  # not on this system
        return False
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return limit != resource.RLIM_INFINITY and limit < LEAST_MEMORY


def leave_for_lack_of_memory() -> NoReturn:
    """End the process with one sentence."""
    Listener(sys.stderr).write(f"solverscope: {LACK_OF_MEMORY}\n")
    sys.exit(BAD_INPUT)


def is_lack_of_memory(error: BaseException | None) -> bool:
    """Return whether an error, or one that caused it, is a lack of memory."""
    while error is not None:
        if isinstance(error, MemoryError) or any(words in str(error) for words in NO_ROOM):
            return True
        error = error.__cause__ or error.__context__
    return False


def open_closed() -> None:
    """Open the standard streams that are closed on the null device, so that no file takes their numbers.

    All of them then escape the characters that their encoding lacks.
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
    """Write to standard output at once. Raises BrokenPipeError if a pipe has no reader, NotWritten if it
    cannot be written."""
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
    """Write JSON lines to standard output at once."""
    put("".join(json.dumps(record) + "\n" for record in records))


def abandon_output() -> None:
    """Redirect standard output to nowhere, so that nothing is left for the interpreter to flush."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Listener:
    """A stream for messages to people, which are dropped if it has no reader."""

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
