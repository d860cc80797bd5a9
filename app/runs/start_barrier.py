"""The barrier at which the runs of a race wait until all have loaded, compiled and set up."""

from __future__ import annotations

from solverscope.app.runs.pool import PoolWorker


class StartBarrier:
    """A barrier that runs join before they reach it.

    It opens once: when no more runs may join, and each run that joined has reached it or is over.
    """

    def __init__(self) -> None:
        self._joined: list[PoolWorker] = []
        self._waiting: set[PoolWorker] = set()
        self._closed = False

    def join(self, worker: PoolWorker) -> None:
        """Add a run, for which the others wait."""
        self._joined.append(worker)

    def close(self) -> None:
        """Stop admitting runs."""
        self._closed = True
        self._wake_all()

    def wait(self, worker: PoolWorker) -> None:
        """Wait until the barrier opens, in the thread of ``worker``; raise Interrupted if that is stopped."""
        self._waiting.add(worker)
        self._wake_all()
        worker.wait_for(lambda: self.open)

    @property
    def open(self) -> bool:
        """Return whether runs may begin."""
        return self._closed and not self.missing

    @property
    def missing(self) -> int:
        """Count the runs that have joined, are not over, and have not yet reached the barrier."""
        return sum(worker not in self._waiting and not worker.over for worker in list(self._joined))

    def _wake_all(self) -> None:
        """Wake all waiting runs if the barrier is open, so that a race begins for all at once."""
        if self.open:
            for worker in list(self._waiting):
                worker.wake()
