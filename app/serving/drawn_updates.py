"""Flow control: counters of the updates sent to a browser and of those that it has drawn."""

from __future__ import annotations

import time

import param

from solverscope.app import ui
from solverscope.app.serving.tick_scheduler import MAX_TICK_MS
from solverscope.app.ui.component import Component


class DrawnUpdates(Component):
    """Counters of updates; the browser reports the number of each update that it has drawn.

    A browser that gets more updates than it can draw queues them, and reacts to no click until the queue is
    empty. Therefore the next update waits until the last but one is drawn. It waits for at most a second,
    since a tab in the background does not draw. If a client never reports anything, updates do not wait.
    """

    sent = param.Integer(default=0, doc="updates that have been sent")
    drawn = param.Integer(default=0, doc="the last of them that the browser has drawn")

    width = height = 0

    _esm = ui.asset("drawn_updates.js")
    _sent_at = 0.0

    def count(self) -> None:
        """Count an update that is being sent."""
        self._sent_at = time.monotonic()
        self.sent += 1

    @property
    def is_behind(self) -> bool:
        """Return whether the next update should wait for the browser."""
        waited = 1000.0 * (time.monotonic() - self._sent_at)
        return 0 < self.drawn < self.sent - 1 and waited < MAX_TICK_MS
