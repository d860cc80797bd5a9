"""A problem and a run in words, from what their records say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import solvers
from solvers import Trace, parameters

#: What the fields of a problem's record are called.
PROBLEM = {
    "dataset": "data set",
    "loss_params": "options of the loss",
    "penalty_params": "options of the penalty",
    "lam": "λ",
    "lam_max": "λ_max",
    "average": "average over instances",
    "n_samples": "samples n",
    "n_features": "features d",
    "n_outputs": "outputs",
    "n_params": "weights",
    "seed": "random seed",
}


class Named(Protocol):
    """What has a name, for scripts and addresses, and may have a title, for people."""

    name: str
    title: str


def title_of(declared: Named) -> str:
    """Return what people call an option or a hyper-parameter."""
    return declared.title or declared.name.replace("_", " ")


def titled(declared: Iterable[Named], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by their titles instead of their names; what is not declared keeps its name."""
    titles = {one.name: title_of(one) for one in declared}
    return {titles.get(name, name.replace("_", " ")): value for name, value in values.items()}


def of_params(solver: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyper-parameters of a solver, which may be one that is not here, by their titles."""
    return titled(parameters(solvers.SOLVERS[solver]) if solver in solvers.SOLVERS else (), params)


def of_field(declared: Named, error: ValueError) -> str:
    """Say what is wrong with a field in its own words: an error speaks of the name that scripts use."""
    said = str(error).partition(f"{declared.name}=")[2].partition(": ")[2]
    if said.startswith(f"{declared.name} "):
        return title_of(declared) + said.removeprefix(declared.name)
    return str(error)


def of_problem(record: Mapping[str, Any]) -> str:
    """Describe the record of a problem in a sentence."""
    parts = [f"{record['dataset']}: {record['n_samples']:,} instances, {record['n_params']:,} weights"]
    parts += _pairs({k: v for k, v in record.get("options", {}).items() if v is not None})
    parts.append(f"seed {record.get('seed')}")
    scale = "an average over instances" if record.get("average") else "a sum over instances"
    loss = [f"loss {record['loss']}, {scale}", *_pairs(record.get("loss_params", {}))]
    penalty = [f"penalty {record['penalty']}", *_pairs(record.get("penalty_params", {}))]
    if record.get("lam") is not None:
        share = f" = {record['lam'] / record['lam_max']:.3g} λ_max" if record.get("lam_max") else ""
        penalty.append(f"λ = {record['lam']:.6g}{share}")
    return "; ".join(", ".join(part) for part in (parts, loss, penalty)) + "."


def of_run(trace: Trace) -> str:
    """Describe a run in a sentence: solver, hyper-parameters, how far it came and how it ended."""
    info, last = trace.info, trace.last
    kind = solvers.SOLVERS.get(info["solver"])
    parts = [f"{info['label']}: {kind.name if kind is not None else info['solver']}"]
    parts += _pairs({name: value for name, value in info.get("params", {}).items() if value is not None})
    said = f"{trace.status} at iteration {int(last['iteration'])}" if last else trace.status
    if last:
        said += f" after {float(last['cpu_seconds']):.3g} CPU s, f = {float(last['objective']):.9g}"
    return ", ".join(parts) + f"; {said}" + (f" ({trace.message})" if trace.message else "") + "."


def _pairs(values: Mapping[str, Any]) -> list[str]:
    return [f"{name} {value}" for name, value in values.items()]
