"""The console script ``solverscope``."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

from solverscope.app.command.exit_status import INTERRUPTED


def leave(*signalled: object) -> NoReturn:
    """End this process and its child processes at once.

    Exit handlers of libraries are not called, since several raise once their loops are closed.
    """
    if signalled:
        os.write(2, b"solverscope: interrupted\n")
    if (psutil := sys.modules.get("psutil")) is not None:  # Dask has imported it
        for child in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                child.kill()
    os._exit(INTERRUPTED)


def main() -> None:
    """Run the command line and exit with its status."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # while modules are imported, and once the command is over
        ending = getattr(signal, name, None)
        if ending is not None and (name == "SIGINT" or signal.getsignal(ending) is not signal.SIG_IGN):
            signal.signal(ending, leave)
    from solverscope.app.command import streams

    streams.open_closed()
    if streams.has_little_memory():
        streams.leave_for_lack_of_memory()
    try:
        from solverscope.app.command.cli import main as command_line
    except (ImportError, OSError, MemoryError) as error:
        if not streams.is_lack_of_memory(error):
            raise
        streams.leave_for_lack_of_memory()

    status = command_line()
    if status == INTERRUPTED:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # nobody reads it any more
                stream.flush()
        leave()
    sys.exit(status)
