"""How a run is done again: a line for the command line, and a few lines of Python."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import datasets
import solvers
from solvers import Trace, parameters

#: What the folders of files that were dropped on a page begin with: their visitor knows them by their names.
DROPPED = "solverscope-dropped-"


def why_not(trace: Trace) -> str | None:
    """Say why a run cannot be done again from its record alone; None if it can."""
    info = trace.info
    if "from" in info:
        label, iteration = info["from"]["label"], info["from"]["iteration"]
        return (
            f"{info['label']} is a branch: save the run that it comes from, {label}, and go on from it with "
            f"--from FILE@{iteration}."
        )
    if info.get("lams"):
        return f"λ was changed while {info['label']} was at work: neither a line nor a call does that."
    if info.get("warm"):
        return f"{info['label']} began at weights that its record does not hold: it cannot be done again."
    if info["solver"] not in solvers.SOLVERS:
        return f"{info['label']} needs the plugin that registers {info['solver']}."
    if not len(trace):
        return f"{info['label']} has no iterate yet."
    return None


def command(trace: Trace) -> str:
    """Return the ``solverscope run`` that has the same iterates, up to the newest one there is."""
    problem, solver = trace.info["problem"], trace.info["solver"]
    words = ["solverscope", "run", _dataset(problem)]
    for flag, values in (
        ("--option", _options(problem)),
        ("--loss-set", problem.get("loss_params", {})),
        ("--penalty-set", problem.get("penalty_params", {})),
    ):
        for name, value in values.items():
            words += [flag, f"{name}={_text(value)}"]
    words += ["--seed", str(problem["seed"]), "--loss", problem["loss"], "--penalty", problem["penalty"]]
    if problem["lam"] is not None:
        words += ["--lam", repr(problem["lam"])]
    words.append("--average" if problem["average"] else "--sum")
    given = [f"{name}={_text(value)}" for name, value in _params(trace).items()]
    words += ["--solver", ",".join([_labelled(trace.info["label"], solver), *given])]
    words += ["--max-iter", str(_iterations(trace))]
    return shlex.join(words)


def snippet(trace: Trace) -> str:
    """Return the Python that has the same iterates, up to the newest one there is."""
    problem = trace.info["problem"]
    data = _call("datasets.load", _dataset(problem), seed=problem["seed"], **_options(problem))
    made = {
        name: problem[name] for name in ("loss", "penalty", "lam", "average") if problem[name] is not None
    }
    made |= {name: problem[name] for name in ("loss_params", "penalty_params") if name in problem}
    arguments = ", ".join(f"{name}={value!r}" for name, value in made.items())
    return (
        "import datasets\nimport solvers\n\n"
        f"data = {data}\n"
        f"problem = solvers.make_problem(data, {arguments})\n"
        f"solver = {_call('solvers.make_solver', trace.info['solver'], **_params(trace))}\n"
        f"trace = solvers.solve(problem, solver, max_iter={_iterations(trace)})\n"
    )


def _dataset(problem: Mapping[str, Any]) -> str:
    """Return the id of the data set, of a dropped file with its name alone."""
    scheme, colon, path = problem["dataset"].partition(":")
    return f"{scheme}:{Path(path).name}" if colon and DROPPED in path else problem["dataset"]


def _iterations(trace: Trace) -> int:
    return int(trace.last["iteration"])


def _options(problem: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the data that are not the defaults; all, where the data set is not known here."""
    given = {name: value for name, value in problem["options"].items() if value is not None}
    try:
        usual = {option.name: option.default for option in datasets.describe(problem["dataset"]).options}
    except datasets.DataError:
        return given
    return {name: value for name, value in given.items() if usual.get(name) != value}


def _params(trace: Trace) -> dict[str, Any]:
    """Return the hyper-parameters that are not the defaults; and always the seed, which is else the
    problem's on the command line."""
    usual = {p.name: p.default for p in parameters(solvers.SOLVERS[trace.info["solver"]])}
    return {
        name: value
        for name, value in trace.info["params"].items()
        if name in usual and (name == "seed" or value != usual[name])
    }


def _labelled(label: str, solver: str) -> str:
    """Return label and solver as the command line reads them, where a label may not have all letters."""
    name = "".join("-" if letter in ",=@" else letter for letter in label)
    return solver if name == solver else f"{name}={solver}"


def _call(function: str, first: str, **given: Any) -> str:
    return f"{function}({', '.join([repr(first), *(f'{name}={value!r}' for name, value in given.items())])})"


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)
