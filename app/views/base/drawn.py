"""Record of what each picture was last drawn from."""

from __future__ import annotations

from weakref import ref

from solverscope.solvers import Trace


class Drawn:
    """Remembers what each picture was last drawn from, so that it is drawn again only for something else.

    Runs are held by weak references: a run that is deleted is not kept in memory, nor taken for a new one at
    the same address.
    """

    def __init__(self) -> None:
        self._marks: dict[str, object] = {}

    def shows(self, picture: str, *mark: object) -> bool:
        """Tell whether ``picture`` was last drawn from ``mark``."""
        return self._marks.get(picture, ()) == _held(mark)

    def changed(self, picture: str, *mark: object) -> bool:
        """Tell whether ``picture`` was last drawn from something else than ``mark``, all that it depends on;
        from then on it counts as drawn from that. Without a mark it is empty, as all are to begin with."""
        if self.shows(picture, *mark):
            return False
        self._marks[picture] = _held(mark)
        return True


def _held(mark: object) -> object:
    if isinstance(mark, Trace):
        return ref(mark)
    return tuple(map(_held, mark)) if isinstance(mark, (tuple, list)) else mark
