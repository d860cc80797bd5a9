"""A record of the inputs from which each picture was last drawn."""

from __future__ import annotations

from weakref import ref

from solverscope.solvers import Trace


class Drawn:
    """A record of the inputs of each picture when it was last drawn: it is redrawn only if they change.

    Runs are held by weak references: a deleted run is not kept in memory, nor mistaken for a new run at the
    same address.
    """

    def __init__(self) -> None:
        self._marks: dict[str, object] = {}

    def shows(self, picture: str, *mark: object) -> bool:
        """Return whether ``picture`` was last drawn from ``mark``."""
        return self._marks.get(picture, ()) == _held(mark)

    def changed(self, picture: str, *mark: object) -> bool:
        """Return whether ``picture`` was last drawn from anything but ``mark``, all that it depends on.

        From then on it counts as drawn from ``mark``. Without one it is empty, as all are at first.
        """
        if self.shows(picture, *mark):
            return False
        self._marks[picture] = _held(mark)
        return True


def _held(mark: object) -> object:
    if isinstance(mark, Trace):
        return ref(mark)
    return tuple(map(_held, mark)) if isinstance(mark, (tuple, list)) else mark
