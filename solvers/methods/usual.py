"""Hyper-parameters that several solvers declare alike."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from ..declare import param


def as_in(cls: type, name: str) -> Any:
    """Declare a hyper-parameter as another class does."""
    there = cls.__dataclass_fields__[name]
    return field(default=there.default, metadata=there.metadata)


def tol_param() -> float:
    """Declare ``tol``, against the violation at w = 0."""
    return param(
        1e-9,
        "ε: violation relative to that at w = 0 at which it ends",
        low=0.0,
        high=1.0,
        title="own tolerance ε",
    )


def beta_param(help: str = "factor of the backtracking line search") -> float:
    """Declare ``beta`` of a backtracking search, by default along a direction."""
    return param(
        0.5,
        help,
        low=0.0,
        high=0.999,
        open_low=True,
        title="backtracking factor β",
    )


def sigma_param(default: float = 0.01) -> float:
    """Declare ``sigma`` of Armijo's rule."""
    return param(
        default,
        "share of the promised decrease that Armijo's rule asks for",
        low=0.0,
        high=0.5,
        title="decrease asked for σ",
    )


def cooling_start_param() -> float:
    """Declare ``cooling_start`` of shrinking in epochs."""
    return param(
        0.1,
        "shrinking stop ε_s of the first epoch",
        low=0.0,
        high=1.0,
        open_low=True,
        title="cooling: first ε_s",
    )


def cooling_param() -> float:
    """Declare ``cooling`` of shrinking in epochs."""
    return param(
        0.1,
        "factor of ε_s from epoch to epoch",
        low=0.0,
        high=1.0,
        open_low=True,
        title="cooling: factor of ε_s",
    )
