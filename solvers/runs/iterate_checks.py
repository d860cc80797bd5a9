"""Validation of the iterates of solvers: a plug-in may yield anything."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..methods.iterate import FIELDS, Iterate, checked_own
from ..search.outcome import SearchLog
from ..traces.records import printable


class BadIterate(ValueError):
    """Raised if a solver has yielded an invalid iterate."""


def check(iterate: Any, solver: str, size: int, before: int) -> None:
    """Raise BadIterate unless ``iterate`` is valid, has ``size`` weights, and a number above ``before``.

    Control characters are removed from its strings.
    """
    if not isinstance(iterate, Iterate):
        kind = type(iterate).__name__
        raise BadIterate(f"{solver} yields {kind}: yield solvers.Iterate.at(point, n, ...)")
    n = iterate.iteration
    if isinstance(n, bool) or not isinstance(n, int | np.integer):
        raise BadIterate(f"{solver} yields an iterate with number {_short(n)}: give it a whole number")
    if n <= before:
        follows = "below 0" if before < 0 else f"after iterate {before}"
        raise BadIterate(f"{solver} yields iterate {n} {follows}: number iterates upwards from 0")
    for field in FIELDS.values():
        value = getattr(iterate, field.name)
        if field.numeric:
            if not _is_number(value):
                said = f"{solver} yields {_short(value)} for {field.name} at iteration {n}"
                raise BadIterate(f"{said}: give a number, or leave it out")
        elif field.type is tuple:
            setattr(iterate, field.name, _texts(value, solver, field.name, n))
        elif value is not None:
            setattr(iterate, field.name, _texts((value,), solver, field.name, n)[0])
    if iterate.own:
        try:
            iterate.own = checked_own(iterate.own)
        except ValueError as error:
            raise BadIterate(f"{solver} yields an invalid field at iteration {n}: {error}") from None
    if iterate.violation < 0.0:
        raise BadIterate(
            f"{solver} yields the violation {iterate.violation:g} at iteration {n}: it is 0 or more, or nan "
            "if it is not known"
        )
    line = iterate.live.get("line")
    if line is not None and not isinstance(line, SearchLog):
        raise BadIterate(
            f"{solver} yields a {type(line).__name__} as its line at iteration {n}: give the result of its "
            "search to Iterate.at as found=, or a solvers.Search as live line"
        )
    if iterate.w is not None:
        _check_weights(iterate.w, solver, size, n)


def _is_number(value: Any) -> bool:
    if type(value) is float or type(value) is int:
        return True
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _texts(values: Any, solver: str, name: str, n: int) -> tuple[str, ...]:
    if isinstance(values, tuple | list):
        for value in values:
            if not isinstance(value, str):
                raise BadIterate(f"{solver} yields {_short(value)} in {name} at iteration {n}: give a text")
        return tuple(map(printable, values))
    raise BadIterate(f"{solver} yields {_short(values)} for {name} at iteration {n}: give a tuple of texts")


def _check_weights(w: Any, solver: str, size: int, n: int) -> None:
    if not isinstance(w, np.ndarray) or w.dtype.kind not in "fiu" or w.shape != (size,):
        given = f"an array of {w.dtype} of shape {w.shape}" if isinstance(w, np.ndarray) else _short(w)
        raise BadIterate(
            f"{solver} yields {given} for w at iteration {n}: give an array of {size} numbers, the weights"
        )
    with np.errstate(all="ignore"):
        if math.isfinite(w.sum()):  # without a vector of truths
            return
    if (bad := np.flatnonzero(~np.isfinite(w))).size:
        raise BadIterate(f"weight {bad[0]} became {w[bad[0]]} at iteration {n}, {bad.size} of {size} in all")


def _short(value: Any) -> str:
    try:
        return printable(f"{value!r:.40}")
    except Exception:  # a plug-in's __repr__ may raise anything
        return f"a value of type {type(value).__name__}"
