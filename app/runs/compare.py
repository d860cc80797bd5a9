"""The settings of runs, and the differences between two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from solverscope import datasets
from solverscope.app.runs.archive import ArchivedRun
from solverscope.app.settings import wording
from solverscope.app.settings.own_file_names import named
from solverscope.app.settings.recipe import Entrant, typed
from solverscope.app.settings.settings_table import IN_ADDRESS
from solverscope.solvers import SOLVERS, Trace
from solverscope.solvers.traces.trace import plain

#: Fields of a problem's record that are no settings.
NON_SETTINGS = ("type", "version", "key", "source", "options")
#: Fields of a result, and of the last iterate, that are compared.
COMPARED_FIELDS = ("objective", "violation", "dual_gap", "nnz", "passes", "cpu_seconds", "test_metric")


class Difference(NamedTuple):
    """A setting or result in which two runs differ, with its value in each run, or None if it is missing."""

    what: str
    left: Any
    right: Any


def options(kept: ArchivedRun) -> dict[str, Any]:
    """Return the hyper-parameters of a run's solver that differ from its defaults."""
    try:
        (text,) = parse_qs(kept.setting).get("solvers", [""])
        (solver,) = Entrant.parse_all([text] if text else [])
        return dict(solver.params)
    except ValueError:  # an imported run, or one whose solver is not here: what it had then
        params = dict(kept.about.get("params", {}))
        return typed_or_all(kept.solver, params)


def typed_or_all(solver: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that differ from the defaults; all of them if the solver or a parameter is
    unknown."""
    try:
        return typed(SOLVERS[solver], params)
    except (KeyError, ValueError):
        return params


def settings(kept: ArchivedRun) -> dict[str, Any]:
    """Return the settings of a run by title: those of problem, data, solver and limits."""
    about = dict(kept.about)
    problem = dict(about.get("problem", {}))
    set_up = {name: value for name, value in problem.items() if name not in NON_SETTINGS}
    found: dict[str, Any] = {
        wording.PROBLEM_WORDS.get(name, name.replace("_", " ")): value for name, value in set_up.items()
    }
    data, name = datasets.DATASETS.get(str(problem.get("dataset"))), wording.PROBLEM_WORDS["dataset"]
    found |= {name: named(str(found[name]))} if name in found else {}
    options = wording.titled(data.options if data else (), problem.get("options", {}))
    params = wording.of_params(kept.solver, about.get("params", {}))
    found |= {f"data: {title}": value for title, value in options.items()}
    found |= {"solver": kept.solver, **{f"solver: {title}": value for title, value in params.items()}}
    found |= {name: about[name] for name in ("from",) if name in about}
    found |= {f"λ from iteration {one['iteration']}": one["lam"] for one in about.get("lams", ())}
    limits = parse_qs(kept.setting)
    return found | {
        wording.title_of(one.field): limits[one.in_address][0]
        for one in IN_ADDRESS
        if one.part == "limits" and one.in_address in limits
    }


def differing_settings(left: ArchivedRun, right: ArchivedRun) -> list[Difference]:
    """Return the settings in which two runs differ."""
    return list(_differing(settings(left), settings(right)))


def differing_ends(left: tuple[ArchivedRun, Trace], right: tuple[ArchivedRun, Trace]) -> list[Difference]:
    """Return the differences between the results and last iterates of two runs."""
    return list(_differing(*(_ends(*one) for one in (left, right))))


def _ends(kept: ArchivedRun, trace: Trace) -> dict[str, Any]:
    last = plain({**trace.last, **kept.result})
    return {"state": kept.state, "iterations": kept.iterations} | {
        name: last.get(name) for name in COMPARED_FIELDS
    }


def _differing(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[Difference]:
    for name in dict.fromkeys([*left, *right]):
        pair = left.get(name), right.get(name)
        if pair[0] != pair[1]:
            yield Difference(name, *pair)
