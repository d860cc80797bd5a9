"""Reference optima f*, computed once per problem and cached on disk under the problem's key."""

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
    """The best known objective of a problem.

    Attributes
    ----------
    f_star : float
        The objective.
    violation : float or None
        The violation of the optimality conditions there; None if the loss has kinks.
    gap : float or None
        A proved bound on the distance to the minimum, if there is one.
    solver : str or None
        The solver that reached it; None if the user gave the value.
    cached : bool
        Whether it was read from disk.
    """

    f_star: float
    violation: float | None
    gap: float | None
    solver: str | None
    cached: bool

    def describe(self) -> dict[str, Any]:
        """Return the record of the reference, with exactly the fields that the command line documents."""
        values = {"f_star": self.f_star, "violation": self.violation}
        return {"type": "reference", **values, "solver": self.solver, "cached": self.cached}


def reference(
    problem: solvers.Problem, gate: solvers.Gate | None = None, most: float = MAX_REFERENCE_SECONDS
) -> Reference:
    """Return the minimum of ``problem`` from the cache, or compute it and cache it.

    The target is a relative violation of 1e-9, or a proved gap of that size if the loss has kinks. If a
    solver does not reach the target, the next one continues from its weights, and the lower objective is
    returned. Each solver may use ``most`` CPU seconds. A result that misses the target is cached only if
    ``most`` has its default. The ``gate`` may pause the solvers, or raise :class:`solvers.Interrupted`, which
    is passed on.

    Raises
    ------
    ValueError
        If no solver suits the problem, or all of them fail.
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
    """Return the minimum of ``problem`` if it is on disk, else None.

    The key depends on the code of loss and penalty. An entry that is damaged or implausible is deleted with a
    warning.
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
    """Delete the cached minimum of ``problem``, because an iterate had a lower objective."""
    _discard(_path(problem))


def _discard(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s could not be deleted (%s): delete it by hand", path, error.strerror)


def _read(problem: solvers.Problem, text: bytes) -> Reference:
    """Return the reference stored in a file.

    Raises ValueError, or another error of parsing, if it is damaged or its numbers cannot be right.
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
    """Return whether ``f`` is lower than the best objective, or equal up to rounding at a smaller
    violation."""
    rounding = OBJECTIVE_ROUNDING * abs(best.f_star)
    nearer = (
        violation is not None
        and best.violation is not None
        and f <= best.f_star + rounding
        and violation < best.violation
    )
    return f < best.f_star - rounding or nearer


def candidates(problem: solvers.Problem) -> Iterator[solvers.Solver]:
    """Return up to ``MAX_ATTEMPTS`` solvers that accept the problem, the most precise first."""
    takers = solvers.fitting(problem)
    ids = [id for id in PRECISE if id in takers]
    if problem.smooth:  # without a gradient those that are not precise would never get there
        ids += [id for id in takers if id not in PRECISE]
    made = (solvers.make_solver(id, **PRECISE.get(id, {})) for id in ids)
    return itertools.islice((solver for solver in made if solver.refuses(problem) is None), MAX_ATTEMPTS)


def _path(problem: solvers.Problem) -> Path:
    return home() / "reference" / f"{problem.key}.json"


def keep(problem: solvers.Problem, found: Reference) -> None:
    """Write ``found`` to the cache atomically; log a warning if that fails."""
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
