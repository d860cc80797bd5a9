"""Solvers on a working set that a rule chooses: the loop of steps and epochs, and the selection."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..compute.lazy import lazy
from ..declare import param
from ..linalg.working_set import WorkingSet
from ..problems.certificates.optimality import Knows
from ..problems.certificates.sphere import Bends, DualPoint, dual_point, gap_and_radius, why_no_sphere
from ..problems.point import Point
from ..problems.problem import Problem
from ..search.outcome import SearchResult
from ..working_sets.policy import ShrinkingPolicy
from ..working_sets.rule import Rule
from ..working_sets.rules import RULES
from ..working_sets.screening import SafeBall, ScreeningContext, ShrinkTest, slack_of, slacks
from .iterate import NAN, NO_REFERENCES, Ending, Iterate
from .solver import Solver


def rule_param(default: str) -> str:
    """Declare the hyper-parameter ``rule``, the rule of the working set."""
    return param(
        default,
        "rule of the working set: what leaves it, what comes back, and with which proof",
        choices=RULES.keys(),  # those that are registered later too
        title="rule of the working set",
    )


def cpu_seconds(problem: Problem) -> float:
    """Return the CPU seconds of this thread and its helpers, without those for arrays that all runs share."""
    return time.thread_time() + problem.team.cpu_seconds - problem.design.derived.spent[1]


def known_by(id: str) -> Knows:
    """Return the measures of optimality that a solver with this rule computes.

    Once blocks are proved to be zero, their gradient is no longer computed, so the violation over all weights
    is unknown.
    """
    return Knows(violation=not RULES[id].needs_safe_ball, dual_gap=False)


def why_not_rule(id: str, problem: Problem) -> str | None:
    """Return why a rule cannot be used on a problem, as a sentence; return None if it can."""
    reason = why_no_sphere(problem) if RULES[id].needs_safe_ball else None
    return None if reason is None else f"rule={id} {reason}: choose another rule"


@dataclass(frozen=True)
class WorkingSetState:
    """The working set at an iterate: its ``members``, and the gradient on them.

    ``largest`` is the largest violation of the screened blocks. ``all_remaining`` is whether all blocks that
    are not proved to be zero were screened, and ``all_blocks`` whether all blocks were. ``ball`` contains the
    dual optimum; it is None if the rule needs no ball.
    """

    members: WorkingSet
    gradient: np.ndarray
    largest: float
    all_remaining: bool
    all_blocks: bool
    ball: SafeBall | None

    @property
    def gap(self) -> float:
        """Return the proved bound on f - f*; return nan if there is none."""
        return NAN if self.ball is None else self.ball.gap


class WorkingSetSteps:
    """Base of classes that take the steps of one run on its working sets, and store state between them.

    Attributes
    ----------
    events : tuple of str
        Events since the previous iterate.
    known : mapping
        Further fields of the record of the last step, see :class:`.iterate.Iterate`.
    """

    events: tuple[str, ...] = ()
    known: Mapping[str, Any] = NO_REFERENCES

    def step(self, point: Point, state: WorkingSetState) -> SearchResult[Point]:
        """Take a step from a point on the members of the working set, and return its outcome.

        The t of the outcome is 0 if no step decreases f.
        """
        raise TypeError(f"{type(self).__name__} does not define step")

    def on_step(self, found: SearchResult[Point], gradient: np.ndarray) -> None:
        """Process the gradient at the point to which the last step led, before the working set changes.

        The gradient has one entry per member of the working set of that step.
        """

    def on_working_set(self, state: WorkingSetState) -> None:
        """Adapt to a new working set, given by its ``state``."""

    def on_epoch(self) -> None:
        """Prepare for a new epoch, before its working set is chosen."""


class WorkingSetSolver(Solver):
    """Base of solvers on working sets that ``rule`` chooses.

    A subclass is a frozen dataclass with fields ``rule`` and ``tol``, and defines :meth:`begin`.

    An iterate is a step on the working set. The rule decides which weights leave the working set and which
    come back. The run ends when the violation over all weights is at most ``tol`` times that at w = 0.

    ``largest_first_size`` is the maximal number of blocks with which a growing set begins; None leaves it to
    the rule. ``shared`` stores data from λ to λ of a path, see :meth:`.solver.Solver.sharing`: the last
    point, at which the next λ starts.
    """

    largest_first_size: ClassVar[int | None] = None
    shared: ClassVar[dict[Any, Any] | None] = None

    rule: str
    tol: float

    @property
    def knows(self) -> Knows:
        return known_by(self.rule)

    def refuses(self, problem: Problem) -> str | None:
        return why_not_rule(self.rule, problem) or super().refuses(problem)

    def begin(self, problem: Problem) -> WorkingSetSteps:
        """Return the object that takes the steps of one run."""
        raise TypeError(f"{type(self).__name__} does not define begin")

    def sharing(self, shared: dict[Any, Any]) -> Self:
        return self._holding(shared=shared)

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        rule = RULES[self.rule]()
        if self.largest_first_size is not None:
            rule = rule.beginning_with(self.largest_first_size)
        selection = Selection(rule, problem, self.tol, rows=problem.design.n_outputs > 1)
        shared, here = {} if self.shared is None else self.shared, (Point, problem.family)
        point = problem.at(w0, shared.pop(here, None))
        try:
            return (yield from run_on_working_sets(point, selection, self.begin(problem)))
        finally:
            shared[here] = selection.point


def run_on_working_sets(
    point: Point, selection: Selection, steps: WorkingSetSteps, n: int = 0, *, shown: bool = False
) -> Generator[Iterate, None, Ending]:
    """Yield the iterates of steps on the working sets that a rule selects, starting with iterate n at
    ``point``.

    Iterate n is left out if it was ``shown`` before. This is the outer loop of Algorithm 2 of Zhong et al.
    2014: lines 3 to 16 are :meth:`Selection.choose`, lines 19 to 33 :meth:`WorkingSetSteps.step`, and lines
    34 to 39 :meth:`WorkingSetSteps.on_step`.
    """
    found, fresh, stuck = None, not shown, False
    steps.events = ("epoch-start",)
    while True:
        state = selection.choose(point, steps, found, stuck=stuck)
        violation = state.largest if state.all_blocks else NAN
        done = state.all_remaining and state.largest <= selection.aim
        if done and not state.all_blocks:
            violation = point.violation()
            done = violation <= selection.aim
        if fresh:
            known, events = steps.known, steps.events
            steps.events = ()
            yield selection.iterate(point, n, state, found, violation=violation, events=events, **known)
        if done:  # lines 11 and 12
            return Ending("converged", f"violation {violation:.3g} is at most {selection.aim:.3g}")
        if not selection.rule.reactivates and not state.all_remaining:
            if stuck:
                solved = "no step decreases the objective"
                return check_full_optimality(point, selection.members, selection.aim, solved)
            if state.largest <= selection.aim:
                solved = f"a violation of {state.largest:.3g}"
                return check_full_optimality(point, selection.members, selection.aim, solved)
        found = steps.step(point, state)
        stuck = found.t == 0.0
        if stuck and state.all_remaining:  # the set was chosen among all blocks just now
            return Ending("stalled", "no direction decreases the objective beyond rounding")
        if not stuck:
            point, n = found.point, n + 1
        fresh = not stuck


def check_full_optimality(point: Point, members: WorkingSet, aim: float, solved: str) -> Ending:
    """Return the ending of a run in which no weight comes back.

    The run has converged if the optimum on the ``members`` is also optimal over all weights; otherwise it has
    stalled. ``solved`` describes the accuracy on the members.
    """
    violation, left = point.violation(), f"{len(members):,} of {point.problem.size:,} weights"
    if violation <= aim:
        return Ending("converged", f"violation {violation:.3g} over all weights is at most {aim:.3g}")
    optimum = f"the optimum on the {left} that are left ({solved}); over all weights the violation is"
    return Ending("stalled", f"{optimum} {violation:.3g}, and {aim:.3g} was asked for")


def weights_of(blocks: np.ndarray, width: int) -> np.ndarray:
    """Return the indices of the weights of blocks of ``width`` weights, ascending."""
    if width == 1:
        return blocks
    return (width * blocks[:, None] + np.arange(width)).reshape(-1)


class Selection:
    """The working set of a run, which :meth:`choose` updates by a rule before each step.

    ``alive`` has the blocks that are not proved to be zero at the optimum, ``active`` those in the working
    set; ``members`` are the weights of the active blocks. All other blocks are zero. ``cost`` is the CPU time
    of screening in seconds, without the gradients on working sets, which steps need with any rule.
    """

    def __init__(
        self,
        rule: Rule,
        problem: Problem,
        tol: float,
        *,
        rows: bool = False,
        epoch: int = 0,
        violation: float = np.inf,
    ) -> None:
        """Start with all blocks alive.

        ``rows`` is whether the solver's blocks are whole rows of weights for any penalty. ``epoch`` is the
        index of the first epoch, and ``violation`` the largest violation at the iterate before.
        """
        self.rule, self.problem = rule, problem
        self.with_ball = rule.needs_safe_ball and why_no_sphere(problem) is None
        penalty, design = problem.penalty, problem.design
        self.strengths = penalty.row_norms
        self.width = design.n_outputs if rows or any(self.strengths[1:]) else 1
        self.n_blocks = problem.size // self.width
        #: penalty factors of the blocks; empty if all are 1
        self.factors = penalty.factor_array[:: self.width]
        self.aim = problem.aim(tol)
        self.policy = ShrinkingPolicy(
            rule.schedule(tol, self.aim, problem.violation_at_zero()),
            problem.loss.n_instances,
            reactivates=rule.reactivates,
            epoch=epoch,
            violation=violation,
        )
        self.members = design.working_set()
        blocks = self.members if self.width == 1 else WorkingSet(None, self.n_blocks, 1, self.n_blocks)
        self.alive = self.active = blocks
        self.cost = 0.0
        #: the last point at which it was chosen
        self.point: Point | None = None
        #: the working set before, and that with which the last epoch ended
        self._previous: WorkingSet | None = None
        self._left_by: WorkingSet | None = None
        #: the best dual point known so far
        self._dual: DualPoint | None = None

    def choose(
        self,
        point: Point,
        steps: WorkingSetSteps | None = None,
        found: SearchResult[Point] | None = None,
        *,
        stuck: bool = False,
    ) -> WorkingSetState:
        """Return the working set at the point to which the step ``found`` led.

        ``stuck`` is whether that step found no decrease of f. ``steps`` is notified of epochs and of new
        working sets.
        """
        steps, self.point = WorkingSetSteps() if steps is None else steps, point
        if stuck and not self._all_active:
            self._screen(point, self.active, self._gradient)  # that of the last step
        else:
            self._screen(point, self._afresh(self.alive) if self.rule.dynamic else self.active)
            if found is not None:
                gradient = self._gradient
                if self._screened is not self.active:
                    kept, _ = self._screened_members.overlap(self.members)
                    gradient = gradient[kept]
                steps.on_step(found, gradient)
        state = self._apply()  # lines 3 to 9
        steps.on_working_set(state)
        if self.policy.epoch_is_over(state.largest, whole=state.all_remaining, stuck=stuck):  # line 10
            self._left_by = self.active
            steps.events += ("epoch-start",)
            self._screen(point, self._afresh(self.alive))  # lines 15 and 16
            steps.on_epoch()
            state = self._apply()
            self.policy.end_epoch(state.largest)
            steps.on_working_set(state)
        return state

    def iterate(
        self, point: Point, n: int, state: WorkingSetState, found: SearchResult[Point] | None, **known: Any
    ) -> Iterate:
        """Return iterate n, to which the step ``found`` led, with the decisions of the rule at this
        iterate."""
        returned = self._returned(point.w).size
        known = {"epoch": self.policy.epoch, "dual_gap": state.gap, "returned": returned} | known
        if found is not None:
            known["phase"] = None if self.rule.id == "none" else "shrink"
        live = {"gradient": state.gradient, "selection": self}
        if self.rule.id != "none":
            live["shrinking"] = self.test
        return Iterate.at(point, n, active=state.members, found=found, live=live, **known)

    def test(self, w: np.ndarray) -> ShrinkTest:
        """Return the decisions of the rule at the last screening, for weights w."""
        context, keep, proved = self._context, self._keep, self._proved
        strength = slack_of(np.zeros(self.width), *self.strengths)
        bound = self.rule.bound(context)
        if not self.rule.by_bound:
            # by slack, if no block that is left out has less of it than one that stays
            gone = ~keep if proved is None else ~keep & ~proved
            out = context.slack[gone].min(initial=np.inf)
            stays = context.slack[keep & context.zero].max(initial=-np.inf)
            bound = np.nan if stays > out else bound if stays <= bound <= out and bound < np.inf else out
        ball = context.ball
        full = self._screened.full
        single = context.single_weights and self.rule.by_bound
        return ShrinkTest(
            WorkingSet(None if full else self._screened.coordinates, self.n_blocks, 1, self.n_blocks),
            context.G[:, 0] if single else strength - context.slack,
            strength,
            strength - bound,
            context.largest,
            self.policy.schedule.target,
            self._returned(w),
            width=self.width,
            allowance=self.rule.allowance,
            cost=self.cost,
            proved=0 if proved is None else self.width * int(np.count_nonzero(proved)),
            ball=ball,
            radius=np.nan if ball is None else self.problem.scale * ball.radius,
        )

    @property
    def remaining(self) -> np.ndarray | None:
        """Return the weights that are not proved to be zero, ascending; None stands for all weights."""
        return None if self.alive.full else weights_of(self.alive.coordinates, self.width)

    @property
    def proved(self) -> np.ndarray:
        """Return the blocks that are proved to be zero at the optimum, ascending."""
        return np.flatnonzero(~self.alive.mask())

    @property
    def guessed(self) -> np.ndarray:
        """Return the blocks that are left out without a proof, ascending."""
        return np.flatnonzero(self.alive.mask() & ~self.active.mask())

    @property
    def _all_active(self) -> bool:
        return len(self.active) == len(self.alive)

    def _returned(self, w: np.ndarray) -> np.ndarray:
        """Return the non-zero weights that were outside the working set when the last epoch ended."""
        if self._left_by is None:
            return np.empty(0, dtype=np.int64)
        support = self.members.support(w)
        return support[~self._left_by.mask()[support // self.width]]

    def _screen(self, point: Point, screened: WorkingSet, gradient: np.ndarray | None = None) -> None:
        """Compute the quantities of the screened blocks that a rule needs for its decisions.

        These are the gradient of loss and ridge, unless it is passed, and the ball if all remaining blocks
        are screened.
        """
        self.problem.pulse()
        all_remaining = len(screened) == len(self.alive)
        if all_remaining and self._all_active:
            screened = self.active
        if screened is self.active:
            members = self.members
            g = point.gradient(members) if gradient is None else gradient
            began = cpu_seconds(self.problem)
        else:
            began = cpu_seconds(self.problem)
            members = self._members_of(screened)
            g = point.gradient(members)
        ball = self._ball(point, screened, g) if all_remaining and self.with_ball else None
        self._screened, self._screened_members, self._gradient = screened, members, g
        self._context = ScreeningContext(
            members.take(point.w).reshape(-1, self.width),
            g.reshape(-1, self.width),
            self.strengths,
            previous_set=self._previous,
            screened=screened,
            previous_violation=self.policy.last_violation,
            threshold=self.policy.threshold,
            all_remaining=all_remaining,
            ball=ball,
            factors=screened.take(self.factors) if self.factors.size else self.factors,
        )
        self.cost += cpu_seconds(self.problem) - began

    def _apply(self) -> WorkingSetState:
        """Choose the working set from the screened blocks."""
        began = cpu_seconds(self.problem)
        rule, context, screened, g = self.rule, self._context, self._screened, self._gradient
        self.problem.pulse()
        keep, proved = rule.select(context), None
        if context.all_remaining:
            self.policy.schedule.screen_all(context.largest)
            proved = rule.proves(context)
            if proved is not None:
                proved = proved & context.zero
                keep &= ~proved
                if proved.any():
                    self.alive = self._afresh(screened.restrict(~proved))
                    if self._dual is not None:
                        self._dual = self._dual.restricted(np.repeat(~proved, self.width))
        self._keep, self._proved = keep, proved
        self.policy.last_violation = context.largest
        if not keep.all():
            kept = keep if self.width == 1 else np.repeat(keep, self.width)
            self.members = self._screened_members.restrict(kept)
            self.active = self.members if self.width == 1 else screened.restrict(keep)
            g = g[kept]
        else:
            self.active, self.members = screened, self._screened_members
        self._previous, self._gradient = self.active, g
        self.cost += cpu_seconds(self.problem) - began
        return WorkingSetState(
            self.members, g, context.largest, context.all_remaining, screened.full, context.ball
        )

    def _ball(self, point: Point, screened: WorkingSet, g: np.ndarray) -> SafeBall:
        """Return the ball around the best dual point so far, which costs a pass over the scores.

        ``g`` is the gradient on the screened blocks.
        """
        lengths = self._lengths(screened.coordinates)
        each = np.repeat(lengths, self.width) if self.width > 1 else lengths
        coordinates = None if screened.full else weights_of(screened.coordinates, self.width)
        dual = dual_point(point, coordinates, g, each)
        if self._dual is None or dual.value > self._dual.value:
            self._dual = dual
        gap, radius = gap_and_radius(point, self._dual, self._bends.largest)
        slack = np.empty(len(screened))
        slacks(self._dual.gradient.reshape(-1, self.width), *self.strengths, slack)
        return SafeBall(slack, self.problem.scale * lengths * radius, radius, gap)

    @lazy
    def _bends(self) -> Bends:
        return Bends.of(self.problem)

    def _lengths(self, blocks: np.ndarray) -> np.ndarray:
        """Return the length of the column of each block, reduced as in :class:`.sphere.Bends`."""
        design = self.problem.design
        first, n_body = blocks * self.width, design.n_features * design.n_outputs
        body, lengths = first < n_body, np.empty(blocks.size)
        lengths[body] = self._bends.columns[first[body] // design.n_outputs]
        lengths[~body] = self._bends.tail[first[~body] - n_body]
        return lengths

    def _members_of(self, blocks: WorkingSet) -> WorkingSet:
        """Return the working set of the weights of some blocks."""
        if self.width == 1:
            return blocks
        design = self.problem.design
        return design.working_set(None if blocks.full else weights_of(blocks.coordinates, self.width))

    def _afresh(self, blocks: WorkingSet) -> WorkingSet:
        """Return the same blocks as a new set, which shares no copies of X with others."""
        coordinates = None if blocks.full else blocks.coordinates
        if self.width == 1:
            return self.problem.design.working_set(coordinates)
        return WorkingSet(coordinates, self.n_blocks, 1, self.n_blocks)
