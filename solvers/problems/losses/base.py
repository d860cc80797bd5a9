"""What a loss is: a function of the scores alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from ...compute.team import Team
from ...declare import Declared, Trait
from ..scores import Scores


class Loss(Declared):
    """L(Z, tail) summed over instances, for given labels; subclasses hold the labels.

    A subclass declares ``id``, ``name``, ``summary``, ``paper``, the ``kinds`` of labels it takes, what it
    offers (``traits``), its paper's convention (``average``), and defines ``bind``, ``values``, ``residual``
    and ``predict``. All products of one evaluation are in score space; no loss sees X or w.
    """

    id: ClassVar[str]
    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str] = ""
    kinds: ClassVar[tuple[str, ...]]
    traits: ClassVar[Trait]
    average: ClassVar[bool]
    metric_name: ClassVar[str] = "accuracy"
    #: which loss of ``samples`` it is, with ``Trait.SAMPLES``, and of ``rows``, with ``Trait.ROWS``
    sample_code: ClassVar[int] = -1

    n_instances: int
    n_outputs: int
    n_tail: int = 0

    team: Team = Team()
    pulse: Callable[[], None] = staticmethod(lambda: None)

    def bind(self, part: Any, n_classes: int, parents: np.ndarray | None = None) -> Loss:
        """A copy that holds the labels of ``part`` (with ``y`` and ``offsets``); ``parents`` is the tree of
        classes, where there is one."""
        raise TypeError(f"{type(self).__name__} does not define bind")

    def attached(self, team: Team, pulse: Callable[[], None]) -> Self:
        """A shallow copy that works with this team and pulse."""
        return self._holding(team=team, pulse=pulse)

    def first(self, n: int, most: int) -> tuple[Loss, int]:
        """The loss of the first ``n`` instances, cut off after ``most`` rows of X, and the rows they take."""
        raise TypeError(f"{type(self).__name__} does not define first")

    def instances_of(self, rows: np.ndarray) -> np.ndarray:
        """The instances that these rows of X (ascending) belong to, ascending."""
        return rows

    def subset(self, instances: np.ndarray) -> tuple[Loss, np.ndarray]:
        """The loss of these instances (ascending), and the rows of X they take."""
        return self._holding(y=self.y[instances], n_instances=instances.size), instances

    def diagonal(self, G: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """∂²L/∂z² of single scores at the rows whose residual is ``G``; with ``Trait.DIAGONAL``."""
        raise TypeError(f"{type(self).__name__} does not define diagonal")

    def curvature(self, tight: bool) -> np.ndarray:
        """Upper bounds of the largest eigenvalue of ∂²L/∂z∂z of each row, as low as is known, or the paper's;
        with ``Trait.BOUNDED``."""
        raise TypeError(f"{type(self).__name__} does not define curvature")

    def block_curvature(self, sums: Callable[[np.ndarray], np.ndarray], tight: bool) -> np.ndarray:
        """The same of the weights of each feature j; ``sums(C)`` gives Σ_i x_ij² C_ik for any C (rows, k)."""
        return sums(self.curvature(tight)[:, None])[:, 0]

    @property
    def labels(self) -> np.ndarray:
        """All labels in one int64 array, the same number of them for each row of scores."""
        return np.ascontiguousarray(self.y, dtype=np.int64).reshape(-1)

    @property
    def label_sets(self) -> np.ndarray | None:
        """Where instances have sets of labels: 1 for those they have and 0 for the others, (n, m)."""
        return None

    def values(self, scores: Scores, delta: Scores | None = None, t: float = 0.0) -> np.ndarray:
        """Loss of each instance at ``scores + t delta``, shape (n_instances,)."""
        raise TypeError(f"{type(self).__name__} does not define values")

    def residual(self, scores: Scores) -> Scores:
        """∂L/∂Z and ∂L/∂tail at ``scores``, of the sum over instances."""
        raise TypeError(f"{type(self).__name__} does not define residual")

    def predict(self, scores: Scores) -> np.ndarray:
        """Labels that the model would give, in the coding of the data set."""
        raise TypeError(f"{type(self).__name__} does not define predict")

    def value(self, scores: Scores, delta: Scores | None = None, t: float = 0.0) -> float:
        """Sum over instances, added pairwise in a fixed order whatever the number of threads."""
        return float(np.sum(self.values(scores, delta, t)))

    def metric(self, scores: Scores) -> float:
        """Share of labels predicted right."""
        return float(np.mean(self.predict(scores) == self.y))


class RowLoss(Loss):
    """Base of losses that are sums over rows of scores, one row an instance, with labels ``y`` by row.

    Rows are worked on in chunks that stay in the cache, shared out over the team. A subclass defines
    ``chunk_values`` and ``chunk_residual``.
    """

    y: np.ndarray

    def first(self, n: int, most: int) -> tuple[Self, int]:
        n = min(n, most, self.n_instances)
        return self._holding(y=self.y[:n], n_instances=n), n

    def chunk_values(self, Z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        """Write the loss of each row of Z to ``out``; Z is scratch memory and may be used up."""
        raise TypeError(f"{type(self).__name__} does not define chunk_values")

    def chunk_residual(self, Z: np.ndarray, y: np.ndarray, G: np.ndarray) -> None:
        """Write the derivatives of the loss by Z to ``G``; Z is scratch memory and may be used up."""
        raise TypeError(f"{type(self).__name__} does not define chunk_residual")

    def values(self, scores: Scores, delta: Scores | None = None, t: float = 0.0) -> np.ndarray:
        out = np.empty(self.n_instances)
        chunks = row_chunks(self.n_instances, self.n_outputs)

        def task(k: int) -> None:
            lo, hi = chunks[k]
            self.chunk_values(at(scores, lo, hi, delta, t), self.y[lo:hi], out[lo:hi])

        self.team.each(task, range(len(chunks)), self.pulse)
        return out

    def residual(self, scores: Scores) -> Scores:
        G = np.empty_like(scores.Z)
        chunks = row_chunks(self.n_instances, self.n_outputs)

        def task(k: int) -> None:
            lo, hi = chunks[k]
            self.chunk_residual(at(scores, lo, hi, None, 0.0), self.y[lo:hi], G[lo:hi])

        self.team.each(task, range(len(chunks)), self.pulse)
        return Scores(G, np.zeros(0))


class _Scratch(threading.local):
    """Work arrays of the calling thread, by name: fresh memory costs more than what is done in it."""

    def __init__(self) -> None:
        self._arrays: dict[str, np.ndarray] = {}

    def __call__(self, name: str, rows: int, columns: int) -> np.ndarray:
        """An uninitialized (rows, columns) array, valid until asked for again under this name."""
        found = self._arrays.get(name)
        if found is None or found.size < rows * columns:
            found = self._arrays[name] = np.empty(rows * columns)
        return found[: rows * columns].reshape(rows, columns)


scratch = _Scratch()


def row_chunks(n: int, width: int) -> list[tuple[int, int]]:
    """Runs of rows whose ``width`` scores each stay in the cache."""
    rows = max(1, 32_768 // max(width, 1))
    return [(lo, min(lo + rows, n)) for lo in range(0, n, rows)]


def at(scores: Scores, lo: int, hi: int, delta: Scores | None, t: float) -> np.ndarray:
    """Rows lo to hi of Z + t ΔZ, in scratch memory."""
    Z = scratch("scores", hi - lo, scores.Z.shape[1])
    if delta is None:
        Z[:] = scores.Z[lo:hi]
    else:
        np.multiply(delta.Z[lo:hi], t, out=Z)
        Z += scores.Z[lo:hi]
    return Z
