"""What a browser has drawn of the updates it was sent."""

from __future__ import annotations

import time

import param

from solverscope.app import theme
from solverscope.app.component import Component
from solverscope.app.serving.rhythm import SLOWEST


class Pulse(Component):
    """Counts updates; the browser gives each number back once it has drawn the update.

    A browser that is sent more than it can draw keeps the rest in a queue, and answers no click until it is
    through: so the next update waits for the last but one, though not forever, since a tab in the background
    does not draw. A client that never answers is not waited for.
    """

    sent = param.Integer(default=0, doc="updates that have been sent")
    drawn = param.Integer(default=0, doc="the last of them that the browser has drawn")

    width = height = 0

    _esm = theme.asset("pulse.js")
    _sent_at = 0.0

    def beat(self) -> None:
        """Count an update that is being sent."""
        self._sent_at = time.monotonic()
        self.sent += 1

    @property
    def behind(self) -> bool:
        """Tell whether the browser should be given time for what it has got."""
        waited = 1000.0 * (time.monotonic() - self._sent_at)
        return 0 < self.drawn < self.sent - 1 and waited < SLOWEST
