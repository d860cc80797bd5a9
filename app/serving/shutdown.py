"""Callbacks that end the work of the server's threads before the server ends."""

from __future__ import annotations

from collections.abc import Callable

#: Each ends some work, and returns once it is over.
_callbacks: list[Callable[[], None]] = []


def on_shutdown(end: Callable[[], None]) -> Callable[[], None]:
    """Register ``end``, to be called when the server is asked to end; return a function to unregister it."""
    _callbacks.append(end)
    return lambda: _callbacks.remove(end)


def shut_down() -> None:
    """End all work."""
    for end in list(_callbacks):
        end()
