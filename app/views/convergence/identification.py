"""Distance of a run's weights from those of the optimum, and identification of their support."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary, ref

import numpy as np

from solverscope.app.views.convergence.rate import RELIABLE_STEPS, same_end, violation_of
from solverscope.solvers import SUPPORT, Trace, segments
from solverscope.solvers.probes.probe import Seen


def nearest(trace: Trace, traces: Sequence[Trace]) -> Trace | None:
    """Return the run whose last weights serve as w*, or None if no run has converged.

    It is the converged run on the problem of ``trace`` with the smallest violation.
    """
    ended = [t for t in traces if t.status == "converged" and same_end(t, trace) and len(_seen(t)) > 1]
    return min(ended, key=violation_of, default=None)


class Aways:
    """Distances of the weights of runs from w*, cached by run."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Trace, tuple[ref[Trace], dict[int, tuple[float, int]]]]
        self._known = WeakKeyDictionary()

    def of(self, trace: Trace, best: Trace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return iterations, ‖w - w*‖/‖w*‖ at each, and the number of weights that are zero in only one of w
        and w*.

        w* belongs to the run's current λ. The distance is NaN if w* is not known precisely enough.
        """
        (_, before), (_, star) = _seen(best)[-2:]
        of, known = self._known.get(trace, (None, {}))
        if of is None or of() is not best:
            known = {}
            self._known[trace] = ref(best), known
        first, found = segments(trace)[-1].first, []
        for k, one in _seen(trace):
            if k < first:
                continue
            if k not in known:
                differing = np.setxor1d(one["indices"], star["indices"], assume_unique=True).size
                known[k] = _distance(one, star), int(differing)
            found.append((k, *known[k]))
        at, distances, differences = np.array(found, dtype=float).reshape(-1, 3).T
        sure, length = RELIABLE_STEPS * _distance(before, star), float(np.linalg.norm(star["values"]))
        relative = np.where(distances > sure, distances, np.nan) / (length or 1.0)
        return at, relative, differences

    def identified(self, trace: Trace, best: Trace) -> int | None:
        """Return the first iteration from which on the support of a run is that of w*; None if it differs so
        far."""
        at, _, differences = self.of(trace, best)
        wrong = np.flatnonzero(differences)
        first = 0 if not wrong.size else int(wrong[-1]) + 1
        return int(at[first]) if first < at.size else None


def _seen(trace: Trace) -> list[tuple[int, Seen]]:
    return trace.probes.entries(SUPPORT.name)


def _distance(one: Seen, other: Seen) -> float:
    """Return the ℓ2 distance of two sparse vectors of weights."""
    both = np.union1d(one["indices"], other["indices"])
    w = np.zeros(both.size)
    w[np.searchsorted(both, one["indices"])] = one["values"]
    w[np.searchsorted(both, other["indices"])] -= other["values"]
    return float(np.linalg.norm(w))
