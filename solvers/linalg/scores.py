"""Scores A w, which a design computes from weights, and of which a loss is a function."""

from __future__ import annotations

import threading

import numpy as np

from ..compute.jit import kernel

#: Numbers in an array from which on its memory is used again, and up to which it is kept for that.
RECYCLED = 2**17, 2**25
#: Unused arrays that a thread keeps: a line search leaves those of its direction and of the residual before.
SPARE = 2


class _Loan:
    """The memory of one array, which is returned for reuse once no array uses it."""

    __slots__ = ("__array_interface__", "_memory", "_spare")

    def __init__(self, memory: np.ndarray, spare: list[np.ndarray]) -> None:
        self._memory, self._spare = memory, spare
        self.__array_interface__ = memory.__array_interface__

    def __del__(self) -> None:
        if len(self._spare) < SPARE:
            self._spare.append(self._memory)


class _Recycled(threading.local):
    """Allocation of arrays as large as scores, in memory released by earlier arrays.

    Getting fresh pages from the system takes the same time as writing to them.
    """

    def __init__(self) -> None:
        self._spare: list[np.ndarray] = []

    def __call__(self, rows: int, columns: int) -> np.ndarray:
        """Return an uninitialized (rows, columns) array."""
        least, most = RECYCLED
        if not least <= rows * columns <= most:
            return np.empty((rows, columns))
        fitting = [k for k, memory in enumerate(self._spare) if memory.size == rows * columns]
        if fitting:
            memory = self._spare.pop(fitting[-1])
        else:
            self._spare.clear()
            memory = np.empty(rows * columns)
        return np.asarray(_Loan(memory, self._spare)).reshape(rows, columns)


recycled = _Recycled()


class Scores:
    """The scores A w: one row of Z per sample (token), and the unchanged tail of the weights.

    Solvers only pass scores on. Only Design, Loss and Line read their contents.
    """

    __slots__ = ("Z", "tail")

    #: whether Z is in this process, so that it can be read
    at_hand = True

    def __init__(self, Z: np.ndarray, tail: np.ndarray) -> None:
        self.Z = Z  # (n, m)
        self.tail = tail  # (n_tail,)

    def plus(self, t: float, delta: Scores) -> Scores:
        """Return new scores: these plus ``t`` times ``delta``."""
        return Scores(self.Z + t * delta.Z, self.tail + t * delta.tail)

    def dot(self, other: Scores) -> float:
        """Return the dot product with other scores, the tail included."""
        return float(np.vdot(self.Z, other.Z) + self.tail @ other.tail)

    def __neg__(self) -> Scores:
        return Scores(-self.Z, -self.tail)

    def largest(self) -> float:
        """Return the largest absolute entry."""
        return float(max(np.abs(self.Z).max(initial=0.0), np.abs(self.tail).max(initial=0.0)))

    def move(self, t: float, delta: Scores) -> None:
        """Add ``t`` times ``delta`` to these scores, in place."""
        add_scaled(self.Z.reshape(-1), t, delta.Z.reshape(-1))
        self.tail += t * delta.tail


@kernel
def add_scaled(z, t, delta):
    """Add t delta to z in place, without a temporary array."""
    for i in range(z.size):
        z[i] += t * delta[i]
