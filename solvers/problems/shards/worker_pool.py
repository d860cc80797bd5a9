"""Workers with one shard each: orders are passed down a tree of workers, and sums passed up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

import numpy as np

from .shard import ORDERS, Order, Shard

#: Seconds between two checks whether a waiting run should pause or stop.
POLL_SECONDS = 0.05


class ShardAnswer(NamedTuple):
    """The combined answer of shards, their CPU seconds, and the bytes sent between them."""

    value: Any
    seconds: float
    moved: int


class PendingAnswer(Protocol):
    """The future of an answer."""

    def result(self, timeout: float | None = None) -> ShardAnswer:
        """Wait for the result; raise TimeoutError after ``timeout`` seconds."""
        ...

    def done(self) -> bool:
        """Return whether the answer has arrived."""
        ...


class WorkerProxy(Protocol):
    """A worker, possibly in a remote process."""

    def execute(self, orders: Sequence[Order], end: int) -> PendingAnswer:
        """Send orders to the worker; see :meth:`ShardWorker.execute`."""
        ...


class ShardLost(OSError):
    """Raised if a shard, and the scores stored there, are lost."""


class ShardWorker:
    """A shard and its position in the tree: worker k combines the answers of workers k, ..., end - 1.

    It asks the first worker of the upper half for the answer of that half. Then it does the same in the lower
    half, until only its own shard is left. So K shards take log₂ K rounds, and no connection carries more
    than one answer. Answers are added in a fixed order.
    """

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self._others: Sequence[WorkerProxy] = ()
        self._disconnected = False

    def connect(self, others: Sequence[WorkerProxy]) -> None:
        """Set the workers of all shards, which this one asks for answers."""
        self._others, self._disconnected = list(others), False

    async def disconnect(self) -> None:
        """Drop the other workers, and stop waiting for their answers.

        This is a coroutine, so that a cluster can run it while this worker waits.
        """
        self._others, self._disconnected = (), True

    def check(self) -> None:
        """Raise :class:`ShardLost` once this worker is disconnected."""
        if self._disconnected:
            raise ShardLost("the others have gone")

    def execute(self, orders: Sequence[Order], end: int) -> ShardAnswer:
        """Execute orders on the shards from this one to ``end`` - 1, and combine their answers."""
        asked: list[PendingAnswer] = []
        while end - self.shard.number > 1:
            middle = (self.shard.number + end + 1) // 2
            asked.append(self._others[middle].execute(orders, end))
            end = middle
        value, seconds = self.shard.execute(orders)
        moved, combine = len(asked) * size_of(orders), ORDERS[orders[-1][0]]
        for coming in reversed(asked):
            other = wait_for(coming, self.check)
            value = value if combine is None else combine(value, other.value)
            seconds, moved = seconds + other.seconds, moved + other.moved + size_of(other.value)
        return ShardAnswer(value, seconds, moved)


class WorkerPool:
    """The workers of all shards, its ``members``, local or remote; the first one combines their answers.

    ``moved`` counts the bytes of arrays and numbers sent over all connections, those between shards included.
    ``at_root`` counts those sent from here and received here.
    """

    def __init__(self, members: Sequence[WorkerProxy]) -> None:
        self.members = list(members)
        self.moved = self.at_root = 0

    def __len__(self) -> int:
        return len(self.members)

    def ask(self, orders: Sequence[Order], pulse: Callable[[], None]) -> ShardAnswer:
        """Execute orders on every shard and return their combined answer, calling ``pulse`` meanwhile.

        If ``pulse`` raises, the shards finish these orders and are ready for the next.
        """
        answer = wait_for(self.members[0].execute(list(orders), len(self)), pulse)
        here = size_of(orders) + size_of(answer.value)
        self.at_root += here
        self.moved += here + answer.moved
        return answer


class LocalWorkerPool(WorkerPool):
    """Workers in this process, each with its own thread."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.shards = list(shards)
        members = [ShardWorker(shard) for shard in shards]
        super().__init__([ThreadWorker(worker) for worker in members])
        for worker in members:
            worker.connect(self.members)


class ThreadWorker:
    """A worker with its own thread, called from other threads."""

    def __init__(self, worker: ShardWorker) -> None:
        self._worker = worker
        self._thread = ThreadPoolExecutor(1, f"shard-{worker.shard.number}")

    def execute(self, orders: Sequence[Order], end: int) -> Future[ShardAnswer]:
        return self._thread.submit(self._worker.execute, orders, end)


def wait_for(coming: PendingAnswer, check: Callable[[], None]) -> ShardAnswer:
    """Wait for an answer, calling ``check`` meanwhile, which may raise."""
    while True:
        check()
        try:
            return coming.result(POLL_SECONDS)
        except TimeoutError:
            if coming.done():
                return coming.result()  # what it raises is its own


def size_of(message: Any) -> int:
    """Return the number of bytes of the arrays, numbers and names in a message."""
    if isinstance(message, np.ndarray):
        return message.nbytes
    if isinstance(message, str):
        return len(message)
    if isinstance(message, list | tuple):
        return sum(map(size_of, message))
    return 0 if message is None else 8
