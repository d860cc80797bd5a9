"""What runs were set to, and in what two of them differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import numpy as np

from solverscope import datasets
from solverscope.app.runs.archive import Kept
from solverscope.app.settings import words
from solverscope.app.settings.own_file_names import named
from solverscope.app.settings.recipe import LIMITS, Entrant, typed
from solverscope.solvers import SOLVERS, Trace
from solverscope.solvers.runs.trace import plain

#: Of a problem's record, what does not say how it is set.
DERIVED = ("type", "version", "key", "source", "options")
#: Fields of a result, and of the last iterate, that are compared.
ENDS = ("objective", "violation", "dual_gap", "nnz", "passes", "cpu_seconds", "test_metric")


class Difference(NamedTuple):
    """A thing in which two runs differ, and what it is in each; None where one has none."""

    what: str
    left: Any
    right: Any


def options(kept: Kept) -> dict[str, Any]:
    """Return the hyper-parameters that a run's solver was given and that differ from its defaults."""
    try:
        (text,) = parse_qs(kept.setting).get("solvers", [""])
        (solver,) = Entrant.parse_all([text] if text else [])
        return dict(solver.params)
    except ValueError:  # an imported run, or one whose solver is not here: what it had then
        params = dict(kept.about.get("params", {}))
        return typed_or_all(kept.solver, params)


def typed_or_all(solver: str, params: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is at its default, where the solver is known and takes these."""
    try:
        return typed(SOLVERS[solver], params)
    except (KeyError, ValueError):
        return params


def settings(kept: Kept) -> dict[str, Any]:
    """Return how a run was set, in words that stand for themselves: problem, data, solver, limits."""
    about = dict(kept.about)
    problem = dict(about.get("problem", {}))
    set_up = {name: value for name, value in problem.items() if name not in DERIVED}
    found: dict[str, Any] = {
        words.PROBLEM.get(name, name.replace("_", " ")): value for name, value in set_up.items()
    }
    data, name = datasets.DATASETS.get(str(problem.get("dataset"))), words.PROBLEM["dataset"]
    found |= {name: named(str(found[name]))} if name in found else {}
    options = words.titled(data.options if data else (), problem.get("options", {}))
    params = words.of_params(kept.solver, about.get("params", {}))
    found |= {f"data: {title}": value for title, value in options.items()}
    found |= {"solver": kept.solver, **{f"solver: {title}": value for title, value in params.items()}}
    found |= {name: about[name] for name in ("from",) if name in about}
    found |= {f"λ from iteration {one['iteration']}": one["lam"] for one in about.get("lams", ())}
    limits = parse_qs(kept.setting)
    return found | {words.title_of(one): limits[one.name][0] for one in LIMITS if one.name in limits}


def differing_settings(left: Kept, right: Kept) -> list[Difference]:
    """List the settings in which two runs differ."""
    return list(_differing(settings(left), settings(right)))


def differing_ends(left: tuple[Kept, Trace], right: tuple[Kept, Trace]) -> list[Difference]:
    """List where two runs part, and in what they differ at their ends."""
    known = [_ends(*one) for one in (left, right)]
    parted = parting(left[1], right[1])
    first = [] if parted is None else [Difference("objective differs from iteration", parted, parted)]
    return [*first, *_differing(*known)]


def parting(left: Trace, right: Trace) -> int | None:
    """Return the first iteration, of those that both have, at which the objectives differ; None if there is
    none."""
    both, in_left, in_right = np.intersect1d(left.iteration, right.iteration, return_indices=True)
    differ = np.flatnonzero(left.objective[in_left] != right.objective[in_right])
    return int(both[differ[0]]) if differ.size else None


def _ends(kept: Kept, trace: Trace) -> dict[str, Any]:
    last = plain({**trace.last, **kept.result})
    return {"state": kept.state, "iterations": kept.iterations} | {name: last.get(name) for name in ENDS}


def _differing(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[Difference]:
    for name in dict.fromkeys([*left, *right]):
        pair = left.get(name), right.get(name)
        if pair[0] != pair[1]:
            yield Difference(name, *pair)
