"""What the figures of a sweep show, as numbers: from what came out of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: Seconds that any run counts as having taken at least: below them the clock says nothing.
LEAST_SECONDS = 1e-3


@dataclass(frozen=True)
class Outcome:
    """One run of a sweep, as its figures need it.

    ``problem`` names what it has in common with runs of other solvers, ``state`` says where it is in a word.
    ``seconds`` are the CPU seconds to the gap that is asked for (None: not reached), ``metric`` is on
    held-out data if there are any, and ``pool`` names the data without saying which part is held out.
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


@dataclass(frozen=True)
class Chosen:
    """The λ that did best on held-out data, in words, and the mean metric ``over`` all λ, or λ/λ_max where
    these are ``relative``: the largest first."""

    data: str
    label: str
    text: str
    lam: float
    metric: float
    over: tuple[tuple[float, float], ...]
    relative: bool = False
    metric_name: str = ""


def labels_of(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the solvers, in their order."""
    return list(dict.fromkeys(outcome.label for outcome in outcomes))


def problems_of(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the problems, in their order."""
    return list(dict.fromkeys(outcome.problem for outcome in outcomes))


def profiles(outcomes: Sequence[Outcome]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the performance profile of each solver (Dolan and Moré 2002, eq. (2.1)): factors τ, and the
    share of the problems on which it took at most τ times the seconds of the fastest. A run that did not
    reach the gap took infinitely long; problems of which a run is not over yet are left out."""
    names = labels_of(outcomes)
    table: dict[str, dict[str, float]] = {}
    for outcome in outcomes:
        seconds = np.inf if outcome.seconds is None else max(outcome.seconds, LEAST_SECONDS)
        table.setdefault(outcome.problem, {})[outcome.label] = seconds if outcome.over else np.nan
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


def over_lam(outcomes: Sequence[Outcome], data: str, field: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return λ, falling, and what each solver's runs on ``data`` have as ``field``; nan where it is not
    known."""
    found = {}
    for name in labels_of(outcomes):
        mine = [o for o in outcomes if o.label == name and o.data == data and o.over and o.lam is not None]
        mine.sort(key=lambda outcome: -outcome.lam)
        values = np.array([getattr(outcome, field) for outcome in mine], dtype=float)
        found[name] = np.array([outcome.lam for outcome in mine], dtype=float), values
    return found
