"""Declarations of hyper-parameters that several solvers share."""

from __future__ import annotations

from dataclasses import MISSING, field
from typing import Any

from ..declare import param


def as_in(cls: type, name: str, *, default: Any = MISSING, help: str = "") -> Any:
    """Declare the hyper-parameter ``name`` of another class, optionally with another default or help."""
    there = cls.__dataclass_fields__[name]
    metadata = there.metadata | {"help": help} if help else there.metadata
    return field(default=there.default if default is MISSING else default, metadata=metadata)


def tol_param() -> float:
    """Declare the hyper-parameter ``tol``, relative to the violation at w = 0."""
    return param(
        1e-9,
        "ε: violation, relative to that at w = 0, at which the solver ends",
        low=0.0,
        high=1.0,
        title="own tolerance ε",
    )


def cooling_start_param() -> float:
    """Declare the hyper-parameter ``cooling_start``, for shrinking in epochs."""
    return param(
        0.1,
        "shrinking stop ε_s of the first epoch",
        low=0.0,
        high=1.0,
        open_low=True,
        title="cooling: first ε_s",
    )


def cooling_param() -> float:
    """Declare the hyper-parameter ``cooling``, for shrinking in epochs."""
    return param(
        0.1,
        "factor of ε_s from epoch to epoch",
        low=0.0,
        high=1.0,
        open_low=True,
        title="cooling: factor of ε_s",
    )
