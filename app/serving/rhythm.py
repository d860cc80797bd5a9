"""How often the pages of all visitors are brought up to date: one thread does it for all of them."""

from __future__ import annotations

from weakref import WeakKeyDictionary

#: Milliseconds between ticks: as a rule (some come late, and five a second are wanted), where nothing is at
#: work, at most (and while the page is closed), and while a run that has just been started shows nothing.
PERIOD = 160
AT_REST = 500
SLOWEST = 1000
EAGER = 50
#: Share of the thread's time that ticks may take before they come less often; the rest is for clicks and
#: for pages that are opened. They come more often again below half of it.
SHARE = 0.5
#: Weight of the newest tick in what one takes: a long one is no reason, others may just have got in its way.
NEWEST = 0.3


class Rhythm:
    """What a tick of each session takes, and the period that leaves time for everything else."""

    def __init__(self) -> None:
        self._spent: WeakKeyDictionary[object, float] = WeakKeyDictionary()

    def note(self, session: object, milliseconds: float) -> None:
        """Note how long a tick of this session has taken."""
        before = self._spent.get(session, 0.0)
        self._spent[session] = before + NEWEST * (milliseconds - before)

    def leave(self, session: object) -> None:
        """Forget a session, which ticks no more."""
        self._spent.pop(session, None)

    def period(self, now: int, *, eager: bool = False, at_rest: bool = False) -> int:
        """Return the milliseconds until the next tick of a session that has waited ``now``."""
        spent, wanted = sum(self._spent.values()), EAGER if eager else AT_REST if at_rest else PERIOD
        while wanted < SLOWEST and spent > SHARE * wanted * (1.0 if wanted >= now else 0.5):
            wanted = min(2 * wanted, SLOWEST)
        return wanted


#: Of this process: its pages have one thread.
shared = Rhythm()
