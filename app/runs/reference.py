"""Reference optima f*, which are computed once for a problem and cached on disk under its key."""

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
from solverscope.solvers.compute.atomic_files import replacing, why_not_written
from solverscope.solvers.runs.endings import BROKEN
from solverscope.solvers.search.line_search import OBJECTIVE_ROUNDING

log = logging.getLogger(__name__)

#: Bytes of a cached reference, at most.
MAX_REFERENCE_BYTES = 100_000
#: Target of the violation, relative to that at w = 0, or with kinks of the proved gap, relative to f.
TARGET_TOL = 1e-9
#: CPU seconds of the first solver, at most; if the loss has kinks less, since it may not reach a small gap.
MAX_REFERENCE_SECONDS, MAX_KINKED_SECONDS = 3600.0, 120.0
#: CPU seconds that a later solver may always take; it may take twice what the first took.
MIN_SECONDS = 5.0
#: Solvers tried for an optimum, at most.
MAX_ATTEMPTS = 3
#: The solvers to try first, in this order, with their hyper-parameters; one that refuses the problem is
#: skipped. If the penalty separates into weights, Prox-QN is the fastest. It stops when rounding hides its
#: decrease, and OWL-QN reduces the violation from there by its gradient. If the penalty has norms of rows,
#: coordinate descent is the fastest for a loss that is a sum over rows of scores; else SpaRSA, then FISTA
#: with restarts. ``tests/benchmarks/test_reference.py`` measures them on a problem of each structure. If the
#: loss has kinks and the penalty is a ridge, Dual CD or cutting planes prove their gap.
PRECISE: dict[str, dict[str, Any]] = {
    "prox-qn": {"tol": TARGET_TOL},
    "owl-qn": {},
    "bcd-ls": {},
    "sparsa": {},
    "fista-ls": {"restart": True},
    "dual-cd": {},
    "ls-bmrm": {},
}


@dataclass(frozen=True)
class Reference:
    """The best objective known.

    ``violation`` is the one reached there (None if the loss has kinks). ``gap`` is a proved bound of the
    distance to the minimum (None without one), and ``cached`` is whether it was on disk. ``solver`` is None
    for a value that the user gave.
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
    problem: solvers.Problem, gate: solvers.Gate | None = None, most: float = MAX_REFERENCE_SECONDS
) -> Reference:
    """Return the minimum of ``problem``, from the cache or computed and cached.

    The target is a relative violation (a proved gap, if the loss has kinks) of 1e-9. If the first solver does
    not reach it (rounding, its limit) another one continues from its weights, and the lower objective counts;
    ``violation`` is the one reached. Each may take ``most`` CPU seconds; a less precise result is cached only
    if that was the default. The ``gate`` may pause the solvers, or raise :class:`solvers.Interrupted`, which
    then leaves this function.

    Raises
    ------
    ValueError
        If no solver fits, or all of them fail.
    """
    if known := cached(problem):
        return known
    best: Reference | None = None
    near = False
    w0, seconds = None, min(MAX_REFERENCE_SECONDS if problem.smooth else MAX_KINKED_SECONDS, most)
    for solver in candidates(problem):
        limits = {"tol": TARGET_TOL, "max_seconds": seconds}
        trace = solvers.solve(problem, solver, w0=w0, gate=gate, on_error="keep", **limits)
        if trace.status == "stopped":
            raise solvers.Interrupted
        if trace.status in BROKEN:
            continue
        f, violation, gap = (trace.result[name] for name in ("objective", "violation", "dual_gap"))
        if best is None:
            seconds = min(max(2.0 * trace.result["cpu_seconds"], MIN_SECONDS), most)
        if best is None or _better(f, violation, best):
            best, w0 = Reference(f, violation, gap, solver.id, cached=False), trace.w
        near = violation <= problem.aim(TARGET_TOL) if problem.smooth else gap <= TARGET_TOL * abs(f)
        if trace.status == "unbounded" or near:
            break
    if best is None:
        if problem.smooth or problem.penalty.ridge:
            raise ValueError("no solver here finds f* of this problem")
        raise ValueError("f* cannot be certified for a non-smooth f without an ℓ2 term")
    if near or most >= MAX_REFERENCE_SECONDS:  # else the next caller may give more time
        keep(problem, best)
    return best


def cached(problem: solvers.Problem) -> Reference | None:
    """Return the minimum of ``problem`` if it is on disk; its key changes with edits of loss and penalty.

    An entry that cannot be right is deleted, with a warning.
    """
    path = _path(problem)
    try:
        with path.open("rb") as file:
            text = file.read(MAX_REFERENCE_BYTES + 1)
    except OSError:  # missing or unreadable: solve again
        return None
    try:
        return _read(problem, text)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        reason = str(error) if type(error) is ValueError else "it is not as it was written"
        log.warning("%s is deleted, for %s: f* of this problem will be computed again", path, reason)
        _discard(path)
        return None


def distrust(problem: solvers.Problem) -> None:
    """Delete the cached minimum of ``problem``: an iterate was below it."""
    _discard(_path(problem))


def _discard(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s could not be deleted (%s): delete it by hand", path, error.strerror)


def _read(problem: solvers.Problem, text: bytes) -> Reference:
    """Return the reference in a file.

    Raises ValueError and others if it is damaged, or its numbers cannot be those of the problem's minimum.
    """
    if len(text) > MAX_REFERENCE_BYTES:
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
    """Return whether the objective is lower, or as low up to rounding at a smaller violation."""
    rounding = OBJECTIVE_ROUNDING * abs(best.f_star)
    nearer = (
        violation is not None
        and best.violation is not None
        and f <= best.f_star + rounding
        and violation < best.violation
    )
    return f < best.f_star - rounding or nearer


def candidates(problem: solvers.Problem) -> Iterator[solvers.Solver]:
    """Return up to ``MAX_ATTEMPTS`` solvers that take the problem, the precise ones first."""
    takers = solvers.fitting(problem)
    ids = [id for id in PRECISE if id in takers]
    if problem.smooth:  # without a gradient those that are not precise would never get there
        ids += [id for id in takers if id not in PRECISE]
    made = (solvers.make_solver(id, **PRECISE.get(id, {})) for id in ids)
    return itertools.islice((solver for solver in made if solver.refuses(problem) is None), MAX_ATTEMPTS)


def _path(problem: solvers.Problem) -> Path:
    return home() / "reference" / f"{problem.key}.json"


def keep(problem: solvers.Problem, found: Reference) -> None:
    """Cache ``found`` atomically, or log that the cache cannot be written."""
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
