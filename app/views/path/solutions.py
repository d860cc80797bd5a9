"""The solutions of a λ path, as plots and tables take them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solverscope.solvers import Trace

#: When the working set is looked at, with the field of the results that has its size.
MEMBERS = {
    "at the start": "members_start",
    "after half of the time": "members_half",
    "at the end": "members_end",
}


@dataclass(frozen=True)
class Solutions:
    """Finished runs of one solver on one objective, in the order in which they were found."""

    label: str
    color: str
    dash: str
    traces: tuple[Trace, ...]

    @property
    def lams(self) -> np.ndarray:
        return np.array([lam_of(trace) for trace in self.traces], dtype=float)

    def column(self, field: str) -> np.ndarray:
        """Return a field of the results; unknown values are nan."""
        return np.array([trace.result.get(field) for trace in self.traces], dtype=float)

    def row_share(self) -> np.ndarray:
        """Return the non-zero rows of W in per cent."""
        sizes = [trace.info.problem["n_features"] for trace in self.traces]
        return 100.0 * self.column("nnz_rows") / np.array(sizes)

    @property
    def chooses(self) -> bool:
        """Return whether a rule kept some weights out of the working set at some λ."""
        sizes = [trace.info.problem.get("n_params") for trace in self.traces]
        members = [self.column(field) for field in MEMBERS.values()]
        return bool((np.array(members) < np.array(sizes, dtype=float)).any())

    @property
    def signed(self) -> bool:
        """Return whether a row of W is a single weight, and is drawn as it is; else by its norm."""
        return self.traces[0].info.problem["n_outputs"] == 1

    @property
    def picture_shape(self) -> tuple[int, int] | None:
        """Return the shape of the picture whose pixels the features are, if they are pixels."""
        return self.traces[0].names.picture_shape

    def rows(self, most: int) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Return the rows of W with the largest absolute values along the path, at most ``most`` of them.

        Only the k traces that still have weights count. The result has the names of the features, λ (k,),
        and weights or norms of rows (k, features).
        """
        kept = [trace for trace in self.traces if trace.w is not None]
        if not kept:
            return [], np.empty(0), np.empty((0, 0))
        n, m = (kept[0].info.problem[name] for name in ("n_features", "n_outputs"))
        W = [trace.w[: n * m].reshape(n, m) for trace in kept if trace.w is not None]
        sizes = np.array([w[:, 0] if self.signed else np.linalg.norm(w, axis=1) for w in W])
        largest = np.abs(sizes).max(axis=0)
        chosen = np.argsort(-largest, kind="stable")[:most]
        chosen = chosen[largest[chosen] > 0.0]
        names = kept[0].names
        return [names.feature(j) for j in chosen], np.array([lam_of(t) for t in kept]), sizes[:, chosen]


def lam_of(trace: Trace) -> float | None:
    return trace.info.problem.get("lam")
