"""The scheduler of ticks, in which the pages of all visitors are updated, in one thread."""

from __future__ import annotations

from weakref import WeakKeyDictionary

#: Milliseconds between ticks as a rule. Some ticks come late, and five a second are wanted.
TICK_MS = 160
#: The same while nothing is at work.
IDLE_TICK_MS = 500
#: The same at most, and while the page is closed.
MAX_TICK_MS = 1000
#: The same while a run that has just been started shows nothing.
EAGER_TICK_MS = 50
#: Share of the thread's time that ticks may take before they come less often. The rest is for clicks and for
#: pages that are opened. Ticks come more often again below half of it.
MAX_TICK_SHARE = 0.5
#: Weight of the newest tick in the average of a session: a single long one may have been held up by others.
SMOOTHING = 0.3


class TickScheduler:
    """A scheduler that limits the fraction of the thread's time spent on ticks, from the average time of each
    session."""

    def __init__(self) -> None:
        self._spent: WeakKeyDictionary[object, float] = WeakKeyDictionary()

    def record(self, session: object, milliseconds: float) -> None:
        """Record the duration of a tick of this session."""
        before = self._spent.get(session, 0.0)
        self._spent[session] = before + SMOOTHING * (milliseconds - before)

    def remove(self, session: object) -> None:
        """Remove a session that has no more ticks."""
        self._spent.pop(session, None)

    def period(self, now: int, *, eager: bool = False, at_rest: bool = False) -> int:
        """Return the milliseconds until a session's next tick; ``now`` is its current period.

        The period is shorter if ``eager``, and longer if the session is ``at_rest``.
        """
        spent = sum(self._spent.values())
        wanted = TICK_MS
        if at_rest:
            wanted = IDLE_TICK_MS
        if eager:
            wanted = EAGER_TICK_MS
        while wanted < MAX_TICK_MS and spent > MAX_TICK_SHARE * wanted * (1.0 if wanted >= now else 0.5):
            wanted = min(2 * wanted, MAX_TICK_MS)
        return wanted


#: The scheduler of this process, whose pages have one thread.
shared = TickScheduler()
