"""What runs in the process of a foreign program, which :mod:`.process` starts.

It reads frames from its standard input and writes them to what was its standard output, which programs are
kept from. It ends with the process that has started it.
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
from .foreign import Task, Tell
from .process import Frame, read, write
from .turns import Left

Frames = queue.SimpleQueue


def listen(orders: Frames) -> None:
    """Take in orders; end the process with the one that gives them."""
    stdin = cast(io.BufferedIOBase, sys.stdin.buffer)
    try:
        while True:
            orders.put(read(stdin))
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)


def solve(order: Frame, answers: IO[bytes], orders: Frames) -> None:
    """Advance one program to its end, or until it is left."""
    os.environ.update(order["environment"])
    try:
        cls = getattr(importlib.import_module(order["module"]), order["name"])
        solver, task = cls(**order["params"]), Task(**{f.name: order[f.name] for f in fields(Task)})
        solver.load(task)
        with one_blas_thread():
            said = solver.advance(task, Tell(answers, orders))
    except Left:
        said = "left"
    except MemoryError:
        return write(answers, failed="out of memory: take a smaller problem")
    except (Exception, SystemExit) as error:
        return write(answers, failed=f"{type(error).__name__}: {' '.join(str(error).split())}")
    return write(answers, ended=said)


def main() -> None:
    """Do what is ordered until nobody orders any more."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    orders: Frames = queue.SimpleQueue()
    threading.Thread(target=listen, args=(orders,), daemon=True).start()
    while True:
        solve(orders.get(), answers, orders)


if __name__ == "__main__":
    main()
