"""The starting line: runs of one race wait at it until all of them have loaded, compiled and set up."""

from __future__ import annotations

from solverscope.app.runs.pool import Worker


class StartingLine:
    """Runs join before they come to it; it opens, once and for all, when it has been ``closed`` to others and
    each that joined has come, or is over."""

    def __init__(self) -> None:
        self._joined: list[Worker] = []
        self._there: set[Worker] = set()
        self._closed = False

    def join(self, worker: Worker) -> None:
        """Let the others wait for this one."""
        self._joined.append(worker)

    def close(self) -> None:
        """Let nobody join any more."""
        self._closed = True
        self._look()

    def wait(self, worker: Worker) -> None:
        """Wait until the line opens, in the thread of ``worker``; raises Interrupted if that is stopped."""
        self._there.add(worker)
        self._look()
        worker.wait_for(lambda: self.open)

    @property
    def open(self) -> bool:
        """Tell whether runs may begin."""
        return self._closed and not self.missing

    @property
    def missing(self) -> int:
        """Count the runs that the others wait for."""
        return sum(worker not in self._there and not worker.over for worker in list(self._joined))

    def _look(self) -> None:
        """Call those who wait, if it is open: a race begins for all at once."""
        if self.open:
            for worker in list(self._there):
                worker.look_again()
