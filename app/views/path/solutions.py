"""The solutions on a λ path, in the form that plots and tables need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from solverscope.solvers import Trace

#: Times at which the size of the working set is reported, with the field of the results.
MEMBERS = {
    "at the start": "members_start",
    "after half of the time": "members_half",
    "at the end": "members_end",
}


@dataclass(frozen=True)
class RowSizes:
    """The nonzero rows of W at one λ: features (k,) in ascending order, and sizes (k,).

    A size is the weight itself if there is one output, else the norm of the row.
    """

    features: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, trace: Trace) -> Self | None:
        """Return the rows of a finished run except that of the intercept, or None if its weights were
        released."""
        if trace.w is None:
            return None
        about = trace.info.problem
        n, m = about["n_features"], about["n_outputs"]
        W = trace.w[: n * m].reshape(n, m)[: n - 1 if about.get("intercept") else n]
        features = np.flatnonzero(W.any(axis=1))
        sizes = W[features, 0] if m == 1 else np.linalg.norm(W[features], axis=1)
        return cls(features.astype(np.int32), sizes.copy())

    @property
    def nbytes(self) -> int:
        return self.features.nbytes + self.sizes.nbytes

    def among(self, features: np.ndarray) -> Self:
        """Return only the rows of these features."""
        kept = np.isin(self.features, features)
        return type(self)(self.features[kept], self.sizes[kept])


class BriefSolution(Trace):
    """The result of a run at one λ, without iterates and weights, and optionally with its nonzero
    rows of W."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace.info)
        self.result, self.names = trace.result, trace.names
        self.rows: RowSizes | None = None
        self.finish(trace.status, trace.message)


def keep_largest(solutions: Sequence[BriefSolution], most: int) -> None:
    """Drop all rows except those of the ``most`` features that are largest over all solutions."""
    rows = [solution.rows for solution in solutions if solution.rows is not None]
    features, _ = _largest(rows, most)
    for solution in solutions:
        if solution.rows is not None:
            solution.rows = solution.rows.among(features)


def _largest(rows: Sequence[RowSizes], most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of the largest rows, at most ``most``, and their sizes (solutions, features)."""
    if not rows:
        return np.empty(0, dtype=np.int32), np.empty((0, 0))
    features, places = np.unique(np.concatenate([one.features for one in rows]), return_inverse=True)
    largest = np.zeros(features.size)
    np.maximum.at(largest, places, np.abs(np.concatenate([one.sizes for one in rows])))
    chosen = features[np.argsort(-largest, kind="stable")[:most]]
    order = np.argsort(chosen)
    sizes = np.zeros((len(rows), chosen.size))
    for k, one in enumerate(rows):
        shown = one.among(chosen)
        sizes[k, order[np.searchsorted(chosen, shown.features, sorter=order)]] = shown.sizes
    return chosen, sizes


@dataclass(frozen=True)
class Solutions:
    """Finished runs of one solver on one objective, in the order in which they ended."""

    label: str
    color: str
    dash: str
    traces: tuple[Trace, ...]

    @property
    def lams(self) -> np.ndarray:
        return np.array([lam_of(trace) for trace in self.traces], dtype=float)

    def column(self, field: str) -> np.ndarray:
        """Return a field of the results; unknown values are NaN."""
        return np.array([trace.result.get(field) for trace in self.traces], dtype=float)

    def row_share(self) -> np.ndarray:
        """Return the percentage of nonzero rows of W for each λ."""
        sizes = [trace.info.problem["n_features"] for trace in self.traces]
        return 100.0 * self.column("nnz_rows") / np.array(sizes)

    @property
    def chooses(self) -> bool:
        """Return whether a rule excluded weights from the working set at some λ."""
        sizes = [trace.info.problem.get("n_params") for trace in self.traces]
        members = [self.column(field) for field in MEMBERS.values()]
        return bool((np.array(members) < np.array(sizes, dtype=float)).any())

    @property
    def signed(self) -> bool:
        """Return whether a row of W is a single weight, which is drawn with its sign instead of as a norm."""
        return self.traces[0].info.problem["n_outputs"] == 1

    @property
    def picture_shape(self) -> tuple[int, int] | None:
        """Return the shape of the image whose pixels are the features, or None if they are not pixels."""
        return self.traces[0].names.picture_shape

    def rows(self, most: int) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Return the rows of W with the largest absolute values along the path, at most ``most``.

        The row of the intercept is not included. Of the traces, only the k that still have rows are used.
        Returns the names of the features, the largest first, λ (k,), and weights or norms of rows (k,
        features).
        """
        found = [(t, t.rows if isinstance(t, BriefSolution) else RowSizes.of(t)) for t in self.traces]
        kept = [(trace, rows) for trace, rows in found if rows is not None]
        chosen, sizes = _largest([rows for _, rows in kept], most)
        names = self.traces[0].names
        return [names.feature(j) for j in chosen.tolist()], np.array([lam_of(t) for t, _ in kept]), sizes


def lam_of(trace: Trace) -> float | None:
    return trace.info.problem.get("lam")
