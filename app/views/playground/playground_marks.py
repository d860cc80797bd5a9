"""The information that a solver uses at an iterate of two weights, as shapes and as text."""

from __future__ import annotations

import math

import numpy as np

from solverscope.app.ui import number
from solverscope.app.views.base.probe_view import Seen
from solverscope.app.views.playground.playground_landscape import subgradients
from solverscope.solvers import Problem

#: Share of the window that the longest subgradient, and the direction, are drawn over.
ARROW_SHARE = 0.28
#: Points of an ellipse.
ELLIPSE_POINTS = 73
#: No points.
NO_PLANE_POINTS = np.zeros((0, 2))
#: Share of a subgradient by which it may differ from one that counts as the same.
SUBGRADIENT_TOLERANCE = 1e-9


class PlaneMarks:
    """An iterate ``w``, as the PLANE probe observed it.

    ``subgradients`` (k, 2) are the extreme points of ∂f at w, if the problem knows them, and those that the
    solver evaluated. ``shares`` are their coefficients in the ``combination`` ḡ of the solver, and p = -Bḡ is
    its direction. Values that the solver does not provide are None.
    """

    def __init__(self, seen: Seen, problem: Problem | None) -> None:
        self.w: np.ndarray = seen["w"]
        self.f = float(seen["f"])
        found, shares = seen.get("met", NO_PLANE_POINTS), seen.get("shares", np.zeros(0))
        for g in subgradients(problem, self.w) if problem is not None else ():
            if not (np.abs(found - g) <= SUBGRADIENT_TOLERANCE * (1.0 + np.abs(g))).all(axis=1).any():
                found, shares = np.append(found, g[None], axis=0), np.append(shares, 0.0)
        self.subgradients, self.shares = found, shares
        self.combination, self.p, self.B = (seen.get(name) for name in ("combination", "p", "B"))

    @property
    def slope(self) -> float:
        """Return the slope of f along p, the largest gᵀp over the subgradients; NaN if it is unknown."""
        if self.p is None or not len(self.subgradients):
            return math.nan
        return float((self.subgradients @ self.p).max())

    def shapes(self, size: float) -> dict[str, np.ndarray]:
        """Return the shapes to draw in a window of this size.

        These are arrows from w, (4, k), and outlines, (2, n), of the subdifferential and of B. ḡ has its own
        arrow if it may differ from the subgradient.
        """
        longest = np.linalg.norm(self.subgradients, axis=1).max(initial=0.0)
        scale = ARROW_SHARE * size / longest if longest > 0.0 else 0.0
        ends, mixed, hull = self.w + scale * self.subgradients, NO_PLANE_POINTS, NO_PLANE_POINTS
        if len(ends) > 1:
            middle = ends.mean(axis=0)
            order = np.argsort(np.arctan2(*(ends - middle).T[::-1]), kind="stable")
            hull = ends[np.append(order, order[0])]
            mixed = NO_PLANE_POINTS if self.combination is None else (self.w + scale * self.combination)[None]
        tips = {"subgradients": ends, "combination": mixed, "direction": self._heading(size)}
        arrows = {
            name: np.concatenate([np.tile(self.w, (len(at), 1)), at], axis=1).T for name, at in tips.items()
        }
        return arrows | {"hull": hull.T, "ellipse": self._ellipse(size).T}

    def _heading(self, size: float) -> np.ndarray:
        """Return the end of the arrow for p, (1, 2), in a window of this size; an empty array if p = 0."""
        if self.p is None or not 0.0 < (length := float(np.linalg.norm(self.p))) < math.inf:
            return NO_PLANE_POINTS
        return (self.w + ARROW_SHARE * size / length * self.p)[None]

    def _ellipse(self, size: float) -> np.ndarray:
        """Return points q, (n, 2), of an ellipse (q - w)ᵀB⁻¹(q - w) = c.

        c is chosen such that the arrow for p ends on it, at its lowest point along ḡ.
        """
        if self.B is None or not np.isfinite(self.B).all():
            return NO_PLANE_POINTS
        values, vectors = np.linalg.eigh(0.5 * (self.B + self.B.T))
        axes = vectors * np.sqrt(np.maximum(values, 0.0))
        if not axes.any():
            return NO_PLANE_POINTS
        end, decrease = self._heading(size), 0.0
        if len(end) and self.combination is not None:
            decrease = -float(self.combination @ self.p)  # pᵀB⁻¹p
        if decrease > 0.0:
            radius = math.sqrt(decrease) * float(np.linalg.norm(end - self.w) / np.linalg.norm(self.p))
        else:
            radius = ARROW_SHARE * size / math.sqrt(values[-1])
        angle = np.linspace(0.0, 2.0 * np.pi, ELLIPSE_POINTS)
        return self.w + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1) @ axes.T

    @property
    def sentences(self) -> list[str]:
        """Describe the marks in sentences."""
        said, kink = [], len(self.subgradients) > 1
        each = " and ".join(vector(g) for g in self.subgradients)
        if kink:
            said.append(f"A kink, with the subgradients {each}.")
        elif each:
            said.append(f"The gradient is {each}.")
        if self.p is None:
            return said
        used = [(g, share) for g, share in zip(self.subgradients, self.shares, strict=True) if share > 0.0]
        g = "g"
        if len(used) > 1:
            g, mix = "ḡ", " + ".join(f"{number(float(share), 3)} {vector(one)}" for one, share in used)
            said.append(f"Algorithm 2 combines them to ḡ = {mix} = {vector(self.combination)}.")
        elif kink and used:
            said.append(f"It takes g = {vector(used[0][0])}.")
        slope, how = self.slope, "f does not change"
        if math.isfinite(slope):
            how = "f falls" if slope < 0.0 else "f rises" if slope > 0.0 else how
            how = f"along it {how}, with slope {number(slope)}"
        said.append(f"p = −B{g} = {vector(self.p)}: {how}.")
        return said


def vector(v: np.ndarray) -> str:
    """Format a vector."""
    return f"({', '.join(number(float(x)) for x in v)})"
