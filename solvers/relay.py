"""Relays: several solvers one after another on a problem, each started from the weights of its
predecessor."""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from .compatibility import accepts, why_not_solver_on
from .declare import Form, param, random_seed
from .methods.common_params import tol_param
from .methods.handover import SAMPLE_ITERATIONS, Handover, growing_shares
from .methods.iterate import Ending, Iterate
from .methods.solver import Solver
from .problems.certificates.optimality import Knows
from .problems.problem import Problem
from .problems.shards.sharded import ShardedDesign
from .registry import SOLVERS, make_solver, register
from .runs.breakpoints import BreakpointWatch, Condition

#: Fields that a rule cannot read, since a replay would hand over at another iterate.
CLOCK_FIELDS = {"cpu_seconds", "wall_seconds"}
#: Fields that are computed for a rule if a solver does not know them.
COMPUTED_FIELDS = {"objective", "loss", "penalty", "nnz", "nnz_rows"}
EXAMPLE_LEGS = "sgd-l1 until passes >= 2 then prox-qn"


@dataclass(frozen=True)
class Leg:
    """A part of a relay: one solver, and the condition at which it hands over.

    Attributes
    ----------
    name : str
        The phase of its iterates: solver and sample.
    solver : Solver
        The solver that advances the weights.
    share : float
        Fraction of the instances. If it is below 1, the leg solves the problem on a random sample.
    until : Condition or None
        Condition on the record of an iterate at which the leg hands over; iterations and passes are counted
        from the start of the leg. None for the last leg.
    """

    name: str
    solver: Solver
    share: float
    until: Condition | None

    @classmethod
    def parse(cls, text: str) -> Leg:
        """Return the leg written as ``ID[,name=value,...] [of SHARE] [until CONDITION]``.

        Raises ValueError if the string is invalid.
        """
        head, _, rule = text.partition(" until ")
        named, _, share = head.partition(" of ")
        id, *assigned = named.strip().split(",")
        params = {name: value for name, _, value in (each.partition("=") for each in assigned)}
        if id == Relay.id:
            raise ValueError("a relay cannot be a leg of a relay: name another solver")
        until = Condition.parse(rule) if rule else None
        if until is not None and until.fields & CLOCK_FIELDS:
            raise ValueError(
                f"{rule!r} depends on the clock, and a relay is replayed: use passes or iterations"
            )
        name = f"{id} of {share.strip()}" if share else id
        return cls(name, make_solver(id, **params), _share(share), until)

    def advance(self, part: Problem, w0: np.ndarray | None) -> Generator[Iterate, None, Ending | None]:
        """Yield the leg's own iterates on ``part``, up to that at which it hands over.

        Return the solver's ending if it ends before, else None.
        """
        solver, watch = self.solver.prepare(part), BreakpointWatch([] if self.until is None else [self.until])
        before = part.passes  # tuning is on the clock, but the rule does not count it
        with closing(solver.iterate(part, w0)) as iterates:
            while True:
                try:
                    iterate = next(iterates)
                except StopIteration as stop:
                    return stop.value
                over = watch.hit(self._record_for_rule(iterate, part, before))
                yield iterate
                if over is not None:
                    return None

    def _record_for_rule(self, iterate: Iterate, part: Problem, before: float) -> Iterate:
        """Return the record on which the condition is evaluated; compute the objective if it needs that."""
        record = replace(iterate, passes=part.passes - before)
        wanted = self.until is not None and bool(self.until.fields & COMPUTED_FIELDS)
        if wanted and math.isnan(record.objective):
            point = part.at(iterate.w)
            record.objective, record.loss, record.penalty = point.objective, point.loss, point.penalty
            record.nnz, record.nnz_rows = point.sparsity()
        return record


def parse_legs(text: str) -> list[Leg]:
    """Return the legs of a relay.

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
        If the string is invalid, if a leg other than the last has no condition, or if the last one has a
        condition or a fraction.
    """
    legs = [Leg.parse(part) for part in text.split(" then ")]
    for leg in legs[:-1]:
        if leg.until is None:
            raise ValueError(
                f"{leg.solver.id} never hands over: write {leg.solver.id} until iteration >= 15 then ..."
            )
    if legs[-1].until is not None or legs[-1].share < 1.0:
        raise ValueError("the last leg runs to the end on all instances: leave out its share and its rule")
    return legs


#: Fields that the rules of the short form refer to.
SHORT_RULES = {"passes": "passes", "iterations": "iteration"}


def expand_legs(parts: Sequence[str]) -> str:
    """Return the full form of the legs of a relay, from its short form of solvers joined by +.

    Parameters
    ----------
    parts : sequence of str
        Each ``ID[,name=value,...]``. All except the last also have the rule for handing over,
        ``passes=N``, ``iterations=N`` or ``until=CONDITION``; ``of=SHARE`` is optional.

    Returns
    -------
    str
        The legs in the form that :func:`parse_legs` reads.

    Raises
    ------
    ValueError
        If a part has two rules, or a part other than the last has none.

    Examples
    --------
    >>> from solverscope import solvers
    >>> solvers.expand_legs(["sgd-l1,passes=2", "prox-qn"])
    'sgd-l1 until passes >= 2 then prox-qn'
    """
    legs = []
    for n, part in enumerate(parts, 1):
        id, *assigned = part.split(",")
        rules = [each for each in assigned if each.partition("=")[0] in (*SHORT_RULES, "until")]
        shares = [each for each in assigned if each.startswith("of=")]
        if len(rules) > 1:
            raise ValueError(f"{part} hands over by two rules: keep one of {' and '.join(rules)}")
        if n < len(parts) and not rules:
            raise ValueError(f"{id} never hands over: write {id},passes=2+... or {id},iterations=15+...")
        leg = ",".join([id, *(each for each in assigned if each not in (*rules, *shares))])
        leg += "".join(f" of {share.partition('=')[2]}" for share in shares)
        for name, _, value in (rule.partition("=") for rule in rules):
            leg += f" until {value}" if name == "until" else f" until {SHORT_RULES[name]} >= {value}"
        legs.append(leg)
    return " then ".join(legs)


def shorten_legs(text: str) -> str:
    """Return the short form of the legs of a relay, solvers joined by +: the inverse of :func:`expand_legs`.

    Parameters
    ----------
    text : str
        Legs as :func:`parse_legs` reads them.

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
        words = {of: name for name, of in SHORT_RULES.items()}
        said = f"{words[short[1]]}={short[2]}" if short else "until=" + re.sub(r"\+(?=[a-z])", "+ ", rule)
        parts.append(named.strip() + (f",of={share.strip()}" if share else "") + (f",{said}" if rule else ""))
    return "+".join(parts)


@register
@dataclass(frozen=True)
class Relay(Solver):
    """Several solvers one after another: each starts from the weights of its predecessor.

    A rule decides when a solver hands over. All work of a leg is on the clock, including drawing a sample and
    tuning a step. Iterates of a leg on a
    sample have the objective of the full problem, computed off the clock. Passes count the entries touched,
    relative to all of X. Iterations are numbered consecutively, and the phase of each is its leg.
    """

    id = "relay"
    name = "Relay"
    summary = "solvers in turn, each started from the weights of its predecessor"
    knows = Knows(violation=False, dual_gap=False)

    legs: str = param(
        "auto",
        f"solvers and when they hand over, such as {EXAMPLE_LEGS}; auto: samples first, then all",
        form=Form(str, f"auto, or solvers in turn such as {EXAMPLE_LEGS}"),
        title="legs",
    )
    tol: float = tol_param()
    seed: int = random_seed("seed of the samples")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.legs != "auto":
            parse_legs(self.legs)

    def chosen(self, problem: Problem) -> list[Leg]:
        """Return the legs for a problem, the last one with the relay's tolerance."""
        legs = parse_legs(_default_legs(problem) if self.legs == "auto" else self.legs)
        return [*legs[:-1], replace(legs[-1], solver=legs[-1].solver.with_tol(self.tol))]

    def refuses(self, problem: Problem) -> str | None:
        for leg in self.chosen(problem):
            if reason := why_not_solver_on(leg.solver.id, problem):
                return f"{leg.solver.id} {reason}"
            if leg.share < 1.0 and isinstance(problem.design, ShardedDesign):
                return (
                    f"{leg.name} needs the rows on this machine, but they are on shards: leave the share out"
                )
            if reason := leg.solver.refuses(problem):
                return reason
        return None

    def iterate(
        self, problem: Problem, w0: np.ndarray | None = None
    ) -> Generator[Iterate, None, Ending | None]:
        ending, handover = None, Handover(w0)
        for leg in self.chosen(problem):
            part = problem if leg.share == 1.0 else problem.sample(leg.share, self.seed)
            iterates, followed = leg.advance(part, handover.w), leg.until is not None
            ending = yield from handover.iterates(leg.name, iterates, problem, part, followed=followed)
            if ending is not None and ending.status in ("failed", "unbounded"):
                break
        return ending


def _share(text: str) -> float:
    """Return the fraction written as 1/16 or 0.25, 1 for an empty string; raise ValueError if invalid."""
    try:
        share = float(Fraction(text.strip() or "1"))
    except (ValueError, ZeroDivisionError, OverflowError):
        share = 0.0
    if not 0.0 < share <= 1.0:
        raise ValueError(f"{text.strip()!r} is not a share of the instances: write one such as 1/16")
    return share


def _default_legs(problem: Problem) -> str:
    """Return the legs of ``auto``: one solver on growing samples, then on all instances.

    It is the first solver that accepts the problem. If none does, it is the first for the loss and penalty,
    which reports why.
    """
    able = [id for id in SOLVERS if id != Relay.id and why_not_solver_on(id, problem) is None]
    default = next((id for id in able if accepts(id, problem)), able[0])
    here = not isinstance(problem.design, ShardedDesign)
    shares = growing_shares(problem.loss.n_instances) if here else []
    samples = [f"{default} of {share} until iteration >= {SAMPLE_ITERATIONS}" for share in shares]
    return " then ".join([*samples, default])
