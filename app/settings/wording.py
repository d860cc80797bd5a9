"""Descriptions of problems and runs for people, from their records, and titles of declared parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from solverscope import solvers
from solverscope.datasets import Option
from solverscope.solvers import Parameter, Trace, parameters
from solverscope.solvers.declare import NotAllowed

#: Names for people of the fields of a problem's record.
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
#: Words for statuses of a trace that are not the usual term.
STATUS_WORDS = {"max-seconds": "out of time", "max-iter": "iteration limit"}
#: An option or a hyper-parameter; its name is for scripts and addresses, its title, if any, for people.
Declaration = Option | Parameter
#: Fraction of f below which a proved bound on f - f* is considered rounding.
STALLED_GAP_ROUNDING = 1e-11


def title_of(declared: Declaration) -> str:
    """Return the title of an option or a hyper-parameter."""
    return declared.title or declared.name.replace("_", " ")


def titled(declared: Iterable[Declaration], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with their names replaced by titles; the names of undeclared values stay, without
    underscores."""
    titles = {one.name: title_of(one) for one in declared}
    return {titles.get(name, name.replace("_", " ")): value for name, value in values.items()}


def of_params(solver: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyper-parameters of a solver with their names replaced by titles; the solver may be unknown
    here."""
    return titled(parameters(solvers.SOLVERS[solver]) if solver in solvers.SOLVERS else (), params)


def of_field(declared: Declaration, error: ValueError) -> str:
    """Return the message of an invalid field, with the field's title instead of the name used by scripts."""
    if isinstance(error, NotAllowed):
        return f"{title_of(declared)} must be {error.range}"
    return str(error)


def of_problem(record: Mapping[str, Any]) -> str:
    """Describe a problem from its record, without λ."""
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
    """Return λ of a problem's record, followed by its changes during a run and their iterations.

    Return "" if the problem has no λ.
    """
    if problem.get("lam") is None:
        return ""
    later = (f"{one['lam']:.6g} {since} {one['iteration']}" for one in changes)
    return ", ".join([f"{problem['lam']:.6g}", *later])


def of_ending(status: str, result: Mapping[str, Any] | None = None) -> str:
    """Return the status of a run in a word or two.

    ``status`` is that of its trace. A stalled run whose ``result`` proves that f is minimal up to rounding is
    "at rounding".
    """
    gap, objective = ((result or {}).get(name) for name in ("dual_gap", "objective"))
    if status == "stalled" and None not in (gap, objective) and gap <= STALLED_GAP_ROUNDING * abs(objective):
        return "at rounding"
    return STATUS_WORDS.get(status, status)


def of_run(trace: Trace, kind: str) -> str:
    """Describe a run in a sentence: solver, hyper-parameters, λ, last iteration and status.

    ``kind`` follows the label in parentheses unless it is empty.
    """
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
