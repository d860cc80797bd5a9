"""Inspection of other threads, and exceptions raised in them."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from traceback import walk_stack
from typing import NamedTuple

PACKAGE_NAME = __name__.partition(".")[0]
#: Packages whose code an exception must not interrupt: they free memory twice, or keep a lock.
COMPILERS = ("numba", "llvmlite")


class CodePlace(NamedTuple):
    """A line of code that a thread executes."""

    file: str
    line: int
    function: str
    package: str

    def __str__(self) -> str:
        return f"{Path(self.file).name}, line {self.line}, in {self.function}"


def stack(thread_id: int) -> list[CodePlace]:
    """Return the lines that a thread executes, outermost first; an empty list once it has ended."""
    frame = sys._current_frames().get(thread_id)
    if frame is None:
        return []
    found = []
    for one, line in walk_stack(frame):
        package = str(one.f_globals.get("__name__", "")).partition(".")[0]
        found.append(CodePlace(one.f_code.co_filename, line, one.f_code.co_name, package))
    return found[::-1]


def user_places(places: list[CodePlace]) -> list[CodePlace]:
    """Return the part of a stack that begins with the user's code, such as a plug-in's.

    This is the first line of another package that this package has called. Without such a line return only
    the innermost line.
    """
    called = False
    for k, place in enumerate(places):
        if place.package == PACKAGE_NAME:
            called = True
        elif called:
            return places[k:]
    return places[-1:]


def last_user_place(places: list[CodePlace]) -> CodePlace | None:
    """Return the innermost line in the file with which :func:`user_places` begins; None if there is none."""
    found = user_places(places)
    return next((place for place in reversed(found) if place.file == found[0].file), None)


def is_compiling(places: list[CodePlace]) -> bool:
    """Return whether a thread is inside Numba's compiler."""
    return any(place.package in COMPILERS for place in places)


def raise_in(thread_id: int, error: type[BaseException]) -> None:
    """Raise an exception in a thread at its next Python instruction, hence after a compiled loop has
    returned.

    Nothing is raised inside a compiler.
    """
    if not is_compiling(stack(thread_id)):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), ctypes.py_object(error))
