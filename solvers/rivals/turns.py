"""A program that calls back, turned into a generator of its calls."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from queue import SimpleQueue
from typing import Any, TypeVar

Call = TypeVar("Call")
Result = TypeVar("Result")
#: The answer to a call that nobody wants answered any more.
LEAVE = object()


class Left(BaseException):
    """Unwinds a program whose calls nobody answers any more; no program catches it by mistake."""


def calls_of(
    program: Callable[[Callable[[Call], Any]], Result], book: Callable[[float], None]
) -> Generator[Call, Any, Result]:
    """Yield what a program asks, and send it the answers; return what the program returns.

    The program runs in a thread of its own, and only while the generator is advanced. What is done to answer
    a call is thus on the clock, and under the pulse, of the thread that advances.

    Parameters
    ----------
    program : callable
        Given ``ask``, which takes a call and returns the answer to it.
    book : callable
        Given the CPU seconds of the program's thread after each of its turns.

    Raises
    ------
    Exception
        Whatever the program raises.
    """
    answers, said = SimpleQueue(), SimpleQueue()  # said: what it is, a call or how it ended, and CPU seconds

    def ask(call: Call) -> Any:
        nonlocal began
        said.put(("call", call, time.thread_time() - began))
        answer, began = answers.get(), time.thread_time()
        if answer is LEAVE:
            raise Left
        return answer

    def work() -> None:
        nonlocal began
        began = time.thread_time()
        try:
            end = "result", program(ask)
        except BaseException as error:  # raised again by the thread that advances
            end = "error", error
        said.put((*end, time.thread_time() - began))

    began = 0.0
    thread = threading.Thread(target=work, name="foreign program", daemon=True)
    thread.start()
    kind = "call"
    try:
        while True:
            kind, what, spent = said.get()
            book(spent)
            if kind != "call":
                break
            answers.put((yield what))
    finally:
        if kind == "call":
            answers.put(LEAVE)
        thread.join()
    if kind == "error":
        raise what
    return what
