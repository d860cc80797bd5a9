"""Relays: one solver after another on the same problem, each from the weights of the one before."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from .declare import Form, param, random_seed
from .methods.baton import ITERATIONS, Baton, growing_shares
from .methods.iterate import Ending, Iterate
from .methods.solver import Solver
from .methods.usual import tol_param
from .problems.certificates.optimality import Knows
from .problems.problem import Problem
from .problems.shards.sharded import ShardedDesign
from .registry import SOLVERS, accepts, make_solver, register, why_not_solver_on
from .runs.breakpoints import Condition, Watch

#: Fields that a rule cannot read: with them a replay would hand over elsewhere.
CLOCKS = {"cpu_seconds", "wall_seconds"}
#: Fields that are computed for a rule where a solver does not know them.
COMPUTED = {"objective", "loss", "penalty", "nnz", "nnz_rows"}
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
        params = {name: value for name, _, value in (each.partition("=") for each in assigned)}
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


#: Rules of the short form, and what they stand for.
SHORT = {"passes": "passes", "iterations": "iteration"}


def legs_joined(parts: Sequence[str]) -> str:
    """Return the legs of a relay that is written as solvers joined by +.

    Parameters
    ----------
    parts : sequence of str
        Each ``ID[,name=value,...]``; all but the last have ``passes=N``, ``iterations=N`` or
        ``until=CONDITION`` as well, after which they hand over, and maybe ``of=SHARE``.

    Returns
    -------
    str
        As :func:`legs_of` reads it.

    Raises
    ------
    ValueError
        If one has two rules, or one of the first ones has none.

    Examples
    --------
    >>> from solverscope import solvers
    >>> solvers.legs_joined(["sgd-l1,passes=2", "prox-qn"])
    'sgd-l1 until passes >= 2 then prox-qn'
    """
    legs = []
    for n, part in enumerate(parts, 1):
        id, *assigned = part.split(",")
        rules = [each for each in assigned if each.partition("=")[0] in (*SHORT, "until")]
        shares = [each for each in assigned if each.startswith("of=")]
        if len(rules) > 1:
            raise ValueError(f"{part} hands over by two rules: keep one of {' and '.join(rules)}")
        if n < len(parts) and not rules:
            raise ValueError(f"{id} never hands over: write {id},passes=2+... or {id},iterations=15+...")
        leg = ",".join([id, *(each for each in assigned if each not in (*rules, *shares))])
        leg += "".join(f" of {share.partition('=')[2]}" for share in shares)
        for name, _, value in (rule.partition("=") for rule in rules):
            leg += f" until {value}" if name == "until" else f" until {SHORT[name]} >= {value}"
        legs.append(leg)
    return " then ".join(legs)


def legs_apart(text: str) -> str:
    """Return the legs of a relay as solvers joined by +: the inverse of :func:`legs_joined`.

    Parameters
    ----------
    text : str
        Legs as :func:`legs_of` reads them.

    Returns
    -------
    str
        Such as ``sgd-l1,passes=2+prox-qn``.
    """
    parts = []
    for leg in text.split(" then "):
        head, _, rule = leg.partition(" until ")
        named, _, share = head.partition(" of ")
        short = re.fullmatch(r"(passes|iteration) >= (\S+)", rule)
        words = {of: name for name, of in SHORT.items()}
        said = f"{words[short[1]]}={short[2]}" if short else "until=" + re.sub(r"\+(?=[a-z])", "+ ", rule)
        parts.append(named.strip() + (f",of={share.strip()}" if share else "") + (f",{said}" if rule else ""))
    return "+".join(parts)


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
        ending, baton = None, Baton(w0)
        for leg in self.chosen(problem):
            part = problem if leg.share == 1.0 else problem.sample(leg.share, self.seed)
            iterates, goes_on = leg.advance(part, baton.w), leg.until is not None
            ending = yield from baton.carried(leg.name, iterates, problem, part, goes_on=goes_on)
            if ending is not None and ending.status in ("failed", "unbounded"):
                break
        return ending


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
    """Return the legs of ``auto``: the first solver that fits, on samples that grow, then on all; where all
    refuse the problem, the first that is for its loss and penalty, which says why."""
    able = [id for id in SOLVERS if id != Relay.id and why_not_solver_on(id, problem) is None]
    usual = next((id for id in able if accepts(id, problem)), able[0])
    here = not isinstance(problem.design, ShardedDesign)
    some = growing_shares(problem.loss.n_instances) if here else []
    return " then ".join([*(f"{usual} of {s} until iteration >= {ITERATIONS}" for s in some), usual])
