"""Reference optima f*: solved once for a problem, kept on disk under its key."""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solverscope import solvers
from solverscope.datasets.store import home
from solverscope.solvers.parts.linesearch import ROUNDING
from solverscope.solvers.runs.atomic_files import replacing, why_not_written
from solverscope.solvers.runs.endings import BROKEN

log = logging.getLogger(__name__)

#: Bytes of a kept reference, at most.
LONGEST = 100_000
#: Violation aimed at, relative to that at w = 0, or proved gap, relative to f, where the loss has kinks.
TARGET = 1e-9
#: Most CPU seconds of the first solver; a later one may take twice what the first took, or this least. Where
#: the loss has kinks the first takes less: a small gap may be out of its reach.
MOST_SECONDS, KINKED_SECONDS = 3600.0, 120.0
LEAST_SECONDS = 5.0
#: Solvers tried for an optimum, at most.
ATTEMPTS = 3
#: The solvers to ask first, in this order, with their hyper-parameters for it; those that do not take the
#: problem fall out. Where the penalty separates into weights Prox-QN is the fastest and stops where rounding
#: hides its decrease, and OWL-QN from there brings the violation down by its gradient. Where it has norms of
#: rows coordinate descent is, if the loss is a sum over rows of scores; else SpaRSA, then FISTA with
#: restarts. ``tests/benchmarks/test_reference.py`` measures them on a problem of each structure. Where the
#: loss has kinks and the penalty is a ridge, Dual CD or cutting planes prove how near they have come.
PRECISE: dict[str, dict[str, Any]] = {
    "prox-qn": {"tol": TARGET},
    "owl-qn": {},
    "bcd-ls": {},
    "sparsa": {},
    "fista-ls": {"restart": True},
    "dual-cd": {},
    "ls-bmrm": {},
}


@dataclass(frozen=True)
class Reference:
    """The best objective known. ``violation`` is the one reached there (None where the loss has kinks),
    ``gap`` how far above the minimum it is at most (None where nothing proves it), ``cached`` whether it was
    on disk.

    ``solver`` is None for a value that was given by the user.
    """

    f_star: float
    violation: float | None
    gap: float | None
    solver: str | None
    cached: bool

    def describe(self) -> dict[str, Any]:
        """Return the reference record, with the fields of the command line's contract and no other."""
        values = {"f_star": self.f_star, "violation": self.violation}
        return {"type": "reference", **values, "solver": self.solver, "cached": self.cached}


def reference(
    problem: solvers.Problem, gate: solvers.Gate | None = None, most: float = MOST_SECONDS
) -> Reference:
    """Return the minimum of ``problem``: from the cache, or solved to a violation (a proved gap, where the
    loss has kinks) of 1e-9 relative and cached.

    Where the first solver does not get that far (rounding, its limit) another one goes on from its weights,
    and the lower objective counts; ``violation`` tells what was reached. Each may take ``most`` CPU seconds;
    what is less precise is cached only where that was the usual most.
    The ``gate`` may pause the solvers, or raise :class:`solvers.Interrupted`, which then leaves this
    function. Raises ValueError where no solver fits or none gets anywhere.
    """
    if known := cached(problem):
        return known
    best: Reference | None = None
    near = False
    w0, seconds = None, min(MOST_SECONDS if problem.smooth else KINKED_SECONDS, most)
    for solver in candidates(problem):
        trace = solvers.solve(problem, solver, tol=TARGET, max_seconds=seconds, w0=w0, gate=gate)
        if trace.status == "stopped":
            raise solvers.Interrupted
        if trace.status in BROKEN:
            continue
        f, violation, gap = (trace.result[name] for name in ("objective", "violation", "dual_gap"))
        if best is None:
            seconds = min(max(2.0 * trace.result["cpu_seconds"], LEAST_SECONDS), most)
        if best is None or _better(f, violation, best):
            best, w0 = Reference(f, violation, gap, solver.id, cached=False), trace.w
        near = violation <= problem.aim(TARGET) if problem.smooth else gap <= TARGET * abs(f)
        if trace.status == "unbounded" or near:
            break
    if best is None:
        if problem.smooth or problem.penalty.ridge:
            raise ValueError("no solver here finds f* of this problem")
        raise ValueError("f* of a function with kinks and no ridge cannot be proved")
    if near or most >= MOST_SECONDS:  # else the next one who asks may give more time
        keep(problem, best)
    return best


def cached(problem: solvers.Problem) -> Reference | None:
    """Return the minimum of ``problem`` if it is on disk; its key tells of edits of loss and penalty.

    What is there but cannot be right is thrown away, with a notice.
    """
    path = _path(problem)
    try:
        with path.open("rb") as file:
            text = file.read(LONGEST + 1)
    except OSError:  # nothing there, or nothing to be had from it: solve again
        return None
    try:
        return _read(problem, text)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        reason = str(error) if type(error) is ValueError else "it is not as it was written"
        log.warning("%s is thrown away, for %s: f* of this problem is to be solved for again", path, reason)
        _discard(path)
        return None


def distrust(problem: solvers.Problem) -> None:
    """Throw away what is kept for ``problem``: an iterate was below it."""
    _discard(_path(problem))


def _discard(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s could not be deleted (%s): delete it by hand", path, error.strerror)


def _read(problem: solvers.Problem, text: bytes) -> Reference:
    """Return the reference that a file holds; raises ValueError and others where it is not one of ours, not
    whole, or has numbers that cannot be those of the problem's minimum."""
    if len(text) > LONGEST:
        raise ValueError("it is too long")
    entry = json.loads(text)
    if not isinstance(entry, dict) or entry.pop("digest", None) != _digest(entry):
        raise ValueError("its digest is not that of its content")
    f_star, violation, gap = (entry[name] for name in ("f_star", "violation", "gap"))
    distances = [number for number in (violation, gap) if number is not None]
    lacking = (violation if problem.smooth else gap) is None
    if lacking or not all(map(math.isfinite, (f_star, *distances))) or min(distances) < 0.0:
        raise ValueError("it holds numbers that are not possible")
    if solvers.undercuts(problem.at().objective, f_star):
        raise ValueError("its f* is above the objective at w = 0")
    return Reference(f_star, violation, gap, entry["solver"], cached=True)


def _digest(entry: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()


def _better(f: float, violation: float | None, best: Reference) -> bool:
    """Tell whether the objective is lower, or as low up to rounding at a smaller violation."""
    rounding = ROUNDING * abs(best.f_star)
    nearer = (
        violation is not None
        and best.violation is not None
        and f <= best.f_star + rounding
        and violation < best.violation
    )
    return f < best.f_star - rounding or nearer


def candidates(problem: solvers.Problem) -> Iterator[solvers.Solver]:
    """Return up to ``ATTEMPTS`` solvers that take the problem, the precise ones first."""
    takers = solvers.fitting(problem)
    ids = [id for id in PRECISE if id in takers]
    if problem.smooth:  # without a gradient those that are not precise would never get there
        ids += [id for id in takers if id not in PRECISE]
    made = (solvers.make_solver(id, **PRECISE.get(id, {})) for id in ids)
    return itertools.islice((solver for solver in made if solver.refuses(problem) is None), ATTEMPTS)


def _path(problem: solvers.Problem) -> Path:
    return home() / "reference" / f"{problem.key}.json"


def keep(problem: solvers.Problem, found: Reference) -> None:
    """Put ``found`` in the cache, all of it or nothing; go on without a cache that cannot be written."""
    if not problem.lasting:
        return
    entry = {**found.describe(), "gap": found.gap, "problem": problem.describe()}
    entry = json.loads(json.dumps(entry, default=str))  # as it will be read
    path = _path(problem)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, encoding="utf-8") as file:
            json.dump({**entry, "digest": _digest(entry)}, file, indent=1)
    except OSError as error:
        log.warning("f* is not kept for the next time, for %s: %s", *why_not_written(error))
