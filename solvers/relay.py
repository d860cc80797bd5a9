"""Relays: one solver after another on the same problem, each from the weights of the one before."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from .declare import Form, param, random_seed
from .methods.iterate import NAN, Ending, Iterate
from .methods.solver import Solver
from .methods.usual import tol_param
from .problems.certificates.optimality import Knows
from .problems.problem import Problem
from .problems.shards.sharded import ShardedDesign
from .registry import fitting, make_solver, register, why_not_solver_on
from .runs.breakpoints import Condition, Watch

#: Fields that a rule cannot read: with them a replay would hand over elsewhere.
CLOCKS = {"cpu_seconds", "wall_seconds"}
#: Fields that are computed for a rule where a solver does not know them.
COMPUTED = {"objective", "loss", "penalty", "nnz", "nnz_rows"}
#: What ``auto`` begins with: shares of the instances, and iterations on each.
SHARES, ITERATIONS = ("1/16", "1/4"), 15
#: Instances that the smallest of these samples has, at least.
LEAST = 30
EXAMPLE = "sgd-l1 until passes >= 2 then prox-qn"


@dataclass(frozen=True)
class Leg:
    """A part of a relay.

    Attributes
    ----------
    name : str
        What its iterates have as their phase: the solver, and the sample.
    solver : Solver
        What advances the weights.
    share : float
        Of the instances: on fewer than all, the leg solves the problem of a random sample.
    until : Condition or None
        Where it hands over, over the record of its own iterates; numbers and passes count from its start.
        None for the last leg.
    """

    name: str
    solver: Solver
    share: float
    until: Condition | None

    @classmethod
    def parse(cls, text: str) -> Leg:
        """Read ``ID[,name=value,...] [of SHARE] [until CONDITION]``; ValueError, one sentence, for others."""
        head, _, rule = text.partition(" until ")
        named, _, share = head.partition(" of ")
        id, *assigned = named.strip().split(",")
        params = dict(each.partition("=")[::2] for each in assigned)
        if id == Relay.id:
            raise ValueError("a leg of a relay is no relay: name another solver")
        until = Condition.parse(rule) if rule else None
        if until is not None and until.fields & CLOCKS:
            raise ValueError(
                f"{rule!r} depends on the clock, and a relay is replayed: use passes or iterations"
            )
        name = f"{id} of {share.strip()}" if share else id
        return cls(name, make_solver(id, **params), _share(share), until)

    def advance(self, part: Problem, w0: np.ndarray | None) -> Generator[Iterate, None, Ending | None]:
        """Yield the leg's own iterates on ``part``, up to that where it hands over; return why it ended
        before."""
        solver, watch = self.solver.prepare(part), Watch([] if self.until is None else [self.until])
        before = part.passes  # tuning is on the clock, and no part of what the rule counts
        with closing(solver.iterate(part, w0)) as iterates:
            while True:
                try:
                    iterate = next(iterates)
                except StopIteration as stop:
                    return stop.value
                over = watch.hit(self._told(iterate, part, before))
                yield iterate
                if over is not None:
                    return None

    def _told(self, iterate: Iterate, part: Problem, before: float) -> Iterate:
        """Return what the rule reads: where the solver does not know the objective, that is computed."""
        told = replace(iterate, passes=part.passes - before)
        if self.until is not None and self.until.fields & COMPUTED and told.objective != told.objective:
            point = part.at(iterate.w)
            told.objective, told.loss, told.penalty = point.objective, point.loss, point.penalty
            told.nnz, told.nnz_rows = point.sparsity()
        return told


def legs_of(text: str) -> list[Leg]:
    """Read the legs of a relay.

    Parameters
    ----------
    text : str
        Such as ``prox-qn of 1/16 until iteration >= 15 then prox-qn``.

    Returns
    -------
    list of Leg

    Raises
    ------
    ValueError
        If the text is none, or a leg but the last has no rule, or the last one ends by a rule or sees a
        sample: one sentence.
    """
    legs = [Leg.parse(part) for part in text.split(" then ")]
    for leg in legs[:-1]:
        if leg.until is None:
            raise ValueError(
                f"{leg.solver.id} never hands over: write {leg.solver.id} until iteration >= 15 then ..."
            )
    if legs[-1].until is not None or legs[-1].share < 1.0:
        raise ValueError("the last leg goes to the end, on all instances: leave out its share and its rule")
    return legs


@register
@dataclass(frozen=True)
class Relay(Solver):
    """Solvers in turn: each starts from the weights of the one before, and hands over by a rule.

    All that a leg does is on the clock: making a sample, and tuning a step, as well. Iterates of a leg on a
    sample have the objective of the whole problem, which is computed off the clock; its passes are those over
    the entries that it touches, in units of all of X. Iterates number on, and have the leg as their phase.
    """

    id = "relay"
    name = "Relay"
    summary = "one solver after another, each from the weights of the one before"
    knows = Knows(violation=False, dual_gap=False)

    legs: str = param(
        "auto",
        f"solvers and when they hand over, such as {EXAMPLE}; auto: samples first, then all",
        form=Form(str, f"auto, or solvers in turn such as {EXAMPLE}"),
        title="legs",
    )
    tol: float = tol_param()
    seed: int = random_seed("seed of the samples")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.legs != "auto":
            legs_of(self.legs)

    def chosen(self, problem: Problem) -> list[Leg]:
        """Return the legs for a problem."""
        legs = legs_of(_usual(problem) if self.legs == "auto" else self.legs)
        return [*legs[:-1], replace(legs[-1], solver=legs[-1].solver.towards(self.tol))]

    def refuses(self, problem: Problem) -> str | None:
        for leg in self.chosen(problem):
            if reason := why_not_solver_on(leg.solver.id, problem):
                return f"{leg.solver.id} {reason}"
            if leg.share < 1.0 and isinstance(problem.design, ShardedDesign):
                return (
                    f"{leg.name} needs the rows on this machine, and these are on shards: leave the share out"
                )
            if reason := leg.solver.refuses(problem):
                return reason
        return None

    def iterate(
        self, problem: Problem, w0: np.ndarray | None = None
    ) -> Generator[Iterate, None, Ending | None]:
        ending, baton = None, _Baton(w0)
        for leg in self.chosen(problem):
            part = problem if leg.share == 1.0 else problem.sample(leg.share, self.seed)
            ending = yield from baton.carried(leg, problem, part)
            if ending is not None and ending.status in ("failed", "unbounded"):
                break
        return ending


@dataclass
class _Baton:
    """What a leg starts with: the weights, the number of their iterate, and of epochs so far."""

    w: np.ndarray | None
    iteration: int = 0
    epochs: int = 0
    passed: bool = False

    def carried(self, leg: Leg, problem: Problem, part: Problem) -> Generator[Iterate, None, Ending | None]:
        """Yield the iterates of a leg as the relay's; return why the leg ended, None where it handed over."""
        iterates, start, epochs = leg.advance(part, self.w), self.iteration, self.epochs
        while True:
            touched = part.design.touched
            try:
                iterate = next(iterates)
            except StopIteration as stop:
                self.passed = True
                return stop.value
            if part is not problem:
                problem.design.touched += part.design.touched - touched
                iterate = _seen(iterate)
            if leg.until is not None:
                self.w = iterate.w.copy()  # the solver may go on in the array that it showed
            if iterate.iteration == 0 and self.passed:
                continue  # the weights where the baton passed, which the leg before has shown
            self.iteration, iterate.iteration = start + iterate.iteration, start + iterate.iteration
            if iterate.epoch >= 0:
                iterate.epoch += epochs
                self.epochs = iterate.epoch + 1
            iterate.phase = leg.name
            iterate.cpu_seconds = iterate.wall_seconds = NAN  # all work is on the relay's clock
            yield iterate


def _seen(iterate: Iterate) -> Iterate:
    """Return what an iterate on a sample tells of the whole problem: the objective is computed afresh, and
    the search was along another function."""
    live = {name: iterate.live[name] for name in ("active", "memory") if name in iterate.live}
    unknown = dict.fromkeys(("objective", "loss", "penalty", "violation", "dual_gap"), NAN)
    return replace(iterate, live=live, nnz=-1, nnz_rows=-1, **unknown)


def _share(text: str) -> float:
    """Read a share such as 1/16 or 0.25; nothing stands for 1."""
    try:
        share = float(Fraction(text.strip() or "1"))
    except (ValueError, ZeroDivisionError, OverflowError):
        share = 0.0
    if not 0.0 < share <= 1.0:
        raise ValueError(f"{text.strip()!r} is no share of the instances: write one such as 1/16")
    return share


def _usual(problem: Problem) -> str:
    """Return the legs of ``auto``: the first solver that fits, on samples that grow, then on all."""
    usual = next(id for id in fitting(problem) if id != Relay.id)
    here = not isinstance(problem.design, ShardedDesign)
    some = [s for s in SHARES if here and float(Fraction(s)) * problem.loss.n_instances >= LEAST]
    return " then ".join([*(f"{usual} of {s} until iteration >= {ITERATIONS}" for s in some), usual])
