"""A plane through the space of weights, the objective on it, and the paths of runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple
from weakref import ReferenceType, ref

import numpy as np
from scipy import sparse

from solverscope.app.views.playground.playground_landscape import Window
from solverscope.solvers import (
    PlaneSection,
    Problem,
    Trace,
    WeightPlane,
    main_plane,
    plane_along,
)
from solverscope.solvers.probes.kept_weights import weight_entries

#: Maximal number of iterates of a run that are projected onto the plane.
MAX_PLACED = 300
#: Grid points along each axis, at least and at most, and the CPU seconds that the grid may take.
FEWEST_PLACES, MOST_PLACES, GRID_SECONDS = 21, 101, 1.0
#: Radius of the window around a step, in units of its length.
NEAR_STEP = 2.5
#: Maximal number of drawn kinks, and the smallest strength of one relative to the largest.
MAX_KINKS, MIN_KINK = 30, 0.1

#: Kinds of planes by name.
PLANES = {"Start, best, main direction": "main", "Step and descent": "step", "Two weights": "weights"}
#: Functions that can be drawn on the plane, by name.
GROUNDS = {"Objective": "objective", "Loss": "loss", "Penalty": "penalty"}


class PlacedRun(NamedTuple):
    """Iterates of a run projected onto the plane: iterations, objectives, coordinates a and b, distances.

    It refers to the run weakly.
    """

    held: ReferenceType[Trace]
    label: str
    iteration: np.ndarray
    objective: np.ndarray
    a: np.ndarray
    b: np.ndarray
    distance: np.ndarray

    @property
    def trace(self) -> Trace | None:
        """Return the run, or None once it has been garbage-collected."""
        return self.held()

    def at(self, iteration: int) -> int:
        """Return the index of the last iterate up to an iteration, or 0 if there is none."""
        return max(int(np.searchsorted(self.iteration, iteration, side="right")) - 1, 0)


class LandscapeScene(NamedTuple):
    """A landscape: ``heights`` (b, a) over ``window``, the ``runs``, and lines of ``kinks`` with relative
    strengths.

    ``captured`` is the fraction of the squared distances from the origin that lies in the plane.
    """

    plane: WeightPlane
    window: Window
    heights: np.ndarray
    runs: list[PlacedRun]
    kinks: list[tuple[np.ndarray, float]]
    captured: float


class LandscapeSetting(NamedTuple):
    """The input of a landscape: the runs on one problem, with their newest iterations.

    ``kind`` is the kind of plane (one of ``PLANES``), and ``ground`` the function drawn (one of ``GROUNDS``).
    A step is that at ``iteration`` of ``run``, and ``pair`` are the weights of the axes.
    """

    problem: Problem
    traces: list[Trace]
    newest: list[int]
    kind: str
    ground: str
    run: Trace | None
    iteration: int
    pair: tuple[int, int]


def observed(trace: Trace, size: int) -> tuple[np.ndarray, sparse.csr_array] | None:
    """Return iterations and weights (rows) of the observed iterates of a run, thinned to ``MAX_PLACED``.

    Return None if there are none.
    """
    entries = [entry for entry in weight_entries(trace.probes) if int(entry[1]["size"]) == size]
    if not entries:
        return None
    stride = -(-len(entries) // MAX_PLACED)
    entries = entries[: len(entries) - 1 : stride] + entries[-1:]
    ends = np.cumsum([0, *(seen["indices"].size for _, seen in entries)])
    indices, values = (np.concatenate([seen[name] for _, seen in entries]) for name in ("indices", "values"))
    points = sparse.csr_array((values.astype(float), indices, ends), shape=(len(entries), size))
    return np.array([k for k, _ in entries]), points


def scene(shown: LandscapeSetting, pulse: Callable[[], None]) -> LandscapeScene:
    """Compute the landscape; ``pulse`` is called about every 50 ms.

    Raises ValueError if there is no such plane.
    """
    size = shown.problem.size
    seen = [(trace, found) for trace in shown.traces if (found := observed(trace, size)) is not None]
    if not seen:
        raise ValueError("no weights of these runs were kept")
    points = sparse.vstack([points for _, (_, points) in seen], format="csr")
    objective = np.concatenate([_objectives(trace, at) for trace, (at, _) in seen])
    plane = _plane(shown, seen, points, int(np.nanargmin(objective)))
    a, b, distance = plane.place(points)
    ends = np.cumsum([at.size for _, (at, _) in seen])[:-1]
    columns = (np.split(column, ends) for column in (objective, a, b, distance))
    runs = [
        PlacedRun(ref(trace), trace.info.label, at, *own)
        for (trace, (at, _)), *own in zip(seen, *columns, strict=True)
    ]
    total = float(np.sum(a * a + b * b + distance * distance))
    window = _window(shown, runs, a, b)
    return LandscapeScene(
        plane,
        window,
        _heights(shown, plane, window, pulse),
        runs,
        _kinks(shown.problem, plane, window),
        float(np.sum(a * a + b * b)) / total if total > 0.0 else 1.0,
    )


def _objectives(trace: Trace, iterations: np.ndarray) -> np.ndarray:
    known, values = trace["iteration"], trace["objective"]
    places = np.clip(np.searchsorted(known, iterations), 0, len(known) - 1)
    return np.where(known[places] == iterations, values[places], np.nan)


def _plane(
    shown: LandscapeSetting,
    seen: Sequence[tuple[Trace, tuple[np.ndarray, sparse.csr_array]]],
    points: sparse.csr_array,
    best: int,
) -> WeightPlane:
    """Return the requested plane."""
    if shown.kind == "weights":
        origin = points[[best]].toarray().ravel()
        axes = np.zeros((2, origin.size))
        axes[[0, 1], list(shown.pair)] = 1.0
        origin[list(shown.pair)] = 0.0
        return plane_along(origin, *axes)
    if shown.kind == "step":
        iterations, own = next((found for trace, found in seen if trace is shown.run), seen[0][1])
        if len(iterations) < 2:
            raise ValueError("the run has a single iterate: there is no step yet")
        k = int(np.searchsorted(iterations, shown.iteration, side="right")) - 1
        k = min(max(k, 0), len(iterations) - 2)
        here, there = own[[k, k + 1]].toarray()
        descent = -shown.problem.subgradient(here, shown.problem.at(here).gradient())
        try:
            return plane_along(here, there - here, descent)
        except ValueError:  # the step is one of steepest descent
            return plane_along(here, there - here, points[[best]].toarray().ravel() - here)
    return main_plane(points, 0, best)


def _window(shown: LandscapeSetting, runs: Sequence[PlacedRun], a: np.ndarray, b: np.ndarray) -> Window:
    """Return the visible part of the plane: all iterates, or those near a step."""
    places = np.stack([a, b], axis=1)
    if shown.kind == "step":
        own = next((run for run in runs if run.trace is shown.run), runs[0])
        k = min(own.at(shown.iteration), own.a.size - 2)
        length = float(np.hypot(own.a[k + 1] - own.a[k], own.b[k + 1] - own.b[k]))
        near = np.abs(places).max(axis=1) <= NEAR_STEP * length
        places = np.concatenate([places[near], length * np.array([[-0.5, -0.7], [1.7, 0.7]])])
    return Window.around(places)


def grid(window: Window, across: int, up: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates a and b of the points of a grid over a window."""
    return np.linspace(window.x0, window.x1, across), np.linspace(window.y0, window.y1, up)


def _heights(
    shown: LandscapeSetting, plane: WeightPlane, window: Window, pulse: Callable[[], None]
) -> np.ndarray:
    """Return the function on a grid, (b, a), which is as fine as ``GRID_SECONDS`` permit."""
    section = PlaneSection(shown.problem, plane)
    began = time.thread_time()
    section.values(*grid(window, FEWEST_PLACES, 2), pulse)
    seconds = (time.thread_time() - began) / (2 * FEWEST_PLACES)
    places = int(np.sqrt(GRID_SECONDS / max(seconds, 1e-9)))
    places = min(max(places, FEWEST_PLACES), MOST_PLACES)
    losses, penalties = section.values(*grid(window, places, places), pulse)
    return {"objective": losses + penalties, "loss": losses, "penalty": penalties}[shown.ground]


def _kinks(problem: Problem, plane: WeightPlane, window: Window) -> list[tuple[np.ndarray, float]]:
    """Return the lines on the plane on which a single weight is zero, where ℓ1 has its kinks.

    A line is its ends (2, 2) within the window, and the jump of the slope across it relative to the largest.
    """
    if not problem.penalty.l1:
        return []
    used = plane.support
    slopes = np.hypot(plane.u[used], plane.v[used]) * problem.penalty.on(used).each(problem.penalty.l1)
    found: list[tuple[np.ndarray, float]] = []
    for place in np.argsort(-slopes, kind="stable"):
        j, share = used[place], float(slopes[place] / slopes.max())
        if not share >= MIN_KINK or len(found) == MAX_KINKS:
            break
        ends = _crossing(window, float(plane.origin[j]), float(plane.u[j]), float(plane.v[j]))
        if ends is not None:
            found.append((ends, share))
    return found


def _crossing(window: Window, c: float, p: float, q: float) -> np.ndarray | None:
    """Return the ends (2, 2), one point per row, of the line c + p a + q b = 0 within a window.

    Return None if the line does not cross the window.
    """
    ends = []
    if q:
        ends += [(a, -(c + p * a) / q) for a in (window.x0, window.x1)]
    if p:
        ends += [(-(c + q * b) / p, b) for b in (window.y0, window.y1)]
    inside = [(a, b) for a, b in ends if window.x0 <= a <= window.x1 and window.y0 <= b <= window.y1]
    inside = sorted(set(inside))
    return np.array([inside[0], inside[-1]]) if len(inside) > 1 else None
