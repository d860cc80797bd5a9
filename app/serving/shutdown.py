"""Callbacks that end the work of the server's threads before it shuts down."""

from __future__ import annotations

from collections.abc import Callable

#: Each ends some work, and returns once it is over.
_callbacks: list[Callable[[], None]] = []


def on_shutdown(end: Callable[[], None]) -> Callable[[], None]:
    """Register a function to be called when the server shuts down; return a function that unregisters it."""
    _callbacks.append(end)
    return lambda: _callbacks.remove(end)


def shut_down() -> None:
    """Call all registered functions."""
    for end in list(_callbacks):
        end()
