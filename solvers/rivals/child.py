"""The main function of an external program's process, which :mod:`.process` starts.

It reads frames from its standard input and writes frames to its standard output; output of programs is
discarded. It ends with the process that started it.
"""

from __future__ import annotations

import importlib
import io
import os
import queue
import signal
import sys
import threading
import warnings
from dataclasses import fields
from typing import IO, cast

from ..compute.blas import one_blas_thread
from .callback_generator import Cancelled
from .external_solver import IterateReporter, Task
from .process import Frame, read, write

Frames = queue.SimpleQueue


def listen(orders: Frames) -> None:
    """Read orders into a queue; end this process when the sender of orders ends."""
    stdin = cast(io.BufferedIOBase, sys.stdin.buffer)
    try:
        while True:
            orders.put(read(stdin))
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)


def solve(order: Frame, answers: IO[bytes], orders: Frames) -> None:
    """Run one program to its end, or until it is cancelled."""
    os.environ.update(order["environment"])
    try:
        cls = getattr(importlib.import_module(order["module"]), order["name"])
        solver, task = cls(**order["params"]), Task(**{f.name: order[f.name] for f in fields(Task)})
        solver.load(task)
        with one_blas_thread():
            said = solver.advance(task, IterateReporter(answers, orders))
    except Cancelled:
        said = "cancelled"
    except MemoryError:
        return write(answers, failed="out of memory: take a smaller problem")
    except (Exception, SystemExit) as error:
        return write(answers, failed=f"{type(error).__name__}: {' '.join(str(error).split())}")
    return write(answers, ended=said)


def main() -> None:
    """Execute orders until the sender of orders ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    orders: Frames = queue.SimpleQueue()
    threading.Thread(target=listen, args=(orders,), daemon=True).start()
    while True:
        solve(orders.get(), answers, orders)


if __name__ == "__main__":
    main()
