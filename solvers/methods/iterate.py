"""The iterate that a solver yields after every outer iteration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from .record import Field, count, declared, number, word, words

if TYPE_CHECKING:
    from ..parts.linesearch import Found
    from ..parts.memory import PairMemory
    from ..problems.point import Point
    from ..problems.working_set import WorkingSet

NAN = float("nan")
NONE: Mapping[str, Any] = MappingProxyType({})

#: Names of live references that the probes here know. A solver may give others, for probes of its own.
LIVE = {
    "point": "Point at w, with what the solver has computed there",
    "active": "WorkingSet that the weights were confined to; left out by solvers that have none",
    "variables": "set of variables that the solver kept to, where they are not the weights: `of` says what",
    "gradient": "gradient of the smooth part, an entry a member of the working set",
    "memory": "PairMemory: the pairs (s, y)",
    "line": "Search that led here, or of many the longest",
    "cuts": "Cuts: the cutting planes, and the weights α of the last minimum of their model",
    "bound": "lower bound of f*, from which a run that computes the objective has the dual gap",
    "direction": "Direction found here, along which the next step goes: the subgradients it was made of",
    "inverse": "Inverse: the estimate of the inverse Hessian, by its products",
    "clusters": "Clusters of the weights that this phase goes by, or that were made last",
    "shrinking": "ShrinkTest: which weights were tested, and the bound they were held against",
}


@dataclass(slots=True)
class Iterate:
    """One iterate: the record's fields, in their order, and live references into the solver's state.

    A solver leaves out what it does not know for free. The :class:`Run` that advances it fills in times and
    passes and, off the clock, an objective and a sparsity that are missing; other missing fields are null.

    ``w`` and the references in ``live``, by name (:data:`LIVE` lists the usual ones), are valid until the
    generator is advanced again: an observer copies what it wants to keep, and never asks the point for a
    quantity it has not computed yet, which would give it to the solver for nothing. A reference can be read
    as an attribute as well: ``iterate.line`` is ``iterate.live.get("line")``.
    """

    iteration: int = count("iteration", "iterations", required=True)
    _: KW_ONLY
    epoch: int = count("shrinking epoch")
    phase: str | None = word("phase")
    cpu_seconds: float = number("CPU time of the run", "CPU", unit="s")
    wall_seconds: float = number("wall time of the run", "wall", unit="s")
    passes: float = number("passes over the data")
    objective: float = number("objective f")
    loss: float = number("loss part L of the objective")
    penalty: float = number("penalty part λR of the objective")
    violation: float = number("violation of optimality")
    nnz: int = count("non-zero weights", "non-zeros")
    nnz_rows: int = count("features with a non-zero weight", "rows")
    working_set: int = count("weights the solver works on")
    returned: int = count("variables back that shrinking had missed", "variables back")
    step: float = number("accepted step t", "step t")
    ls_trials: int = count("trials of the line search", "trials")
    ls_kind: str | None = word("kind of line search")
    memory_pairs: int = count("L-BFGS pairs held", "pairs held")
    gamma: float = number("scaling γ of the first matrix B₀", "scaling γ")
    curvature: float = number("curvature sᵀy of the newest pair", "curvature sᵀy")
    inner_iterations: int = count("inner iterations")
    clusters: int = count("clusters")
    crossovers: int = count("weights that changed cluster", "crossovers")
    dual_gap: float = number("dual gap")
    events: tuple[str, ...] = words("events")

    w: np.ndarray | None = field(default=None, repr=False)
    live: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def at(
        cls,
        point: Point,
        iteration: int,
        *,
        active: WorkingSet | None = None,
        found: Found | None = None,
        memory: PairMemory | None = None,
        events: tuple[str, ...] = (),
        live: Mapping[str, Any] = NONE,
        **known: Any,
    ) -> Iterate:
        """Make the iterate at ``point``: objective, its two parts and sparsity are taken from there, the step
        from what the search ``found``, the number of pairs from ``memory``.

        ``active`` is the working set the weights were confined to (None: all of them). ``live`` are further
        references, ``known`` further fields of the record, which go before what is taken from elsewhere.
        """
        nnz, nnz_rows = point.sparsity()
        record = {
            "objective": point.objective,
            "loss": point.loss,
            "penalty": point.penalty,
            "nnz": nnz,
            "nnz_rows": nnz_rows,
            "working_set": point.problem.size if active is None else len(active),
        }
        seen = {"point": point, "active": active, "memory": memory, **live}
        if memory is not None:
            record["memory_pairs"] = len(memory)
        if found is not None:
            record |= {"step": found.t, "ls_trials": found.trials, "ls_kind": found.kind}
            seen["line"] = found.search
            events = ("backtracked", *events) if found.backtracked else events
        there = {name: reference for name, reference in seen.items() if reference is not None}
        return cls(iteration, w=point.w, events=events, live=there, **(record | known))

    def __getattr__(self, name: str) -> Any:
        if name != "live" and (name in self.live or name in LIVE):
            return self.live.get(name)
        raise AttributeError(f"an iterate has no {name!r}: it has the record's fields, w and what is in live")

    def record(self) -> dict[str, Any]:
        """Return the record's fields by name."""
        return {name: getattr(self, name) for name in FIELDS}


#: The fields of the record, in the contract's order.
FIELDS: dict[str, Field] = declared(Iterate)


@dataclass(frozen=True)
class Ending:
    """Return value of a solver's generator: why it ended, with ``status`` one of the words of a result."""

    status: str
    message: str = ""
