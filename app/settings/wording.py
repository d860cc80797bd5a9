"""Descriptions of problems and runs in words, from their records, and titles of what is declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from solverscope import solvers
from solverscope.datasets import Option
from solverscope.solvers import Parameter, Trace, parameters
from solverscope.solvers.declare import NotAllowed

#: What the fields of a problem's record are called.
PROBLEM_WORDS = {
    "dataset": "data set",
    "loss_params": "options of the loss",
    "penalty_params": "options of the penalty",
    "lam": "λ",
    "lam_max": "λ_max",
    "average": "average over instances",
    "intercept": "intercept",
    "penalty_factors": "penalty factors",
    "n_samples": "samples n",
    "n_features": "features d",
    "n_outputs": "outputs",
    "n_params": "weights",
    "seed": "random seed",
}
#: How a trace's final words are worded that are no words of the field.
STATUS_WORDS = {"max-seconds": "out of time", "max-iter": "iteration limit"}
#: An option or a hyper-parameter; its name is for scripts and addresses, its title, if any, for people.
Declaration = Option | Parameter
#: Share of f up to which a proved bound of f - f* is rounding.
STALLED_GAP_ROUNDING = 1e-11


def title_of(declared: Declaration) -> str:
    """Return the title of an option or a hyper-parameter."""
    return declared.title or declared.name.replace("_", " ")


def titled(declared: Iterable[Declaration], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by their titles instead of their names; what is not declared keeps its name."""
    titles = {one.name: title_of(one) for one in declared}
    return {titles.get(name, name.replace("_", " ")): value for name, value in values.items()}


def of_params(solver: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyper-parameters of a solver, which may be one that is not here, by their titles."""
    return titled(parameters(solvers.SOLVERS[solver]) if solver in solvers.SOLVERS else (), params)


def of_field(declared: Declaration, error: ValueError) -> str:
    """Return an error of a field by the field's title: the error itself has the name that scripts use."""
    if isinstance(error, NotAllowed):
        return f"{title_of(declared)} must be {error.range}"
    return str(error)


def of_problem(record: Mapping[str, Any]) -> str:
    """Describe the record of a problem in a sentence, without λ."""
    parts = [f"{record['dataset']}: {record['n_samples']:,} instances, {record['n_params']:,} weights"]
    parts += _pairs({k: v for k, v in record.get("options", {}).items() if v is not None})
    parts.append(f"seed {record.get('seed')}")
    scale = "an average over instances" if record.get("average") else "a sum over instances"
    loss = [f"loss {record['loss']}, {scale}", *_pairs(record.get("loss_params", {}))]
    loss += ["an intercept"] if record.get("intercept") else []
    loss += ["sample weights"] if record.get("weighted") else []
    penalty = [f"penalty {record['penalty']}", *_pairs(record.get("penalty_params", {}))]
    if record.get("penalty_factors"):
        penalty.append(f"penalty factors {record['penalty_factors']}")
    if record.get("lam") is not None and record.get("lam_max"):
        penalty.append(f"λ_max = {record['lam_max']:.6g}")
    return "; ".join(", ".join(part) for part in (parts, loss, penalty)) + "."


def of_lam(
    problem: Mapping[str, Any], changes: Iterable[Mapping[str, Any]], since: str = "from iteration"
) -> str:
    """Return λ of the record of a problem, and its changes in a run with their iterates.

    Return "" if the problem has no λ.
    """
    if problem.get("lam") is None:
        return ""
    later = (f"{one['lam']:.6g} {since} {one['iteration']}" for one in changes)
    return ", ".join([f"{problem['lam']:.6g}", *later])


def of_ending(status: str, result: Mapping[str, Any] | None = None) -> str:
    """Return in a word or two how a run stands or ended, from the status of its trace and its result, if
    given: if f is proved to be the minimum up to rounding, no step can decrease it."""
    gap, objective = ((result or {}).get(name) for name in ("dual_gap", "objective"))
    if status == "stalled" and None not in (gap, objective) and gap <= STALLED_GAP_ROUNDING * abs(objective):
        return "at rounding"
    return STATUS_WORDS.get(status, status)


def of_run(trace: Trace, kind: str) -> str:
    """Describe a run in a sentence: its kind, if it has one of its own, solver, hyper-parameters, λ, how far
    it came and how it ended."""
    info, last = trace.info, trace.last
    known, label = solvers.SOLVERS.get(info.solver), f"{info.label} ({kind})" if kind else info.label
    parts = [f"{label}: {known.name if known is not None else info.solver}"]
    parts += _pairs({name: value for name, value in info.params.items() if value is not None})
    parts += [f"λ = {lam}"] if (lam := of_lam(info.problem, info.lams)) else []
    said = of_ending(trace.status, trace.result)
    said += f" at iteration {int(last['iteration'])}" if last else ""
    if last:
        said += f" after {float(last['cpu_seconds']):.3g} CPU s, f = {float(last['objective']):.9g}"
    return ", ".join(parts) + f"; {said}" + (f" ({trace.message})" if trace.message else "") + "."


def _pairs(values: Mapping[str, Any]) -> list[str]:
    return [f"{name} {value}" for name, value in values.items()]
