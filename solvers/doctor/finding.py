"""Findings, and the changes of a run that confirm or refute them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..methods.solver import Solver

#: What to do about a solver of one's own for whose slowness there is no reason.
IF_WRONG = "If it is yours, solverscope check FILE says whether it is right."


@dataclass(frozen=True)
class Remedy:
    """A change of a run's settings whose effect confirms or refutes a finding.

    Attributes
    ----------
    says : str
        The change in short words, as ``memory=20``.
    solver : Solver or None
        The solver of the second run; None for the same.
    problem : mapping
        Changed parts of the problem: ``options`` of the data, ``lam``, ``penalty_factors``.
    tol : float or None
        The tolerance of the second run; None for the objective that the run reached.
    setup : bool
        Whether set-up counts as cost.
    """

    says: str
    solver: Solver | None = None
    problem: Mapping[str, Any] = field(default_factory=dict)
    tol: float | None = None
    setup: bool = False


@dataclass(frozen=True)
class Finding:
    """A reason why a run is slow.

    Attributes
    ----------
    id : str
        The name of the reason.
    text : str
        A sentence with the numbers that show it.
    share : float
        The estimated share of the run's cost that the reason explains, from 0 to 1.
    reference : str
        Where the reason is explained.
    remedy : Remedy or None
        The change of settings that would remove it, None if none is known.
    """

    id: str
    text: str
    share: float
    reference: str
    remedy: Remedy | None = None
