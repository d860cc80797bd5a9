"""Findings about a run, and the changes of settings that confirm or refute them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..methods.solver import Solver

#: Advice for a user's own solver if no rule explains why it is slow.
IF_WRONG = "If it is yours, solverscope check FILE says whether it is right."


@dataclass(frozen=True)
class Remedy:
    """A change of a run's settings whose effect confirms or refutes a finding.

    Attributes
    ----------
    says : str
        A short description of the change, such as ``memory=20``.
    solver : Solver or None
        The solver of the second run; None for the same solver.
    problem : mapping
        Changes of the problem: ``options`` of the data, ``lam``, ``penalty_factors``.
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
        The id of the reason.
    text : str
        The reason in a sentence, with the numbers that show it.
    share : float
        The estimated fraction of the run's cost that is due to the reason, from 0 to 1.
    reference : str
        A reference that explains the reason.
    remedy : Remedy or None
        The change of settings that would remove the reason; None if none is known.
    """

    id: str
    text: str
    share: float
    reference: str
    remedy: Remedy | None = None
