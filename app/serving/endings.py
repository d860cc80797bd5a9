"""What is at work in threads of the server is ended before the server ends."""

from __future__ import annotations

from collections.abc import Callable

#: Each ends something at work, and returns once it is over.
_endings: list[Callable[[], None]] = []


def before_the_end(end: Callable[[], None]) -> Callable[[], None]:
    """Have ``end`` called when the server is told to end; return what takes that back."""
    _endings.append(end)
    return lambda: _endings.remove(end)


def end_all() -> None:
    """End all that is at work."""
    for end in list(_endings):
        end()
