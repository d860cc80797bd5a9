"""Changes of λ at given iterates of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from solverscope.solvers import Gate, Iterate, Run

#: An iteration and the λ that is used from this iteration on.
LamChange = tuple[int, float]


@dataclass(frozen=True)
class LamChangeGate:
    """A gate that wraps another one and changes λ of a run at given iterations."""

    gate: Gate[Run]
    changes: Sequence[LamChange]

    def pulse(self) -> None:
        self.gate.pulse()

    def step(self, run: Run, iterate: Iterate) -> None:
        for first, lam in self.changes:
            if first == iterate.iteration + 1:
                run.set_lam(lam)
        self.gate.step(run, iterate)
