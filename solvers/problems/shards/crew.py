"""Shards at work together: orders go down a tree of them, and sums come up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

import numpy as np

from .shard import ORDERS, Order, Shard

#: Seconds between two looks at whether the run that waits for an answer is to pause or stop.
PERIOD = 0.05


class Answer(NamedTuple):
    """What shards say together, the CPU seconds that they took, and the bytes that went between them."""

    value: Any
    seconds: float
    moved: int


class Coming(Protocol):
    """An answer on its way."""

    def result(self, timeout: float | None = None) -> Answer:
        """Wait for it; TimeoutError after so many seconds."""
        ...

    def done(self) -> bool:
        """Tell whether it has come."""
        ...


class Asked(Protocol):
    """A hand, possibly in a remote process."""

    def execute(self, orders: Sequence[Order], end: int) -> Coming:
        """Send orders to it; see :meth:`Hand.execute`."""
        ...


class ShardLost(OSError):
    """A shard is gone, and the scores that it held; the message is one sentence."""


class Hand:
    """A shard and its place in the tree: hand k adds up what hands k, ..., end - 1 say.

    It asks the first hand of the upper half for that half, then goes on with the lower one, till it is alone.
    So K shards take log₂ K rounds, no wire carries more than one answer, and sums are added in one order,
    whoever is ready first.
    """

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self._others: Sequence[Asked] = ()
        self._parted = False

    def meet(self, others: Sequence[Asked]) -> None:
        """Learn how to ask the hands of all shards."""
        self._others, self._parted = list(others), False

    async def part(self) -> None:
        """Forget the other hands, and wait for none of them any more. A coroutine, so that a cluster runs it
        while this hand waits."""
        self._others, self._parted = (), True

    def look(self) -> None:
        """Raise :class:`ShardLost` once the hands have parted."""
        if self._parted:
            raise ShardLost("the others have gone")

    def execute(self, orders: Sequence[Order], end: int) -> Answer:
        """Execute orders on the shards from this one to ``end`` - 1, and combine their answers."""
        asked: list[Coming] = []
        while end - self.shard.number > 1:
            middle = (self.shard.number + end + 1) // 2
            asked.append(self._others[middle].execute(orders, end))
            end = middle
        value, seconds = self.shard.execute(orders)
        moved, combine = len(asked) * size_of(orders), ORDERS[orders[-1][0]]
        for coming in reversed(asked):
            other = awaited(coming, self.look)
            value = value if combine is None else combine(value, other.value)
            seconds, moved = seconds + other.seconds, moved + other.moved + size_of(other.value)
        return Answer(value, seconds, moved)


class Crew:
    """The shards, wherever they are: asks the first of their ``hands`` for what all say together.

    ``moved`` counts the bytes of arrays and numbers on all wires, those between shards included; ``at_root``
    those that went out from here and came back here.
    """

    def __init__(self, hands: Sequence[Asked]) -> None:
        self.hands = list(hands)
        self.moved = self.at_root = 0

    def __len__(self) -> int:
        return len(self.hands)

    def ask(self, orders: Sequence[Order], pulse: Callable[[], None]) -> Answer:
        """Execute orders on every shard and return their combined answer. ``pulse`` is called meanwhile; if
        it raises, shards finish these orders and are ready for the next."""
        answer = awaited(self.hands[0].execute(list(orders), len(self)), pulse)
        here = size_of(orders) + size_of(answer.value)
        self.at_root += here
        self.moved += here + answer.moved
        return answer


class LocalCrew(Crew):
    """Shards in this process, each with a thread of its own."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.shards = list(shards)
        hands = [Hand(shard) for shard in shards]
        super().__init__([_InThread(hand) for hand in hands])
        for hand in hands:
            hand.meet(self.hands)


class _InThread:
    """A hand that is asked from other threads."""

    def __init__(self, hand: Hand) -> None:
        self._hand = hand
        self._thread = ThreadPoolExecutor(1, f"shard-{hand.shard.number}")

    def execute(self, orders: Sequence[Order], end: int) -> Future[Answer]:
        return self._thread.submit(self._hand.execute, orders, end)


def awaited(coming: Coming, look: Callable[[], None]) -> Answer:
    """Wait for an answer; ``look`` is called in the meantime, and may raise."""
    while True:
        look()
        try:
            return coming.result(PERIOD)
        except TimeoutError:
            if coming.done():
                return coming.result()  # what it raises is its own


def size_of(message: Any) -> int:
    """Return the bytes of the arrays, numbers and names in a message."""
    if isinstance(message, np.ndarray):
        return message.nbytes
    if isinstance(message, str):
        return len(message)
    if isinstance(message, list | tuple):
        return sum(map(size_of, message))
    return 0 if message is None else 8
