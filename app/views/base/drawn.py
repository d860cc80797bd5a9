"""The inputs from which each plot was last drawn."""

from __future__ import annotations

from weakref import ref

from solverscope.solvers import Trace


class Drawn:
    """A record of the inputs of each plot when it was last drawn, so that it is redrawn only if they change.

    References to runs are weak: a removed run is neither kept in memory, nor mistaken for a new one at the
    same memory address.
    """

    def __init__(self) -> None:
        self._marks: dict[str, object] = {}

    def shows(self, picture: str, *mark: object) -> bool:
        """Return whether ``picture`` was last drawn from ``mark``."""
        return self._marks.get(picture, ()) == _held(mark)

    def changed(self, picture: str, *mark: object) -> bool:
        """Return whether ``picture`` must be drawn again, because its inputs ``mark`` have changed.

        From then on, ``mark`` is considered drawn. A plot without inputs is empty, as all plots are at first.
        """
        if self.shows(picture, *mark):
            return False
        self._marks[picture] = _held(mark)
        return True


def _held(mark: object) -> object:
    if isinstance(mark, Trace):
        return ref(mark)
    return tuple(map(_held, mark)) if isinstance(mark, (tuple, list)) else mark
