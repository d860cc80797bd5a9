"""Warm-ups of Prox-QN: a pass of FTRL-Proximal, or iterations on samples of the instances."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from ...declare import Trait
from ...problems.problem import Problem
from ...problems.shards.sharded import ShardedDesign
from ..handover import SAMPLE_ITERATIONS, Handover, growing_shares
from ..iterate import Iterate
from ..solver import Solver
from ..stochastic.ftrl import FTRL

#: Weights and sequences from which on a pass of FTRL-Proximal comes first.
START_SIZE, START_INSTANCES = 10_000, 2_000
#: Number of weights above which the first iteration is not done on all of them.
HUGE = 10_000_000


@dataclass(frozen=True)
class WarmUp:
    """The result of a warm-up: the weights, the index of their iterate, and the number of epochs so far.

    ``warm_up`` is the id of the solver that ran, None without a warm-up; ``shown`` is whether the iterate has
    been yielded.
    """

    w: np.ndarray | None
    iteration: int
    epochs: int
    warm_up: str | None
    shown: bool


def chosen_start(solver: Any, problem: Problem) -> str:
    """Return the kind of warm-up of a run from w = 0: "none", "samples" or "sgd"."""
    if solver.start != "auto":
        return solver.start
    chains = why_no_start("sgd", problem) is None and problem.loss.n_tail > 0
    large = START_SIZE <= problem.size <= HUGE and problem.loss.n_instances >= START_INSTANCES
    return "sgd" if chains and large else "none"


def why_no_start(start: str, problem: Problem) -> str | None:
    """Return why this warm-up is impossible on a problem, as a sentence; return None if it is possible."""
    if start == "sgd" and Trait.INSTANCE_KERNELS not in problem.loss.traits:
        return "start=sgd needs a loss with compiled kernels for single instances: choose start=none"
    if start == "samples" and isinstance(problem.design, ShardedDesign):
        return "start=samples needs the rows on this machine, and these are on shards: choose start=none"
    return None


def _legs(solver: Any, problem: Problem) -> list[tuple[str, Solver, float, int]]:
    """Return the solvers of the warm-up in order: name, solver, fraction of the instances, iterations."""
    start = chosen_start(solver, problem)
    if start == "sgd":
        return [(FTRL.id, FTRL(seed=solver.seed), 1.0, 1)]
    if start == "samples":
        here = replace(solver, start="none")
        shares = growing_shares(problem.loss.n_instances)
        return [(f"{solver.id} of {share}", here, float(share), SAMPLE_ITERATIONS) for share in shares]
    return []


def warm_up(solver: Any, problem: Problem, w0: np.ndarray | None) -> Generator[Iterate, None, WarmUp]:
    """Yield the iterates of the warm-up except the last, and return the state that it hands over.

    The ``solver`` is :class:`.prox_qn.ProxQN`. ``start=sgd`` makes a pass of :class:`.ftrl.FTRL`. Its weights
    are iterate 1, nearly as sparse as those of the optimum, and the first working set is shrunk at once.
    ``start=samples`` makes 15 iterations on a sixteenth of the instances, then 15 on a quarter. ``auto``
    makes the pass for at least ``START_INSTANCES`` sequences with ``START_SIZE`` weights. There it costs
    little more than one evaluation of the loss; with losses of single rows it gains next to nothing. Given
    weights to start from, there is no warm-up.
    """
    legs = _legs(solver, problem) if w0 is None else []
    handover, last, shown = Handover(w0), sum(iterations for *_, iterations in legs), -1
    for name, other, share, iterations in legs:
        part = problem if share == 1.0 else problem.sample(share, solver.seed)
        some = islice(other.iterate(part, handover.w), iterations + 1)
        for iterate in handover.iterates(name, some, problem, part, followed=True):
            if iterate.iteration < last:
                yield iterate
                shown = iterate.iteration
    name = legs[-1][0] if legs else None
    return WarmUp(handover.w, handover.iteration, handover.epochs, name, handover.iteration <= shown)
