"""Names of features that are computed on demand."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

#: Name of a pixel, by its row and column, counted from 1.
PIXEL = "pixel ({}, {})"


class LazyNames(Sequence):
    """A sequence of `count` names, computed on demand by `name(i)`."""

    def __init__(self, count: int, name: Callable[[int], str]):
        self._count, self._name = count, name

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, i):
        if isinstance(i, slice):
            return [self._name(j) for j in range(*i.indices(self._count))]
        if not -self._count <= i < self._count:
            raise IndexError(f"feature {i} of {self._count}")
        return self._name(int(i) % self._count)

    @classmethod
    def numbered(cls, count: int, prefix: str = "x", first: int = 1) -> LazyNames:
        """Return the names prefix1, prefix2, ..., numbered from ``first``."""
        return cls(count, lambda i: f"{prefix}{i + first}")

    @classmethod
    def pixels(cls, height: int, width: int) -> LazyNames:
        """Return names of pixels row by row, such as "pixel (3, 5)" for row 3, column 5, counted from 1."""
        return cls(height * width, lambda i: PIXEL.format(i // width + 1, i % width + 1))


def with_doubles(names: Sequence[str], columns: Sequence[int] | np.ndarray) -> Sequence[str]:
    """Return the names of the features, followed by names for copies of the features ``columns``."""
    d = len(names)
    return LazyNames(
        d + len(columns), lambda i: names[i] if i < d else f"{names[int(columns[i - d])]} (double)"
    )


def with_products(names: Sequence[str], degree: int, bias: bool) -> Sequence[str]:
    """Return the names of the columns of `Products`, given the names of the features."""
    d = len(names)
    pairs = d * (d - 1) // 2 if degree == 2 else 0

    def name(i: int) -> str:
        if i < d:
            return names[i]
        if i == d + pairs:
            return "bias"
        first, second = pair(i - d, d)
        return f"{names[first]} × {names[second]}"

    return LazyNames(d + pairs + bias, name)


def pair(p: int, d: int) -> tuple[int, int]:
    """Return the p-th pair (i, j), 0 <= i < j < d, in lexicographic order."""

    def before(i: int) -> int:
        return i * d - i * (i + 1) // 2

    i = bisect_right(range(d - 1), p, key=before) - 1
    return i, p - before(i) + i + 1
