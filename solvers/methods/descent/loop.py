"""Algorithm 1 of Yu et al. 2010, made of the parts of a descent.

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

from ...parts.direction import Direction, quasi_newton
from ...parts.inverse import Inverse
from ...parts.linesearch import Found, unsearched
from ...parts.memory import PairMemory
from ...problems.line import Line
from ...problems.point import Point
from ...problems.subdifferential import Subdifferential
from ..iterate import NAN, Ending, Iterate
from .progress import Progress
from .rules import DirectionRule, SearchRule, StopRule, Subgradients


class Visit(NamedTuple):
    """What a :class:`Descent` knows at an iterate, ``t`` steps after its first: the subgradients ``here``,
    the direction ``p`` found here, B, and the step that led here: what the search ``found``, the step ``s``
    and the ``curvature`` sᵀy of its pair; none of them at the first. ``gap`` bounds f - f*."""

    here: Subdifferential
    p: Direction
    B: Inverse
    t: int
    found: Found[Point] | None
    s: np.ndarray | None
    curvature: float
    gap: float
    events: tuple[str, ...]

    def known(self) -> dict[str, Any]:
        """Return the fields of the record about the step and B, as arguments of :meth:`.Iterate.at`."""
        known = {"found": self.found, "curvature": self.curvature, "events": self.events}
        if isinstance(self.B, PairMemory):
            known |= {"memory": self.B, "gamma": self.B.scaling("yy/sy") if len(self.B) else NAN}
        return known

    def record(self, iteration: int, *, live: dict[str, Any] | None = None, **known: Any) -> Iterate:
        """Make the record of this iterate, with further ``live`` references and ``known`` fields."""
        point = self.here.point
        own = {"gradient": self.here.g, "direction": self.p, "inverse": self.B}
        found = {"inner_iterations": self.p.steps, "qp_iterations": self.p.qp_iterations}
        known = found | self.known() | known
        return Iterate.at(
            point, iteration, violation=point.violation(), dual_gap=self.gap, live=own | (live or {}), **known
        )


@dataclass(frozen=True)
class Descent:
    """A direction, a search and a stop, and what goes with them.

    Parameters
    ----------
    direction, search, stop
        Values of :mod:`.rules`, or of one's own with the same methods.
    subgradients
        Which subgradient is taken at a kink.
    unit_first_step
        Take the first step of all, if it is from w = 0, with length 1 and without a search.
    restarts
        Where no step is found, clear B and search once more, along -g.

    Examples
    --------
    >>> from solverscope import datasets, solvers
    >>> from solverscope.solvers.methods.descent.loop import Descent
    >>> from solverscope.solvers.methods.descent.progress import Progress
    >>> from solverscope.solvers.methods.descent.rules import Armijo, SmoothStop, one_subgradient
    >>> from solverscope.solvers.parts.memory import PairMemory
    >>> problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l2", lam=0.1)
    >>> descent = Descent(one_subgradient, Armijo(), SmoothStop())
    >>> for visit in descent.visits(problem.at(), PairMemory(5), Progress(problem.penalty.ridge)):
    ...     if visit.gap < 1e-9:
    ...         break
    """

    direction: DirectionRule
    search: SearchRule
    stop: StopRule
    subgradients: Subgradients = field(default_factory=Subgradients)
    unit_first_step: bool = False
    restarts: bool = False

    def visits(self, point: Point, B: Inverse, progress: Progress) -> Generator[Visit, None, Ending]:
        """Descend from ``point`` by Algorithm 1, whose lines are numbered here, with the ``B`` given; yield
        what is known at each iterate, the first one included, and return why it ends."""
        problem, rng = point.problem, np.random.default_rng(self.subgradients.seed)
        pulse = problem.pulse
        here, t = self.subgradients.at_start(point, rng), 0  # 1-3
        found, s, curvature, events = None, None, NAN, []
        while True:
            pulse()  # and between all that takes long for millions of weights
            held = len(B)
            p = self.direction(here, B, found is None)  # 5
            events += ["memory-cleared"] if len(B) < held else []
            pulse()
            gap = progress.update(here.point, p.least, tied=not here.single)
            yield Visit(here, p, B, t, found, s, curvature, gap, tuple(events))
            if ending := self.stop.ending(here, p, progress):
                return ending  # 6, 7

            held = len(B)
            line, found = self._step(here, p, B, found)  # 9, 11
            events = ["memory-cleared"] if len(B) < held else []
            if math.isinf(found.t):
                far = f"f falls for ever along {_words(line.d)} from {_words(here.point.w)}"
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
        self, here: Subdifferential, p: Direction, B: Inverse, last: Found[Point] | None
    ) -> tuple[Line, Found[Point]]:
        """Search along p, and move; return the line as well. ``last`` is the outcome of the last search."""
        point = here.point
        if last is None and self.unit_first_step and not point.w.any():
            line = point.problem.line(point, p.p)
            return line, unsearched(line.move(1.0), 1.0)
        line, found = self._searched(point, p, B, last)
        if found.t == 0.0 and self.restarts and len(B):
            failed = found
            B.clear()
            line, found = self._searched(point, quasi_newton(here.g, B), B, last)
            found = found._replace(trials=failed.trials + found.trials)
        return line, found

    def _searched(
        self, point: Point, p: Direction, B: Inverse, last: Found[Point] | None
    ) -> tuple[Line, Found[Point]]:
        """Search along p. With B = I the length of p means nothing: the first trial is then the last accepted
        step, or of length 1 at most."""
        line, first = point.problem.line(point, p.p), 1.0
        if not len(B):
            first = last.t if last is not None else 1.0 / max(1.0, float(np.linalg.norm(p.p)))
        found = self.search(line, first)
        assert found.search is not None  # a search along a line is logged
        found.search.model = -float(p.combination @ p.p)
        return line, found


@overload
def each(
    visits: Generator[Visit, None, Ending], record: Callable[[Visit], Iterate]
) -> Generator[Iterate, None, Ending]: ...
@overload
def each(
    visits: Generator[Visit, None, Ending],
    record: Callable[[Visit], Iterate],
    enough: Callable[[Visit], bool],
) -> Generator[Iterate, None, Ending | None]: ...
def each(
    visits: Generator[Visit, None, Ending],
    record: Callable[[Visit], Iterate],
    enough: Callable[[Visit], bool] = lambda visit: False,
) -> Generator[Iterate, None, Ending | None]:
    """Yield the ``record`` of each visit; return how the descent ends, None if ``enough`` ends it before."""
    while True:
        try:
            visit = next(visits)
        except StopIteration as end:
            return end.value
        yield record(visit)
        if enough(visit):
            return None


def _words(v: np.ndarray) -> str:
    """Write a vector: its entries if they are few, else its length."""
    if v.size <= 3:
        return "(" + ", ".join(f"{x:.6g}" for x in v) + ")"
    return f"a vector of {v.size} entries and length {np.linalg.norm(v):.3g}"
