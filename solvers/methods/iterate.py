"""The iterate that a solver yields after every outer iteration."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from types import MappingProxyType
from typing import Any

import numpy as np

from ..curvature.memory import PairMemory
from ..linalg.working_set import WorkingSet
from ..problems.point import Point
from ..search.outcome import SearchResult
from .iterate_record import MAX_OWN_FIELDS, OWN_NAME, Field, count, declared, number, word, words

NAN = float("nan")
NO_REFERENCES: Mapping[str, Any] = MappingProxyType({})


class LiveReferences(dict[str, str]):
    """Descriptions of the live references of iterates, by name.

    Probes of this package read these references. A solver may add others for its own probes.
    """

    def __init__(self, **described: str) -> None:
        super().__init__(described)
        listed = "".join(f"{name}\n    {text}.\n" for name, text in described.items())
        self.__doc__ = f"{inspect.getdoc(type(self))}\n\nAttributes\n----------\n{listed}"


LIVE = LiveReferences(
    point="Point at w, with the quantities that the solver has computed there",
    active="WorkingSet of the weights that could move; absent for solvers without one",
    selection="Selection: the blocks proved to be zero, and those left out by a heuristic",
    variables="working set of variables other than weights; `of` names them",
    gradient="gradient of the smooth part, one entry per member of the working set",
    prox_from="weights or Point y with w = prox(y - t∇F(y), t), t the step: of FISTA this y, not the next",
    memory="PairMemory, or a list of its pairs (s, y), the oldest first",
    line="Search, the log of the search that led here, of many the longest",
    cuts="Cuts: the cutting planes, and their weights α at the last minimum of the model",
    dual="function that returns a point of Fenchel's dual, for a lower bound of f*",
    direction="Direction of the next step, with the subgradients that it combines",
    inverse="Inverse: the estimate B of the inverse Hessian, as an operator or a function of v",
    clustering="Clusters of the weights in this phase, or the newest ones",
    executed_lines="lines of the plug-in's file that led here, if the trace follows them",
    shrinking="ShrinkTest: the weights tested and their bound, or a function of w that returns it",
)


@dataclass(slots=True)
class Iterate:
    """One iterate: the fields of its record, and live references into the solver's state.

    A solver leaves out fields that it does not compute anyway. The :class:`solvers.Run` that advances it adds
    times and passes. It also computes a missing objective and sparsity, off the solver's clock. Other missing
    fields are null.

    Attributes
    ----------
    w : array of shape (d,) or None
        The weights.
    live : mapping
        References by name; :data:`LIVE` lists the common ones. ``iterate.line`` is short for
        ``iterate.live.get("line")``.
    own : mapping
        Additional fields of the record, for this solver: numbers or booleans, by name.

    Notes
    -----
    ``w`` and live references are valid until the generator is advanced again. An observer must copy arrays
    that it stores. It must only read values of the point that are already computed. Otherwise the solver
    would find them computed, at no cost on its own clock.

    Examples
    --------
    >>> from solverscope import datasets, solvers
    >>> problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam=0.1)
    >>> for it in solvers.make_solver("prox-qn").iterate(problem):
    ...     if it.iteration == 2:
    ...         break
    >>> it.w.shape, it.line.trials[0][0]
    ((30,), 1.0)
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
    working_set: int = count("size of the working set", "working set")
    returned: int = count("weights returned that shrinking had missed", "weights returned")
    step: float = number("accepted step t", "step t")
    ls_trials: int = count("trials of the line search", "trials")
    ls_kind: str | None = word("kind of line search")
    memory_pairs: int = count("L-BFGS pairs held", "pairs held")
    gamma: float = number("scaling γ of the first matrix B₀", "scaling γ")
    curvature: float = number("curvature sᵀy of the newest pair", "curvature sᵀy")
    inner_iterations: int = count("inner iterations")
    qp_iterations: int = count("iterations of quadratic programs", "QP iterations")
    clusters: int = count("clusters")
    crossovers: int = count("weights that changed cluster", "crossovers")
    dual_gap: float = number("proved bound of f − f*", "proved bound")
    events: tuple[str, ...] = words("events")

    w: np.ndarray | None = field(default=None, repr=False)
    live: Mapping[str, Any] = field(default_factory=dict, repr=False)
    own: Mapping[str, float] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        hidden = self.live.keys() & OWN_ATTRIBUTES
        if hidden:
            raise ValueError(f"the live reference {min(hidden)!r} has the name of a field: give it another")

    @classmethod
    def at(
        cls,
        point: Point,
        iteration: int,
        *,
        active: WorkingSet | None = None,
        found: SearchResult | None = None,
        memory: PairMemory | Sequence[tuple[np.ndarray, np.ndarray]] | None = None,
        events: tuple[str, ...] = (),
        live: Mapping[str, Any] = NO_REFERENCES,
        own: Mapping[str, float] = NO_REFERENCES,
        **known: Any,
    ) -> Iterate:
        """Return the iterate at a point.

        Parameters
        ----------
        point : Point
            The point, with the objective, its two parts and the sparsity.
        iteration : int
            The index of the iterate.
        active : WorkingSet, optional
            The weights that could move in the step; by default all.
        found : SearchResult, optional
            The result of the search that led here, with the step.
        memory : PairMemory or sequence of (s, y), optional
            The L-BFGS pairs, the oldest first; equivalent to ``live={"memory": pairs}``.
        events : tuple of str
            Events of the iteration, in short words.
        live
            Further live references by name.
        own
            Additional fields of the record, such as ``own={"trust_radius": 0.5}``.
        known
            Further fields of the record, which override those from the other arguments.
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
        if isinstance(pairs := seen["memory"], PairMemory | Sequence):
            record["memory_pairs"] = len(pairs)
        if found is not None:
            record |= {"step": found.t, "ls_trials": found.trials, "ls_kind": found.kind}
            seen["line"] = found.search
            events = ("backtracked", *events) if found.backtracked else events
        there = {name: reference for name, reference in seen.items() if reference is not None}
        return cls(iteration, w=point.w, events=events, live=there, own=own, **(record | known))

    def __getattr__(self, name: str) -> Any:
        if name != "live" and (name in self.live or name in LIVE):
            return self.live.get(name)
        raise AttributeError(
            f"an iterate has no {name!r}: it has the record's fields, w, and the references in live"
        )

    def record(self) -> dict[str, Any]:
        """Return the fields of the record by name."""
        return {**{name: getattr(self, name) for name in FIELDS}, **self.own}


#: The fields of the record, in the contract's order.
FIELDS: dict[str, Field] = declared(Iterate)
#: Names of the attributes of an iterate.
OWN_ATTRIBUTES = frozenset(field.name for field in fields(Iterate))
#: Names that files and tables use for something else.
TAKEN_NAMES = {
    *(*OWN_ATTRIBUTES, *LIVE, "type", "label", "solver", "lam", "prev", "run", "dataset", "problem"),
    *("loss_id", "penalty_id"),
}


def checked_own(own: Mapping[str, Any]) -> dict[str, float]:
    """Return the values of additional fields as floats; raise ValueError for an invalid name or value."""
    if not isinstance(own, Mapping) or len(own) > MAX_OWN_FIELDS:
        raise ValueError(f"own fields are a mapping of at most {MAX_OWN_FIELDS} names to numbers")
    found = {}
    for name, value in own.items():
        if not is_own_name(name):
            raise ValueError(
                f"{str(name)[:40]!r} cannot be a field of its own: take another name of at most 40 letters, "
                "digits and _"
            )
        try:
            found[name] = float(value)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{name} is a {type(value).__name__}: give a number, true or false") from None
    return found


def is_own_name(name: object) -> bool:
    """Return whether an additional field of the record may have this name."""
    return isinstance(name, str) and bool(OWN_NAME.fullmatch(name)) and name not in TAKEN_NAMES


@dataclass(frozen=True)
class Ending:
    """Return value of a solver's generator: the reason why it ended.

    Attributes
    ----------
    status : str
        ``converged``, ``max-iter``, ``max-seconds``, ``stalled``, ``unbounded``, ``stopped`` or ``failed``.
        A run changes it to ``disputed`` if its own measurements contradict the solver.
    message : str
        The reason in words.
    """

    status: str
    message: str = ""
