"""A function of two variables on a window of the plane: shades, contours and kinks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple, Self

import numpy as np
from bokeh.plotting.contour import contour_data

from solverscope.solvers import Problem

#: Grid points in horizontal and vertical direction.
ACROSS, UP = 240, 160
#: Number of contours in a window, and maximal number around it.
CONTOURS, MOST_CONTOURS = 16, 100
#: Shades.
LANDSCAPE_SHADES = 256
#: Margin around the points for which a window is made, relative to its size.
WINDOW_MARGIN = 0.12
#: Parts of a cell that a kink is cut to, and the share of f within which heights count as the same.
FINER, HEIGHT_TOLERANCE = 8, 1e-9


class Window(NamedTuple):
    """A rectangle in the plane."""

    x0: float
    x1: float
    y0: float
    y1: float

    @classmethod
    def around(cls, points: np.ndarray) -> Self:
        """Return the smallest rectangle that contains points (n, 2), with a margin and positive width and
        height."""
        low, high = points.min(axis=0), points.max(axis=0)
        size = high - low
        size = np.maximum(size, 0.3 * size.max() or 1.0)
        middle, half = 0.5 * (low + high), (0.5 + WINDOW_MARGIN) * size
        (x0, y0), (x1, y1) = middle - half, middle + half
        return cls(float(x0), float(x1), float(y0), float(y1))

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        return self.y1 - self.y0

    @property
    def size(self) -> float:
        """Return the shorter side."""
        return min(self.width, self.height)

    def grown(self, across: float, up: float) -> Window:
        """Return the rectangle scaled by these factors around its centre."""
        x, y = 0.5 * (across - 1.0) * self.width, 0.5 * (up - 1.0) * self.height
        return Window(self.x0 - x, self.x1 + x, self.y0 - y, self.y1 + y)

    def holds(self, other: Window) -> bool:
        """Return whether this rectangle contains another one."""
        return self.x0 <= other.x0 and other.x1 <= self.x1 and self.y0 <= other.y0 and other.y1 <= self.y1


class Landscape:
    """f of two weights on ``window``: an ``image``, contours, and the lines on which f has kinks.

    The spacing of contours is ``apart``, NaN if f is constant. ``kinks`` has shape (2, n), with NaN between
    lines. Image and contours are adapted to the visible part ``seen`` of the window.
    """

    def __init__(self, problem: Problem, seen: Window, window: Window) -> None:
        x, y = np.linspace(window.x0, window.x1, ACROSS), np.linspace(window.y0, window.y1, UP)
        pieces = heights(problem, *np.meshgrid(x, y))
        f = pieces.max(axis=0) + penalties(problem, x) + penalties(problem, y)[:, None]
        low, high = _range(f, x, y, seen)
        share = np.clip((f - low) / (high - low), 0.0, 1.0) if high > low else np.zeros_like(f)
        self.window, self.image = window, np.rint((LANDSCAPE_SHADES - 1) * np.sqrt(share)).astype(np.uint8)
        self.apart = _round_up((high - low) / CONTOURS) if high > low else math.nan
        self.contours = _contours(x, y, f, self.apart)
        self.kinks = _kinks(problem, x, y, pieces)


def heights(problem: Problem, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the values of the pieces whose maximum is the loss, (pieces, *x.shape)."""
    points = np.stack([x.ravel(), y.ravel()])
    return problem.scale * problem.loss.heights(points).reshape(-1, *x.shape)


def penalties(problem: Problem, values: np.ndarray) -> np.ndarray:
    """Return the penalty of a single weight for each of these values; that of two weights is the sum."""
    return np.array([problem.penalty.value(np.array([value])) for value in values])


def subgradients(problem: Problem, w: np.ndarray) -> np.ndarray:
    """Return the extreme points of ∂f(w), (k, 2); there are none if the penalty has kinks."""
    if not problem.penalty.smooth:
        return np.zeros((0, 2))
    active, gradients = problem.loss.active(w)
    return np.unique(problem.scale * gradients[active] + problem.penalty.ridge * w, axis=0)


def _range(f: np.ndarray, x: np.ndarray, y: np.ndarray, seen: Window) -> tuple[float, float]:
    """Return the least and the greatest value of f in the visible part of its window."""
    columns, rows = (x >= seen.x0) & (x <= seen.x1), (y >= seen.y0) & (y <= seen.y1)
    part = f[np.ix_(rows, columns)] if rows.any() and columns.any() else f
    return float(part.min()), float(part.max())


def _round_up(step: float) -> float:
    """Return the least number of the form 1, 2 or 5 times a power of ten that is at least ``step``."""
    power = 10.0 ** math.floor(math.log10(step))
    return power * next(times for times in (1, 2, 5, 10) if times * power >= step * (1.0 - 1e-12))


def _contours(x: np.ndarray, y: np.ndarray, f: np.ndarray, apart: float) -> np.ndarray:
    if math.isnan(apart):
        return _joined(())
    first, last = math.ceil(f.min() / apart), math.floor(f.max() / apart)
    levels = apart * np.arange(first, min(last, first + MOST_CONTOURS) + 1)
    return _joined(_level_lines(x, y, f, levels))


def _level_lines(
    x: np.ndarray, y: np.ndarray, f: np.ndarray, levels: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    if not levels.size:
        return []
    found = contour_data(x, y, f, levels, want_fill=False).line_data
    return list(zip(found.xs, found.ys, strict=True))


def _joined(lines: Iterable[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    gap = np.full((2, 1), np.nan)
    parts = [part for line in lines if len(line[0]) for part in (np.asarray(line), gap)]
    return np.concatenate([np.zeros((2, 0)), *parts], axis=1)


def _kinks(problem: Problem, x: np.ndarray, y: np.ndarray, pieces: np.ndarray) -> np.ndarray:
    """Return the curves on which two pieces cross and no third is above them, and the axes if the penalty has
    kinks."""
    highest = pieces.argmax(axis=0)
    beside = [(highest[1:], highest[:-1]), (highest[:, 1:], highest[:, :-1])]
    found = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in beside])
    found = np.unique(np.sort(found[found[:, 0] != found[:, 1]], axis=1), axis=0)
    lines = []
    for one, other in found.tolist():
        with np.errstate(invalid="ignore"):
            above = pieces[one] - pieces[other]
        above[~np.isfinite(above)] = np.nan
        crossing = _level_lines(x, y, above, np.zeros(1))
        lines += [_on_top(problem, one, other, np.stack(line)) for line in crossing if len(line[0]) > 1]
    if not problem.penalty.smooth:
        lines += [(np.zeros(2), y[[0, -1]]), (x[[0, -1]], np.zeros(2))]
    return _joined(lines)


def _on_top(problem: Problem, one: int, other: int, line: np.ndarray) -> np.ndarray:
    """Restrict a line (2, n) on which two pieces cross to the parts on which no third piece is above them."""
    steps = np.arange((line.shape[1] - 1) * FINER + 1)
    points = np.stack([np.interp(steps / FINER, np.arange(line.shape[1]), along) for along in line])
    here = heights(problem, *points)
    with np.errstate(invalid="ignore"):
        away = 2.0 * np.abs(here[one] - here[other]) + HEIGHT_TOLERANCE * (1.0 + np.abs(here[one]))
        top = here[one] >= here.max(axis=0) - away
    before, after = np.append(False, top[:-1]), np.append(top[1:], False)
    corner = (steps % FINER == 0) | ~before | ~after
    return np.where(top, points, np.nan)[:, np.where(top, corner, before)]
