"""Branches: runs that continue from an iterate of another run, which is replayed up to that iterate.

Iterates are reproducible, so that no state of a solver has to be stored: the old run is replayed with its
seed and hyper-parameters. With the same solver and λ the generator then continues, and yields the iterates of
the old run bit for bit. Another solver, or the same one at another λ, starts from the weights there.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import chain, pairwise
from typing import Any

from ..methods.handover import Handover
from ..methods.iterate import Ending, Iterate
from ..methods.solver import Solver
from ..problems.problem import Problem
from ..registry import make_solver
from ..traces.segments import mark, segments
from ..traces.trace import Trace

#: The type of a solver's generator.
Iterates = Generator[Iterate, None, Ending | None]


class Diverged(Exception):
    """Raised if a replay does not reproduce the run; the message names the first iterate that differs."""


@dataclass(frozen=True)
class Origin:
    """The iterate of a run from which a branch continues; :func:`origin_of` returns one.

    Attributes
    ----------
    label : str
        The label of the run.
    solver : Solver
        The solver, with the hyper-parameters that the run had.
    iteration : int
        The index of the iterate.
    seconds : (float, float)
        The run's CPU and wall seconds at this iterate.
    objectives : mapping
        f by iteration, as recorded up to this iterate: the replay must reproduce these values.
    before : Origin or None
        The run's own origin, if it is a branch itself, or if its λ was changed during the run.
    lam : float or None
        λ of the run from ``before`` on; None for that of the branch's problem.
    """

    label: str
    solver: Solver
    iteration: int
    seconds: tuple[float, float]
    objectives: Mapping[int, float]
    before: Origin | None = None
    lam: float | None = None

    def describe(self) -> dict[str, Any]:
        """Return the record of the origin in a trace of the branch, with everything that a replay needs."""
        about = {
            "label": self.label,
            "solver": self.solver.id,
            "params": asdict(self.solver),
            "iteration": self.iteration,
            "objective": self.objectives.get(self.iteration),
            "cpu_seconds": self.seconds[0],
            "wall_seconds": self.seconds[1],
        }
        about |= {} if self.lam is None else {"lam": self.lam}
        return about if self.before is None else about | {"from": self.before.describe()}

    def sentence(self, solver: Solver) -> str:
        """Return a sentence about the branch: which solver continues, and how long the replay takes."""
        then = "goes on" if solver == self.solver else f"{solver.id} starts from the weights there"
        return (
            f"{self.label} is replayed up to iteration {self.iteration}, some {self.seconds[0]:.2g} CPU s, "
            f"and {then}"
        )

    def check(self, iterate: Iterate) -> None:
        """Raise :class:`Diverged` if an iterate of the replay has another objective than the recorded one."""
        recorded = self.objectives.get(iterate.iteration, math.nan)
        if iterate.objective != recorded and not math.isnan(iterate.objective) and not math.isnan(recorded):
            raise Diverged(
                f"the replay is not {self.label}: at iteration {iterate.iteration} f is "
                f"{iterate.objective!r}, and {recorded!r} was recorded; the data, the program or the machine "
                "are not the same"
            )


def origin_of(trace: Trace, iteration: int) -> Origin:
    """Return the origin of a branch at an iterate of a run, for ``solvers.Run(..., origin=)``.

    Parameters
    ----------
    trace : Trace
        The run.
    iteration : int
        The index of a recorded iterate.

    Returns
    -------
    Origin

    Raises
    ------
    ValueError
        If the run cannot be replayed to this iterate.
    """
    label = trace.info.label
    if trace.info.warm:
        raise ValueError(f"{label} did not start where its problem does: a run like that is not replayed")
    rows, _, _ = trace.since(None)
    known = rows["iteration"]
    if not len(known):
        raise ValueError(f"{label} has no iterate yet: wait for its first one")
    if iteration not in known:
        near = known[abs(known - iteration).argmin()]
        raise ValueError(
            f"{label} has no record of iteration {iteration}: it has {len(known)} from {known[0]} to "
            f"{known[-1]}, the nearest is {near}"
        )
    row = int((known == iteration).argmax())
    if not math.isfinite(rows["objective"][row]):
        raise ValueError(f"f of {label} is not finite at iteration {iteration}: choose an earlier one")
    solver, before = _solver(trace.info.solver, trace.info.params), _parsed(trace.info.origin)
    recorded = list(zip(known[: row + 1].tolist(), rows["objective"][: row + 1].tolist(), strict=True))
    passed = [segment for segment in segments(trace) if segment.first <= iteration]
    for old, new in pairwise(passed):
        upto = {n: f for n, f in recorded if n < new.first}
        before = Origin(label, solver, new.first - 1, new.seconds, upto, before, old.lam)
    seconds = float(rows["cpu_seconds"][row]), float(rows["wall_seconds"][row])
    lam = passed[-1].lam if len(passed) > 1 else None
    return Origin(label, solver, iteration, seconds, dict(recorded), before, lam)


def _parsed(about: Mapping[str, Any] | None) -> Origin | None:
    """Return the origin from its record; return None for None."""
    if about is None:
        return None
    try:
        n, seconds = about["iteration"], (about["cpu_seconds"], about["wall_seconds"])
        f, before = about["objective"], _parsed(about.get("from"))
        objectives, lam = {} if f is None else {n: float(f)}, about.get("lam")
        solver = _solver(about["solver"], about["params"])
        return Origin(about["label"], solver, n, seconds, objectives, before, lam)
    except (KeyError, TypeError):
        raise ValueError(
            "a branch is replayed where it says what it comes from, and this is not that"
        ) from None


def _solver(id: str, params: Mapping[str, Any]) -> Solver:
    try:
        return make_solver(id, **params)
    except TypeError:
        raise ValueError(
            "a run is replayed with its solver and hyper-parameters, which it does not tell"
        ) from None


def branch(
    problem: Problem, solver: Solver, origin: Origin
) -> Generator[Iterate, None, tuple[Iterate, Iterates]]:
    """Replay the old run, and yield its iterates up to the origin.

    Return the iterate of the origin, and the generator of the iterates that follow in the branch. Raises
    :class:`Diverged` if f differs from a recorded value.
    """
    there = problem if origin.lam in (None, problem.lam) else problem.at_lam(origin.lam)
    if origin.before is None:
        first, old = (), origin.solver.iterate(there)
    else:
        *first, old = yield from branch(there, origin.solver, origin.before)
    reached = "before its first iterate"
    for iterate in chain(first, old):
        origin.check(iterate)
        yield iterate
        if iterate.iteration == origin.iteration:
            if there is problem and solver == origin.solver:
                return iterate, old
            return iterate, continue_from(iterate, solver, problem, lam_changed=there is not problem)
        reached = f"after iteration {iterate.iteration}"
    raise Diverged(
        f"the replay of {origin.label} ended {reached}, and iteration {origin.iteration} was recorded"
    )


def continue_from(iterate: Iterate, solver: Solver, problem: Problem, *, lam_changed: bool) -> Iterates:
    """Yield the iterates of a solver that starts from the weights of ``iterate``, with consecutive numbers.

    Epochs continue too. If λ has changed, the solver's first iterate, at the same weights, is yielded as
    well: f is different, and the working set is full.
    """
    if iterate.w is None:
        raise ValueError("the old solver does not show its weights: no other one can start from them")
    handover = Handover(
        iterate.w, iterate.iteration + lam_changed, iterate.epoch + 1, started=not lam_changed
    )
    del iterate  # it refers to the whole state of the old solver
    with closing(solver.iterate(problem, handover.w)) as iterates:
        further = handover.iterates(None, iterates, problem, problem, followed=False)
        if lam_changed and (first := next(further, None)) is not None:
            assert problem.lam is not None  # it was changed
            first.events = (mark(problem.lam), *first.events)
            yield first
        return (yield from further)
