"""A program that calls back, turned into a generator of its calls."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from typing import Any, TypeVar

Call = TypeVar("Call")
Result = TypeVar("Result")


class Left(BaseException):
    """Unwinds a program whose calls nobody answers any more; no program catches it by mistake."""


class _Program(threading.Thread):
    """The thread of a program. It and whoever advances it take turns."""

    def __init__(self, program: Callable[[Callable[[Any], Any]], Any]) -> None:
        super().__init__(name="foreign program", daemon=True)
        self.call: Any = None
        self.answer: Any = None
        self.left = self.ended = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.spent = 0.0  # CPU seconds of the last turn
        self._program = program
        self._turn, self._over = threading.Semaphore(0), threading.Semaphore(0)

    def run(self) -> None:
        self._wait()
        try:
            if not self.left:
                self.result = self._program(self._ask)
        except BaseException as error:  # raised again by the thread that advances
            self.error = error
        self.ended = True
        self._hand_over()

    def advance(self) -> None:
        """Let the program work up to its next call, or to its end."""
        self._turn.release()
        self._over.acquire()

    def _ask(self, call: Any) -> Any:
        self.call = call
        self._hand_over()
        self._wait()
        if self.left:
            raise Left
        return self.answer

    def _wait(self) -> None:
        self._turn.acquire()
        self._began = time.thread_time()

    def _hand_over(self) -> None:
        self.spent = time.thread_time() - self._began
        self._over.release()


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
    thread = _Program(program)
    thread.start()
    try:
        while True:
            thread.advance()
            book(thread.spent)
            if thread.ended:
                break
            thread.answer = yield thread.call
    finally:
        if not thread.ended:
            thread.left = True
            thread.advance()
        thread.join()
    if thread.error is not None:
        raise thread.error
    return thread.result
