"""Penalty factors of features: numbers, strings with names of features, and those of an adaptive Lasso."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .declare import Trait, number
from .problems.problem import Problem
from .problems.weight_names import Names
from .registry import make_solver

#: In place of factors: those of an adaptive Lasso.
ADAPTIVE = "adaptive"
#: What a record says of factors that were given as an array, which it does not hold.
GIVEN = "given"
#: λ of the ridge that adaptive factors are from, for an average loss.
ADAPTIVE_RIDGE = 1e-4
#: Violation of its weights relative to that at w = 0, and iterations at most.
RIDGE_TOL, RIDGE_ITERATIONS = 1e-9, 2_000
#: Digits of adaptive factors, and the least share of the largest weight that counts: fewer digits than the
#: ridge is solved to, so that the key of the problem is the same on all machines.
DIGITS, LEAST_WEIGHT = 4, 1e-6


def factors_of_features(given: Any, data: Any, ridge: Callable[[float], Problem]) -> tuple[Any, str | None]:
    """Return the penalty factors v of the features of a data set, and the string for the record.

    ``given`` is None or an array, which is returned as it is. Or it is a mapping from names to factors, or a
    string "NAME=FACTOR,...": all others are 1. Or it is "adaptive": 1/‖w_j‖ with the weights w of a ridge
    problem. ``ridge`` returns this problem for a λ of an average loss. Raises ValueError if the factors are
    invalid.
    """
    if given is None or (isinstance(given, str) and not given.strip()):
        return None, None
    n_features = data.train.X.shape[1]
    if isinstance(given, str) and given.strip() == ADAPTIVE:
        factors = _adaptive(ridge(ADAPTIVE_RIDGE), n_features)
        return factors, ADAPTIVE
    if not isinstance(given, str | Mapping):
        return given, GIVEN
    text = given if isinstance(given, str) else ",".join(f"{name}={v}" for name, v in given.items())
    factors = np.ones(n_features)
    for name, factor in _pairs(text).items():
        factors[_place(name, data, n_features)] = factor
    return factors, text.strip()


def check_penalty_factors(text: str) -> None:
    """Raise ValueError if a string is not "adaptive", "NAME=FACTOR,..." or empty.

    Parameters
    ----------
    text : str
        Penalty factors as for :func:`solvers.make_problem`; the names are not checked.

    Examples
    --------
    >>> from solverscope import solvers
    >>> solvers.check_penalty_factors("age=0,pixel (3, 5)=2.5")
    """
    if text.strip() not in ("", ADAPTIVE):
        _pairs(text)


def _pairs(text: str) -> dict[str, float]:
    """Return the factors in "NAME=FACTOR,..." by name; raise ValueError if the string is invalid."""
    found, before = {}, ""
    for part in text.split(","):
        name, equals, factor = part.rpartition("=")
        if not equals:  # a comma within a name
            before += f"{part},"
            continue
        name, before = f"{before}{name}".strip(), ""
        found[name] = number(f"penalty factor of {name}", factor, low=0.0)
    if before or "" in found:
        raise ValueError(
            f"penalty factors {text!r:.80}: write {ADAPTIVE}, or NAME=FACTOR,... with names of features"
        )
    return found


def _place(name: str, data: Any, n_features: int) -> int:
    """Return the index of the feature with this name, or this number from 1; raise ValueError if there is
    none."""
    names = Names.of(data, 1)
    for j in range(n_features):
        if names.feature(j) == name:
            return j
    if name.isdecimal() and 1 <= int(name) <= n_features:
        return int(name) - 1
    raise ValueError(f"penalty factors: there is no feature {name!r}, by name or by number from 1")


def _adaptive(problem: Problem, n_features: int) -> np.ndarray:
    """Return 1/‖w_j‖ of each feature for the weights w that minimize a ridge problem."""
    if Trait.SMOOTH not in problem.loss.traits:
        raise ValueError(f"adaptive penalty factors need a smooth loss, and {problem.loss.id} has kinks")
    goal, best = RIDGE_TOL * problem.violation_at_zero(), math.inf
    w = np.zeros(problem.size)
    for it in make_solver("lbfgs").iterate(problem):
        problem.pulse()
        if it.w is not None and it.objective <= best:
            w, best = it.w.copy(), it.objective
        if it.violation <= goal or it.iteration >= RIDGE_ITERATIONS:
            break
    m = problem.loss.n_outputs
    sizes = np.linalg.norm(w[: n_features * m].reshape(n_features, m), axis=1)
    largest = float(sizes.max(initial=0.0))
    if not largest:
        raise ValueError("adaptive penalty factors are 1/|w| of a ridge, and all its weights are 0")
    inverse = 1.0 / np.maximum(sizes, LEAST_WEIGHT * largest)
    unit = 10.0 ** (np.floor(np.log10(inverse)) - (DIGITS - 1))
    return np.round(inverse / unit) * unit
