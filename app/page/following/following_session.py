"""Sessions of other windows, which show the runs of a page's session."""

from __future__ import annotations

from functools import partial

import param

from solverscope.app.page.session import Session
from solverscope.app.runs.displayed_run import DisplayedRun


class FollowingSession(Session):
    """A session that draws the runs of another session, its ``leader``; closing it does not affect the
    leader.

    If it ``follows``, the cursor and hidden runs are the leader's. If it ``steers``, it may change these and
    the runs, as a second window of the same visitor does; followers of a lesson may not.
    """

    def __init__(self, leader: Session, *, steers: bool = True, follows: bool = True) -> None:
        super().__init__(leader.share.pool, leader.scheduler, leader.history)
        self.leader, self.runs = leader, leader.runs
        self.steers, self._follows = steers, follows
        self.led = follows and not steers
        if follows:
            self._hidden = leader._hidden
        if steers:
            leader.steered_by.add(self)
        #: Whether the leader has ended, so that the page no longer changes.
        self.over = False
        self._seen: tuple[object, ...] = ()
        self._go_along()
        self.cursor.param.watch(self._moved, ["run", "iteration", "follow"])

    @property
    def at_rest(self) -> bool:
        """Return whether the leader has ended, so that no ticks are needed."""
        return self.over

    def tick(self) -> None:
        """Move to the leader's cursor, and draw."""
        self.over = self.over or (self.leader.closed and not self.steers)
        if self.over:
            for watcher in self.watchers:
                self._attempt(watcher.update, watcher)
            return
        if not self.steers:  # those that the leader takes away stay here to its end
            self.runs = list(self.leader.runs)
        if self._follows:
            self._go_along()
        super().tick()

    def _go_along(self) -> None:
        lead = self.leader.cursor
        if (place := (lead.run, lead.iteration, lead.follow)) != self._seen:
            self._seen, self.cursor.chosen = place, lead.chosen
            self.cursor.keep(run=lead.run, iteration=lead.iteration, follow=lead.follow)

    def _moved(self, *events: param.parameterized.Event) -> None:
        """Ask the leader's page to make a visitor's move, since only that page may change its state."""
        own, lead = self.cursor, self.leader.cursor
        if own.keeping_up or not self.steers:
            return
        self._seen = (own.run, own.iteration, own.follow)
        lead_to = partial(lead.param.update, run=own.run, iteration=own.iteration, follow=own.follow)
        self.leader.asked.append(lambda: (setattr(lead, "chosen", True), lead_to()))

    def _go_to_hits(self) -> None:
        """Do nothing, as the leader moves its cursor to the iterate at which a run was paused."""

    def clear(self) -> None:
        """Do nothing, as the runs belong to the leader."""

    def toggle(self, run: DisplayedRun) -> None:
        if self.steers or not self._follows:
            super().toggle(run)

    def isolate(self, run: DisplayedRun) -> None:
        if self.steers or not self._follows:
            super().isolate(run)

    def pin(self, run: DisplayedRun, wanted: bool) -> None:
        if self.steers:
            self.leader.pin(run, wanted)

    def remove(self, run: DisplayedRun) -> None:
        if self.steers:
            self.leader.remove(run)
