"""Presence of browsers: whether one shows a page, and how long the page waits for one that has
disconnected."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

#: Seconds without a browser after which a page's computations end: after it was closed, if it may be
#: reloading, and if the connection was lost.
CLOSED_SECONDS, RELOAD_SECONDS, DISCONNECTED_SECONDS = 1.0, 15.0, 120.0
#: Seconds after which a page that was closed, but is connected, is considered open again.
REOPENED_SECONDS = 5.0


class Presence:
    """The presence of a page's browser, checked periodically.

    ``connections()`` returns the number of browsers, and ``clock()`` the time in seconds. ``keep(True)`` asks
    the server to keep the page, so that the browser may return; ``keep(False)`` ends that.
    """

    def __init__(
        self,
        connections: Callable[[], int] = int,
        keep: Callable[[bool], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.connections, self.keep, self.clock = connections, keep, clock
        #: The visitor of the page, and whether their browser has said which page it comes from: until then it
        #: may be one that is loaded again.
        self.visitor: object = None
        self.arrived = True
        #: Seconds since the last browser left, when last looked for; 0 while one is connected, or before the
        #: first.
        self.away = 0.0
        #: Whether the page has stopped waiting for its browser.
        self.given_up = False
        self._seen: float | None = None
        self._left: float | None = None
        self._kept = False

    def leave(self) -> None:
        """Record that the browser closes the page, or loads another one instead."""
        self._left = self.clock()

    def look(self, others: Iterable[Presence]) -> None:
        """Update whether a browser is present; ``others`` are those of the server's open pages."""
        now = self.clock()
        if self.connections() > 0:
            self._seen = now
            if self._left is not None and now - self._left > REOPENED_SECONDS:
                self._left = None
        self.away = 0.0 if self._seen is None else now - self._seen
        self.given_up = self.away > self._patience(others)
        kept = self._seen is not None and not self.given_up
        if self.keep is not None and kept != self._kept:
            self._kept = kept
            self.keep(kept)

    def _patience(self, others: Iterable[Presence]) -> float:
        """Return the seconds for which a page without a connection waits for its browser."""
        if self.keep is None:
            return CLOSED_SECONDS
        if self._left is None:
            return DISCONNECTED_SECONDS
        coming = any(not other.arrived and other.visitor == self.visitor for other in others)
        return RELOAD_SECONDS if coming else CLOSED_SECONDS
