"""Numbers that the figures of a sweep show, computed from the outcomes of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: Resolution of the clock; shorter times are replaced by it.
LEAST_SECONDS = 1e-3


@dataclass(frozen=True)
class CellOutcome:
    """A cell of a sweep with the numbers that figures show.

    ``problem`` names the problem, which runs of other solvers share. ``state`` is the state in a word.
    ``seconds`` are the CPU seconds to the requested gap, None if it was not reached. ``metric`` is on
    held-out data, if there are any. ``pool`` names the data without the held-out part.
    """

    key: str
    data: str
    problem: str
    lam: float | None
    label: str
    state: str
    over: bool = True
    seconds: float | None = None
    nnz: int | None = None
    metric: float | None = None
    metric_name: str = ""
    pool: str = ""

    @property
    def clock(self) -> float | None:
        """Return the seconds, at least the resolution of the clock; None if the gap was not reached."""
        return None if self.seconds is None else max(self.seconds, LEAST_SECONDS)


@dataclass(frozen=True)
class Chosen:
    """The λ with the best metric on held-out data, or λ/λ_max if ``relative``, with a text that describes it.

    ``over`` lists all λ in descending order, each with mean and standard error of the metric. ``lam_1se`` and
    ``metric_1se`` are those of the one-standard-error rule, None without a cross-validation.
    """

    data: str
    label: str
    text: str
    lam: float
    metric: float
    over: tuple[tuple[float, float, float | None], ...]
    lam_1se: float | None = None
    metric_1se: float | None = None
    relative: bool = False
    metric_name: str = ""


def labels_of(outcomes: Sequence[CellOutcome]) -> list[str]:
    """Return the labels of the solvers, in order of appearance."""
    return list(dict.fromkeys(outcome.label for outcome in outcomes))


def problems_of(outcomes: Sequence[CellOutcome]) -> list[str]:
    """Return the names of the problems, in order of appearance."""
    return list(dict.fromkeys(outcome.problem for outcome in outcomes))


def profiles(outcomes: Sequence[CellOutcome]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the performance profile of each solver (Dolan and Moré 2002, eq. (2.1)).

    It consists of factors τ, and the fraction of problems on which the solver took at most τ times the
    seconds of the fastest. A run that did not reach the gap took infinitely long. Problems with active runs
    are ignored.
    """
    names = labels_of(outcomes)
    table: dict[str, dict[str, float]] = {}
    for outcome in outcomes:
        seconds = (outcome.clock or np.inf) if outcome.over else np.nan
        table.setdefault(outcome.problem, {})[outcome.label] = seconds
    rows = [[row.get(name, np.nan) for name in names] for row in table.values()]
    times = np.array([row for row in rows if not np.isnan(row).any()], dtype=float).reshape(-1, len(names))
    if not len(times):
        return {}
    best = times.min(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        ratios = np.where(np.isfinite(times), times / best, np.inf)
    finite = ratios[np.isfinite(ratios)]
    taus = np.unique(np.append(finite, 1.0))
    taus = np.append(taus, 1.1 * taus[-1])  # all curves end at the same place
    return {name: (taus, (ratios[:, k][:, None] <= taus).mean(axis=0)) for k, name in enumerate(names)}


def over_lam(outcomes: Sequence[CellOutcome], data: str) -> dict[str, list[CellOutcome]]:
    """Return the ended cells on ``data`` that have a λ, by solver, with λ in descending order."""
    ended = [
        outcome for outcome in outcomes if outcome.data == data and outcome.over and outcome.lam is not None
    ]
    ended.sort(key=lambda outcome: -(outcome.lam or 0.0))
    return {name: [outcome for outcome in ended if outcome.label == name] for name in labels_of(outcomes)}
