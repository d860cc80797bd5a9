"""Selection of the λ with the best metric on held-out data: the test part, or the folds of a
cross-validation."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from solverscope.app.settings.arguments import number
from solverscope.app.settings.experiment import Experiment
from solverscope.app.settings.recipe import Recipe
from solverscope.solvers import Problem

#: Quantities that can be selected.
SELECTABLE = ("lam",)
#: The held-out data without cross-validation.
TEST = "test part"
#: Parts of a cross-validation, at most.
MOST_FOLDS = 100
#: Relative difference up to which two means are equal: they are rounded.
EQUAL_MEANS = 1e-12


def checked(choose: Any, folds: Any = None) -> tuple[str, int]:
    """Check the keys ``choose`` and ``folds`` of a sweep and replace those that are missing.

    Returns the quantity to select ("" if none) and the number of folds, 0 for selection on the test part.
    Raises ValueError if a value is invalid.
    """
    if choose not in (None, *SELECTABLE):
        raise ValueError(f"choose {choose!r:.80} is not possible: choose {' or '.join(SELECTABLE)}")
    folds = number("folds", folds, low=2, high=MOST_FOLDS, kind=int)
    if folds is not None and choose is None:
        raise ValueError(f"folds {folds} choose nothing: give choose lam as well")
    return choose or "", folds or 0


def by_parts(experiment: Experiment, folds: int) -> Iterator[Experiment]:
    """Yield a copy of an experiment for each fold; without folds, yield the experiment itself."""
    if not folds:
        yield experiment
    problem = experiment.problem
    for k in range(1, folds + 1):
        options = {**problem.options, "cv": f"{k}/{folds}"}
        yield replace(experiment, problem=replace(problem, options=options))


def check_parts(id: str, options: Mapping[str, Any]) -> None:
    """Raise ValueError if folds cannot be held out of these data.

    The data set must have an option ``cv``, and the options must not set it already.
    """
    if options.get("cv", "") is not None:
        raise ValueError(f"folds hold out parts of {id}: leave {'cv' if 'cv' in options else 'folds'} out")


def lams_of_part(lams: Sequence[float], whole: Problem, part: Problem) -> list[float]:
    """Rescale ``lams`` from the whole data to a part of the instances.

    If the loss is a sum over instances, λ is proportional to their number; if it is a mean, λ stays the same.
    """
    share = 1.0 if whole.average else part.loss.n_instances / whole.loss.n_instances
    return [lam * share for lam in lams]


def pooled(recipe: Recipe) -> Recipe:
    """Return the recipe without the option that holds out a fold, and with seed 0."""
    return replace(recipe, options=_shared(recipe.options), seed=0)


def settings_of(cell: Experiment) -> dict[str, Any]:
    """Return the other settings of a cell, by the keys of a sweep's file.

    They distinguish cells that have data set, loss, penalty and label in common. The seed is not included.
    """
    recipe, entrant = cell.problem, cell.entrant
    tables = {
        "loss_set": recipe.loss_params,
        "penalty_set": recipe.penalty_params,
        "set": {name: value for name, value in entrant.params.items() if name != "seed"},
        "limits": asdict(cell.limits),
    }
    found = {f"{table}.{name}": value for table, given in tables.items() for name, value in given.items()}
    same = {name: getattr(recipe, name) for name in ("average", "intercept", "penalty_factors", "threads")}
    return {**found, **same}


def choices(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the λ with the best ``test_metric`` for each group of runs.

    The runs of a group share data set, loss, penalty, label and settings, see :func:`settings_of`. If a group
    has runs on several folds or with several seeds, the mean metric is compared. Among λ that are equally
    good up to rounding, the largest is selected.

    ``runs`` have the fields of a cell's record, and optionally ``settings``. A λ is considered only if all of
    its runs have a metric. If λ/λ_max was specified, it is compared instead of λ, as λ_max differs between
    folds. In the result, ``over`` lists all λ considered in descending order, each with mean, standard
    deviation and standard error of the metric. ``settings`` lists the settings that distinguish a group from
    others with the same data set, loss, penalty and label.

    With K folds, the standard error is the standard deviation of their means, with K - 1 in its denominator,
    over √K. ``standard_error`` is that at the best λ. ``lam_1se`` or ``lam_ratio_1se`` is the largest λ whose
    mean, ``metric_1se``, is at most one standard error below the best: the one-standard-error rule (Breiman
    et al. 1984; Hastie, Tibshirani and Friedman 2009, section 7.10). All are None without several folds.
    """
    groups: dict[tuple[str, ...], dict[str, list[Mapping[str, Any]]]] = {}
    for run in runs:
        data = ",".join(f"{name}={value}" for name, value in _shared(run["options"]).items())
        key = run["dataset"], data, str(run["loss"]), run["penalty"], run["label"]
        settings = json.dumps(run.get("settings", {}), sort_keys=True, default=str)
        groups.setdefault(key, {}).setdefault(settings, []).append(run)
    found = []
    for group in groups.values():
        differing = _differing([alike[0].get("settings", {}) for alike in group.values()])
        found += [_best(alike, differing) for alike in group.values()]
    return [choice for choice in found if choice is not None]


def _differing(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the settings whose values are not all equal."""
    names = dict.fromkeys(name for one in settings for name in one)
    return [name for name in names if any(one.get(name) != settings[0].get(name) for one in settings)]


def _shared(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the data without ``cv``, which selects the held-out fold."""
    return {name: value for name, value in options.items() if name != "cv"}


def _best(runs: Sequence[Mapping[str, Any]], differing: Sequence[str]) -> dict[str, Any] | None:
    first = runs[0]
    place = "lam" if first["lam_ratio"] is None else "lam_ratio"
    metrics: dict[float, dict[str, list[float | None]]] = {}
    for run in runs:
        of_parts = metrics.setdefault(run[place], {})
        of_parts.setdefault(run["options"].get("cv", ""), []).append(run["test_metric"])
    over = [
        [lam, *_statistics([*metrics[lam].values()])]
        for lam in sorted((lam for lam in metrics if lam is not None), reverse=True)
        if not any(None in found for found in metrics[lam].values())
    ]
    if not over:
        return None
    lam, metric, deviation, error = _largest_lam(over, max(mean for _, mean, *_ in over))
    lam_1se, metric_1se = (None, None) if error is None else _largest_lam(over, metric - error)[:2]
    return {
        "type": "choice",
        **{name: first[name] for name in ("dataset", "loss", "penalty", "label", "solver")},
        "options": _shared(first["options"]),
        "settings": {name: first["settings"][name] for name in differing if name in first["settings"]},
        "lam": _common_lam(runs, place, lam),
        "lam_ratio": lam if place == "lam_ratio" else None,
        **{"metric_name": first["metric_name"], "metric": metric, "deviation": deviation},
        "standard_error": error,
        "lam_1se": _common_lam(runs, place, lam_1se),
        "lam_ratio_1se": lam_1se if place == "lam_ratio" else None,
        "metric_1se": metric_1se,
        "held_out": _held_out(runs),
        "runs": sum(map(len, metrics[lam].values())),
        "over": over,
    }


def _statistics(of_parts: Sequence[Sequence[float]]) -> tuple[float, float, float | None]:
    """Return mean, standard deviation and standard error of the metrics, given the metrics of each fold.

    The standard error is None if there is only one fold.
    """
    metrics = np.concatenate(of_parts)
    n_parts = len(of_parts)
    error = None
    if n_parts > 1:
        error = float(np.std([np.mean(found) for found in of_parts], ddof=1) / math.sqrt(n_parts))
    return float(np.mean(metrics)), float(np.std(metrics)), error


def _largest_lam(over: Sequence[list[Any]], least: float) -> list[Any]:
    """Return the entry of the largest λ whose mean is at least ``least``, up to rounding."""
    return next(one for one in over if one[1] >= least or math.isclose(one[1], least, rel_tol=EQUAL_MEANS))


def _common_lam(runs: Sequence[Mapping[str, Any]], place: str, value: float | None) -> float | None:
    """Return the λ of the runs whose field ``place`` equals ``value``, or None if they have several λ."""
    lams = {run["lam"] for run in runs if run[place] == value}
    return lams.pop() if len(lams) == 1 else None


def _held_out(runs: Sequence[Mapping[str, Any]]) -> str:
    """Describe the held-out data on which the metric was computed."""
    parts = {run["options"]["cv"].partition("/")[2] for run in runs if run["options"].get("cv")}
    return f"{'/'.join(sorted(parts))} parts" if parts else TEST
