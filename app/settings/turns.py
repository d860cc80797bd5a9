"""Changes of λ at given iterates of a run, as ``--lam-at`` names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from solverscope.solvers import Gate, Iterate, Run

from .arguments import assignments, number

#: λ from an iterate on: the number of the first one, and λ.
Turn = tuple[int, float]


def parse(texts: Sequence[str]) -> tuple[Turn, ...]:
    """Read ``ITERATION=LAM`` each; ValueError, one sentence, if one is not right."""
    turns = (
        (number("--lam-at", first, low=1, kind=int), number(f"--lam-at {first} =", lam, above=0))
        for first, lam in assignments("--lam-at", texts).items()
    )
    return tuple(sorted(turns))


@dataclass(frozen=True)
class Dial:
    """A gate that changes λ of a run on the way, and else is the one that it is given."""

    gate: Gate[Run]
    turns: Sequence[Turn]

    def pulse(self) -> None:
        self.gate.pulse()

    def step(self, run: Run, iterate: Iterate) -> None:
        for first, lam in self.turns:
            if first == iterate.iteration + 1:
                run.set_lam(lam)
        self.gate.step(run, iterate)
