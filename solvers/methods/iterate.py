"""What a solver yields after every outer iteration."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..parts.linesearch import Search
    from ..parts.memory import PairMemory
    from ..problems.problem import Point
    from ..problems.working_set import WorkingSet

NAN = float("nan")


@dataclass(frozen=True, slots=True)
class ShrinkTest:
    """Who stays in a working set: members of ``asked`` with w_j ≠ 0 or |g_j| > ``bound``.

    ``gradient`` holds g on ``asked``; the bound tends to ``l1``, the strength of ‖w‖₁. ``largest`` is the
    largest violation M among those who stay; the working set is done when that is at most ``target``.
    ``returned`` lists the weights that are not zero although they were outside the working set when the epoch
    before ended.
    """

    asked: WorkingSet
    gradient: np.ndarray
    l1: float
    bound: float
    largest: float
    target: float
    returned: np.ndarray


@dataclass(slots=True)
class Iterate:
    """One iterate: the record's fields, and live references into the solver's state.

    A number the solver does not know for free is ``nan`` (or -1 for a count): the recorder writes null, but
    for the objective and the sparsity, which it then computes itself at ``w``, off the clock.
    The fields are those of the public record; times and passes are added by whoever advances the solver.
    The live references (``point``, ``active``, ``gradient``, ``memory``, ``line``, ``shrinking``) are valid
    until the generator is advanced again: an observer copies what it wants to keep, and never asks ``point``
    for a quantity it has not computed yet, which would give it to the solver for nothing.
    """

    iteration: int
    objective: float = NAN
    loss: float = NAN
    penalty: float = NAN
    violation: float = NAN
    nnz: int = -1
    nnz_rows: int = -1
    working_set: int = -1
    returned: int = -1
    epoch: int = -1
    phase: str | None = None
    step: float = NAN
    ls_trials: int = -1
    ls_kind: str | None = None
    memory_pairs: int = -1
    gamma: float = NAN
    curvature: float = NAN
    inner_iterations: int = -1
    clusters: int = -1
    crossovers: int = -1
    dual_gap: float = NAN
    events: tuple[str, ...] = ()

    w: np.ndarray | None = field(default=None, repr=False)
    point: Point | None = field(default=None, repr=False)
    active: WorkingSet | None = field(default=None, repr=False)
    gradient: np.ndarray | None = field(default=None, repr=False)
    memory: PairMemory | None = field(default=None, repr=False)
    line: Search | None = field(default=None, repr=False)
    shrinking: ShrinkTest | None = field(default=None, repr=False)

    @classmethod
    def at(cls, point: Point, iteration: int, *, active: WorkingSet | None = None, **known: Any) -> Iterate:
        """The iterate at ``point``: objective, its two parts and the sparsity are taken from there.

        ``active`` is the working set the weights were confined to (None: all of them).
        """
        nnz, nnz_rows = point.sparsity()
        known.setdefault("working_set", point.problem.size if active is None else len(active))
        return cls(
            iteration=iteration,
            objective=point.objective,
            loss=point.loss,
            penalty=point.penalty,
            nnz=nnz,
            nnz_rows=nnz_rows,
            w=point.w,
            point=point,
            active=active,
            **known,
        )


LIVE = ("w", "point", "active", "gradient", "memory", "line", "shrinking")
#: Fields of the record that a solver fills in, in the contract's order; the clock's come on top.
FIELDS: dict[str, type] = {
    "iteration": int,
    "epoch": int,
    "phase": str,
    "cpu_seconds": float,
    "wall_seconds": float,
    "passes": float,
    "objective": float,
    "loss": float,
    "penalty": float,
    "violation": float,
    "nnz": int,
    "nnz_rows": int,
    "working_set": int,
    "returned": int,
    "step": float,
    "ls_trials": int,
    "ls_kind": str,
    "memory_pairs": int,
    "gamma": float,
    "curvature": float,
    "inner_iterations": int,
    "clusters": int,
    "crossovers": int,
    "dual_gap": float,
    "events": tuple,
}
KNOWN_TO_SOLVER = tuple(f.name for f in fields(Iterate) if f.name not in LIVE)


@dataclass(frozen=True)
class Ending:
    """Why a generator ended: its return value. ``status`` is one of the contract's words."""

    status: str
    message: str = ""
