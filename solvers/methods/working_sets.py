"""Solvers on a working set that a rule chooses: what is proved to be zero, what sits out, and the rest."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compute.lazy import lazy
from ..declare import param
from ..parts.linesearch import Found
from ..parts.rules import RULES, Rule, Seen, ShrinkTest, Sphere, room_of, rooms, weigh
from ..problems.certificates.optimality import Knows
from ..problems.certificates.sphere import Bends, DualPoint, dual_point, gap_and_radius, why_no_sphere
from ..problems.point import Point
from ..problems.problem import Problem
from ..problems.products.working_set import WorkingSet
from .iterate import NAN, NONE, Ending, Iterate
from .solver import Solver


def rule_param(default: str) -> str:
    """Declare ``rule``, the rule of the working set."""
    return param(
        default,
        "rule of the working set: what leaves it, what comes back, and with which proof",
        choices=RULES.keys(),  # those that are registered later too
        title="rule of the working set",
    )


def spent(problem: Problem) -> float:
    """Return CPU seconds of this thread and its helpers, without what is made once for all runs."""
    return time.thread_time() + problem.team.cpu_seconds - problem.design.derived.spent[1]


def known_by(id: str) -> Knows:
    """Return what a solver knows that goes by a rule: where blocks are proved to be zero, their gradient, and
    with it the violation over all weights, is not computed any more."""
    return Knows(violation=not RULES[id].spheres, dual_gap=False)


def why_not_rule(id: str, problem: Problem) -> str | None:
    """Return in a sentence why a rule cannot take a problem; None if it can."""
    reason = why_no_sphere(problem) if RULES[id].spheres else None
    return None if reason is None else f"rule={id} {reason}: choose another rule"


@dataclass(frozen=True)
class Look:
    """What a solver has when the working set is settled: the ``members`` and the gradient on them.

    ``largest`` is the largest violation of the blocks looked at, ``whole`` whether these were all that are
    not proved to be zero, ``complete`` whether all that there are, ``sphere`` the ball around the dual's
    optimum if the rule asked for one.
    """

    members: WorkingSet
    gradient: np.ndarray
    largest: float
    whole: bool
    complete: bool
    sphere: Sphere | None

    @property
    def gap(self) -> float:
        """Return the proved bound of f - f*; nan if there is none."""
        return NAN if self.sphere is None else self.sphere.gap


class Steps:
    """Base of what a solver does with a working set, and of what it keeps between steps.

    Attributes
    ----------
    known : mapping
        What the record should say of the last step, by the fields of :class:`.iterate.Iterate`.
    """

    known: Mapping[str, Any] = NONE

    def step(self, point: Point, look: Look) -> Found[Point]:
        """Step from a point on the members of the working set; return where that led (its t is 0 where
        nothing decreases f)."""
        raise TypeError(f"{type(self).__name__} does not define step")

    def meet(self, look: Look) -> None:
        """Take in what there is at the point where the last step led, once the working set is settled."""


class WorkingSetSolver(Solver):
    """Base of solvers that work on the weights that ``rule`` keeps; a frozen dataclass with fields ``rule``
    and ``tol``, which defines :meth:`begin`.

    An iterate is a step on the working set. What leaves it, what comes back and when is the rule's affair;
    the run ends when the violation over all weights is at most ``tol`` times that at w = 0.
    """

    rule: str
    tol: float

    @property
    def knows(self) -> Knows:
        return known_by(self.rule)

    def refuses(self, problem: Problem) -> str | None:
        return why_not_rule(self.rule, problem) or super().refuses(problem)

    def begin(self, problem: Problem) -> Steps:
        """Return what makes the steps of one run."""
        raise TypeError(f"{type(self).__name__} does not define begin")

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        selection = Selection(RULES[self.rule](), problem, self.tol, rows=problem.design.n_outputs > 1)
        return (yield from stepped(problem.at(w0), selection, self.begin(problem)))


def stepped(
    point: Point, selection: Selection, steps: Steps, n: int = 0, *, shown: bool = False
) -> Generator[Iterate, None, Ending]:
    """Yield the iterates of steps on the working set that a rule selects, from iterate n at ``point`` on;
    that is left out where it was ``shown`` before."""
    found, fresh, stuck = None, not shown, False
    while True:
        look = selection.look(point, stuck=stuck)
        violation = look.largest if look.complete else NAN
        done = look.whole and look.largest <= selection.aim
        if done and not look.complete:
            violation = point.violation()
            done = violation <= selection.aim
        if fresh:
            steps.meet(look)
            yield selection.iterate(point, n, look, found, violation=violation, **steps.known)
        if done:
            return Ending("converged", f"violation {violation:.3g} is at most {selection.aim:.3g}")
        if not selection.rule.returns and not look.whole and (stuck or look.largest <= selection.aim):
            return looked_once(point, selection.members, selection.aim, f"a violation of {look.largest:.3g}")
        found = steps.step(point, look)
        stuck = found.t == 0.0
        if stuck and look.whole:  # the set was chosen among all blocks just now
            return Ending("stalled", "no direction decreases the objective beyond rounding")
        if not stuck:
            point, n = found.point, n + 1
        fresh = not stuck


def looked_once(point: Point, members: WorkingSet, aim: float, solved: str) -> Ending:
    """Look at all weights in the end, where none has come back: is the optimum on the ``members`` that of
    all? ``solved`` says in words how far the problem on these is solved."""
    violation, left = point.violation(), f"{len(members):,} of {point.problem.size:,} weights"
    if violation <= aim:
        return Ending("converged", f"violation {violation:.3g} over all weights is at most {aim:.3g}")
    told = f"the optimum on the {left} that are left ({solved}); over all weights the violation is"
    return Ending("stalled", f"{told} {violation:.3g}, and {aim:.3g} was asked for")


def weights_of(blocks: np.ndarray, width: int) -> np.ndarray:
    """List the weights of blocks of ``width`` weights, ascending."""
    if width == 1:
        return blocks
    return (width * blocks[:, None] + np.arange(width)).reshape(-1)


class Selection:
    """Applies a rule: :meth:`look` before each step tells on which weights it is to be.

    ``alive`` lists the blocks that are not proved to be zero at the optimum, ``active`` those in the working
    set, both ascending. Blocks outside ``active`` are zero. ``epoch`` counts the looks at all blocks after
    work on some, and ``events`` says what happened since they were last taken. ``cost`` is the CPU time of
    looks in seconds, but for gradients of the working set, which a step needs whatever the rule.
    """

    def __init__(
        self, rule: Rule, problem: Problem, tol: float, *, rows: bool = False, epoch: int = 0
    ) -> None:
        """``rows`` tells that the solver handles whole rows of weights, whatever the penalty; ``epoch`` is
        the number of the first epoch."""
        self.rule, self.problem = rule, problem
        self.spheres = rule.spheres and why_no_sphere(problem) is None
        penalty, design = problem.penalty, problem.design
        self.strengths = penalty.row_norms
        self.width = design.n_outputs if rows or any(self.strengths[1:]) else 1
        self.n_blocks = problem.size // self.width
        self.alive = self.active = np.arange(self.n_blocks)
        self.inside = np.zeros(self.n_blocks, dtype=np.bool_)
        self.members = design.working_set()
        self.aim, self.target, self.before = problem.aim(tol), 0.0, np.inf
        self.epoch, self.events = epoch, ("epoch-start",)
        self.cost = 0.0
        #: the working set when the last epoch ended, as a mask of blocks
        self._left_by: np.ndarray | None = None
        #: the best dual point known so far
        self._dual: DualPoint | None = None
        #: of the last look: the blocks, what was seen, who stays, and who is proved to be zero
        self._last: tuple[np.ndarray, Seen, np.ndarray, np.ndarray] | None = None

    def look(self, point: Point, *, stuck: bool = False) -> Look:
        """Settle the working set at a point; ``stuck`` tells that no step on it decreases f."""
        began = spent(self.problem)
        look = self._look(point, stuck)
        self.cost += spent(self.problem) - began
        return look

    def _look(self, point: Point, stuck: bool) -> Look:
        rule, whole = self.rule, self.rule.every or self._all_active
        looked, g, seen = self._see(point, whole)
        if not whole and rule.returns and (stuck or seen.largest <= self.target):
            self._left_by, self.before, whole = self.inside.copy(), seen.largest, True
            self.epoch, self.events = self.epoch + 1, (*self.events, "epoch-start")
            looked, g, seen = self._see(point, whole)
        keep = rule.keeps(seen) | ~seen.zero
        proved = np.zeros_like(keep)
        if whole:
            self.target = max(rule.share * seen.largest, self.aim)
            proved = rule.proves(seen) & seen.zero
            keep &= ~proved
            if proved.any():
                self.alive = looked[~proved]
                if self._dual is not None:
                    self._dual = self._dual.restricted(np.repeat(~proved, self.width))
        self._last = looked, seen, keep, proved
        self.before = seen.largest
        kept = np.repeat(keep, self.width)
        restricted, self.active = looked is self.active, looked[keep]
        self.members = self.members.restrict(kept) if restricted else self._members(self.active)
        self.inside[:] = False
        self.inside[self.active] = True
        of_looked = seen.largest, whole, looked.size == self.n_blocks
        return Look(self.members, g if keep.all() else g[kept], *of_looked, seen.sphere)

    def iterate(self, point: Point, n: int, look: Look, found: Found[Point] | None, **known: Any) -> Iterate:
        """Describe iterate n, to which the step ``found`` led, and what the rule made of it."""
        known |= {"epoch": self.epoch, "dual_gap": look.gap, "returned": self._missed(point.w).size}
        known["events"], self.events = (*known.get("events", ()), *self.events), ()
        if found is not None:
            known["phase"] = None if self.rule.id == "none" else "shrink"
        live = {"gradient": look.gradient, "selection": self}
        if self.rule.id != "none":
            live["shrinking"] = self.test
        return Iterate.at(point, n, active=look.members, found=found, live=live, **known)

    def test(self, w: np.ndarray) -> ShrinkTest:
        """Describe what the rule did at the last look, at w."""
        assert self._last is not None  # there has been a look
        looked, seen, keep, proved = self._last
        full = looked.size == self.n_blocks
        strength = room_of(np.zeros(self.width), *self.strengths)
        # by room, if no block that sits out has less of it than one that stays
        out = seen.room[~keep & ~proved].min(initial=np.inf)
        stays = seen.room[keep & seen.zero].max(initial=-np.inf)
        told, sphere = self.rule.bound(seen), seen.sphere
        bound = np.nan if stays > out else told if stays <= told <= out and told < np.inf else out
        return ShrinkTest(
            WorkingSet(None if full else looked, self.n_blocks, 1, self.n_blocks),
            strength - seen.room,
            strength,
            strength - bound,
            seen.largest,
            self.target,
            self._missed(w),
            width=self.width,
            allowance=self.rule.allowance,
            cost=self.cost,
            proved=self.width * int(np.count_nonzero(proved)),
            sphere=sphere,
            radius=np.nan if sphere is None else self.problem.scale * sphere.radius,
        )

    @property
    def remaining(self) -> np.ndarray | None:
        """List the weights that are not proved to be zero, ascending; None: all."""
        return None if self.complete else self._coordinates(self.alive)

    @property
    def proved(self) -> np.ndarray:
        """List the blocks that are proved to be zero at the optimum."""
        return np.setdiff1d(np.arange(self.n_blocks), self.alive, assume_unique=True)

    @property
    def guessed(self) -> np.ndarray:
        """List the blocks that sit out without a proof."""
        return np.setdiff1d(self.alive, self.active, assume_unique=True)

    @property
    def complete(self) -> bool:
        """Tell whether no block is proved to be zero, so that a look at all that are left is one at all."""
        return self.alive.size == self.n_blocks

    @property
    def _all_active(self) -> bool:
        return self.active.size == self.alive.size

    def _missed(self, w: np.ndarray) -> np.ndarray:
        """List the weights that are not zero although they were outside the working set when the last epoch
        ended."""
        if self._left_by is None:
            return np.empty(0, dtype=np.int64)
        weights = self._coordinates(self.active[~self._left_by[self.active]])
        return weights[w[weights] != 0.0]

    def _see(self, point: Point, whole: bool) -> tuple[np.ndarray, np.ndarray, Seen]:
        """Return the blocks to look at, all that are left if ``whole``, the gradient of loss and ridge on
        them, and what a rule sees."""
        self.problem.pulse()
        began, looked, members = spent(self.problem), self.active, self.members
        if whole and not self._all_active:
            looked, members = self.alive, self._members(self.alive)
        g = point.gradient(members)
        if looked is self.active:
            self.cost -= spent(self.problem) - began
        room, violation, zero = np.empty(looked.size), np.empty(looked.size), np.empty(looked.size, np.bool_)
        blocks = self._blocks(members.take(point.w)), self._blocks(g)
        weigh(*blocks, *self.strengths, room, violation, zero)
        sphere = self._sphere(point, looked, g) if whole and self.spheres else None
        inside, instances = self.inside[looked], self.problem.loss.n_instances
        return looked, g, Seen(zero, room, violation, inside, self.before, whole, instances, sphere)

    def _sphere(self, point: Point, looked: np.ndarray, g: np.ndarray) -> Sphere:
        """Make the sphere around the best dual point so far, at a point where ``g`` is the gradient on the
        blocks ``looked`` at: it costs a pass over the scores."""
        whole, lengths = looked.size == self.n_blocks, self._lengths(looked)
        each = np.repeat(lengths, self.width) if self.width > 1 else lengths
        dual = dual_point(point, None if whole else self._coordinates(looked), g, each)
        if self._dual is None or dual.value > self._dual.value:
            self._dual = dual
        gap, radius = gap_and_radius(point, self._dual, self._bends.largest)
        room = np.empty(looked.size)
        rooms(self._blocks(self._dual.gradient), *self.strengths, room)
        return Sphere(room, self.problem.scale * lengths * radius, radius, gap)

    @lazy
    def _bends(self) -> Bends:
        return Bends.of(self.problem)

    def _lengths(self, blocks: np.ndarray) -> np.ndarray:
        """Return the length of the column of each block, see :class:`.sphere.Bends`."""
        design = self.problem.design
        first, n_body = blocks * self.width, design.n_features * design.n_outputs
        body, lengths = first < n_body, np.empty(blocks.size)
        lengths[body] = self._bends.columns[first[body] // design.n_outputs]
        lengths[~body] = self._bends.tail[first[~body] - n_body]
        return lengths

    def _members(self, blocks: np.ndarray) -> WorkingSet:
        """Return the weights of blocks as a set."""
        return self.problem.design.working_set(
            None if blocks.size == self.n_blocks else self._coordinates(blocks)
        )

    def _blocks(self, v: np.ndarray) -> np.ndarray:
        return v.reshape(-1, self.width)

    def _coordinates(self, blocks: np.ndarray) -> np.ndarray:
        return weights_of(blocks, self.width)
