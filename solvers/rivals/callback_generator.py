"""A generator of the calls that a program makes to its callback."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

Call = TypeVar("Call")
Result = TypeVar("Result")
#: The answer to a call after the generator was closed.
CANCEL = object()


class Cancelled(BaseException):
    """Raised in a program whose generator was closed, to unwind it.

    It derives from BaseException, so that the program does not catch it by mistake.
    """


def callback_generator(
    program: Callable[[Callable[[Call], Any]], Result], book: Callable[[float], None]
) -> Generator[Call, Any, Result]:
    """Yield the calls of a program, and send it the answers; return what the program returns.

    The program runs in its own thread, and only while the generator is advanced. So the work of answering a
    call is on the clock, and under the pulse, of the thread that advances.

    Parameters
    ----------
    program : callable
        Called with a function ``ask``, which takes a call and returns the answer to it.
    book : callable
        Called with the CPU seconds of the program's thread, each time that it has run.

    Raises
    ------
    Exception
        Whatever the program raises.
    """
    answers, said = SimpleQueue(), SimpleQueue()  # said: a call, None at the end, and CPU seconds
    result: Future[Result] = Future()

    def ask(call: Call) -> Any:
        nonlocal began
        said.put((call, time.thread_time() - began))
        answer, began = answers.get(), time.thread_time()
        if answer is CANCEL:
            raise Cancelled
        return answer

    def work() -> None:
        nonlocal began
        began = time.thread_time()
        try:
            result.set_result(program(ask))
        except BaseException as error:  # raised again by the thread that advances
            result.set_exception(error)
        said.put((None, time.thread_time() - began))

    began = 0.0
    thread = threading.Thread(target=work, name="external program", daemon=True)
    thread.start()
    try:
        while True:
            call, spent = said.get()
            book(spent)
            if result.done():
                break
            answers.put((yield call))
    finally:
        answers.put(CANCEL)  # a program that has ended does not hear it
        thread.join()
    return result.result()
