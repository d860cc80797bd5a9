"""The descent method of Yu et al. 2010, Algorithm 1 (subBFGS), composed of interchangeable parts.

J. Yu, S. V. N. Vishwanathan, S. Günter, N. N. Schraudolph: A Quasi-Newton Approach to Nonsmooth Convex
Optimization Problems in Machine Learning, JMLR 11, 2010. Equations, algorithms and letters are theirs, but f
is their objective J; B estimates the *inverse* of its Hessian.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, overload

import numpy as np

from ...curvature.direction import Direction, quasi_newton
from ...curvature.inverse import Inverse
from ...curvature.memory import PairMemory
from ...problems.line import Line
from ...problems.point import Point
from ...problems.subdifferential import Subdifferential
from ...search.outcome import SearchResult, without_search
from ..iterate import NAN, Ending, Iterate
from .progress import DescentProgress
from .rules import DirectionRule, SearchRule, StopRule, Subgradients


class DescentIterate(NamedTuple):
    """An iterate of a :class:`Descent`, ``t`` steps after its first.

    ``here`` has its subgradients, ``p`` is the direction found from it, and ``B`` the estimate of the inverse
    Hessian. The step that led here has the search result ``found``, the difference ``s`` and the
    ``curvature`` sᵀy of its pair; the first iterate has none of these. ``gap`` bounds f - f*.
    """

    here: Subdifferential
    p: Direction
    B: Inverse
    t: int
    found: SearchResult[Point] | None
    s: np.ndarray | None
    curvature: float
    gap: float
    events: tuple[str, ...]

    def known(self) -> dict[str, Any]:
        """Return the fields of the record about the step and B, as keyword arguments of
        :meth:`.Iterate.at`."""
        known = {"found": self.found, "curvature": self.curvature, "events": self.events}
        if isinstance(self.B, PairMemory):
            known |= {"memory": self.B, "gamma": self.B.scaling("yy/sy") if len(self.B) else NAN}
        return known

    def record(self, iteration: int, *, live: dict[str, Any] | None = None, **known: Any) -> Iterate:
        """Return the record of this iterate, with additional ``live`` references and ``known`` fields."""
        point = self.here.point
        own = {"gradient": self.here.g, "direction": self.p, "inverse": self.B}
        found = {"inner_iterations": self.p.steps, "qp_iterations": self.p.qp_iterations}
        known = found | self.known() | known
        return Iterate.at(
            point, iteration, violation=point.violation(), dual_gap=self.gap, live=own | (live or {}), **known
        )


@dataclass(frozen=True)
class Descent:
    """A descent along straight lines, composed of a direction, a search and a stopping rule.

    Parameters
    ----------
    direction, stop
        Rules from :mod:`.rules`, or custom ones with the same interface.
    search
        ``Armijo``, ``Wolfe`` or ``Exact``, or a custom function of a line and a first step.
    subgradients
        Choice of the subgradient at a kink.
    unit_first_step
        Whether a first step from w = 0 has length 1, without a search.
    restarts
        Whether to clear B and search along -g if no step is found.

    Examples
    --------
    >>> from solverscope import datasets, solvers
    >>> from solverscope.solvers.methods.descent.loop import Descent
    >>> from solverscope.solvers.methods.descent.progress import DescentProgress
    >>> from solverscope.solvers.methods.descent.rules import SmoothStop, one_subgradient
    >>> from solverscope.solvers.curvature.memory import PairMemory
    >>> from solverscope.solvers.search.line_search import Armijo
    >>> problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l2", lam=0.1)
    >>> descent = Descent(one_subgradient, Armijo(), SmoothStop())
    >>> progress = DescentProgress(problem.penalty.convexity)
    >>> for iterate in descent.iterates(problem.at(), PairMemory(5), progress):
    ...     if iterate.gap < 1e-9:
    ...         break
    """

    direction: DirectionRule
    search: SearchRule
    stop: StopRule
    subgradients: Subgradients = field(default_factory=Subgradients)
    unit_first_step: bool = False
    restarts: bool = False

    def iterates(
        self, point: Point, B: Inverse, progress: DescentProgress
    ) -> Generator[DescentIterate, None, Ending]:
        """Yield the iterates of Algorithm 1 (subBFGS) from ``point`` on, the first included.

        Return why the descent ends. In comments lines are numbered as in Algorithm 1.
        """
        problem, rng = point.problem, np.random.default_rng(self.subgradients.seed)
        pulse = problem.pulse
        here, t = self.subgradients.at_start(point, rng), 0  # 1-3
        found, s, curvature, events = None, None, NAN, []
        while True:
            pulse()  # and between operations that take long for millions of weights
            held = len(B)
            p = self.direction(here, B, found is None)  # 5
            events += ["memory-cleared"] if len(B) < held else []
            pulse()
            gap = progress.update(here.point, p.least, tied=not here.single)
            yield DescentIterate(here, p, B, t, found, s, curvature, gap, tuple(events))
            if ending := self.stop.ending(here, p, progress):
                return ending  # 6, 7

            held = len(B)
            line, found = self._step(here, p, B, found)  # 9, 11
            events = ["memory-cleared"] if len(B) < held else []
            if math.isinf(found.t):
                far = f"f is unbounded below along {_words(line.d)} from {_words(here.point.w)}"
                return Ending("unbounded", far)
            if not found.t > 0.0:
                return self.stop.no_step(found)
            s, g = problem.vector(lambda d, t=found.t: t * d, line.d), here.g  # 10
            here = self.subgradients.after_step(found.point, line, g, rng)  # 12
            y = problem.vector(np.subtract, here.g, g)  # 13
            pulse()
            pushed = B.push(s, y)  # 14, 15
            events += ["curvature-skipped"] if pushed is None else []
            events += [] if here.single else ["kink"]
            curvature, t = NAN if pushed is None else pushed, t + 1  # 16

    def _step(
        self, here: Subdifferential, p: Direction, B: Inverse, last: SearchResult[Point] | None
    ) -> tuple[Line, SearchResult[Point]]:
        """Search along p, and move; return the line and the result.

        ``last`` is the result of the previous search.
        """
        point = here.point
        if last is None and self.unit_first_step and not point.w.any():
            line = point.problem.line(point, p.p)
            return line, without_search(line.move(1.0), 1.0)
        line, found = self._searched(point, p, B, last)
        if found.t == 0.0 and self.restarts and len(B):
            failed = found
            B.clear()
            line, found = self._searched(point, quasi_newton(here.g, B), B, last)
            found = found._replace(trials=failed.trials + found.trials)
        return line, found

    def _searched(
        self, point: Point, p: Direction, B: Inverse, last: SearchResult[Point] | None
    ) -> tuple[Line, SearchResult[Point]]:
        """Search along p; return the line and the result.

        With B = I the length of p is arbitrary. The first trial is then the last accepted step, or a move of
        length at most 1.
        """
        line, first = point.problem.line(point, p.p), 1.0
        if not len(B):
            first = last.t if last is not None else 1.0 / max(1.0, float(np.linalg.norm(p.p)))
        found = self.search(line, first)
        assert found.search is not None  # a search along a line is logged
        found.search.model = -float(p.combination @ p.p)
        return line, found


@overload
def record_iterates(
    iterates: Generator[DescentIterate, None, Ending], record: Callable[[DescentIterate], Iterate]
) -> Generator[Iterate, None, Ending]: ...
@overload
def record_iterates(
    iterates: Generator[DescentIterate, None, Ending],
    record: Callable[[DescentIterate], Iterate],
    enough: Callable[[DescentIterate], bool],
) -> Generator[Iterate, None, Ending | None]: ...
def record_iterates(
    iterates: Generator[DescentIterate, None, Ending],
    record: Callable[[DescentIterate], Iterate],
    enough: Callable[[DescentIterate], bool] = lambda iterate: False,
) -> Generator[Iterate, None, Ending | None]:
    """Yield the ``record`` of each iterate; return why the descent ended, or None if ``enough`` ended it."""
    while True:
        try:
            iterate = next(iterates)
        except StopIteration as end:
            return end.value
        yield record(iterate)
        if enough(iterate):
            return None


def _words(v: np.ndarray) -> str:
    """Return a string for a vector: its entries if they are few, else its length."""
    if v.size <= 3:
        return "(" + ", ".join(f"{x:.6g}" for x in v) + ")"
    return f"a vector of {v.size} entries and length {np.linalg.norm(v):.3g}"
