"""The barrier at which the runs of a race wait until all of them have loaded, compiled and set up."""

from __future__ import annotations

from solverscope.app.runs.pool import PoolWorker


class StartBarrier:
    """A barrier whose participants are registered while it is in use.

    It opens once registration is closed and each registered run has reached it or has ended.
    """

    def __init__(self) -> None:
        self._joined: list[PoolWorker] = []
        self._waiting: set[PoolWorker] = set()
        self._closed = False

    def join(self, worker: PoolWorker) -> None:
        """Register a run for which the others wait."""
        self._joined.append(worker)

    def close(self) -> None:
        """Close registration."""
        self._closed = True
        self._wake_all()

    def wait(self, worker: PoolWorker) -> None:
        """Wait in the thread of ``worker`` until the barrier opens. Raises Interrupted if the worker is
        stopped."""
        self._waiting.add(worker)
        self._wake_all()
        worker.wait_for(lambda: self.open)

    @property
    def open(self) -> bool:
        """Return whether the runs may start."""
        return self._closed and not self.missing

    @property
    def missing(self) -> int:
        """Return the number of registered runs that have neither reached the barrier nor ended."""
        return sum(worker not in self._waiting and not worker.over for worker in list(self._joined))

    def _wake_all(self) -> None:
        """Wake all waiting runs if the barrier is open."""
        if self.open:
            for worker in list(self._waiting):
                worker.wake()
