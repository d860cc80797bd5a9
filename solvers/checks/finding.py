"""Checks by name, and findings: failures of checks, with the smallest case that shows them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .case import CheckCase


class Fault(NamedTuple):
    """A claim that does not hold at an iterate, as a sentence with numbers; -1 stands for no iterate.

    ``quantity`` is the quantity at fault, if it is not that of the check.
    """

    sentence: str
    iteration: int = -1
    quantity: str = ""


#: What a check yields and returns: its faults, and why it does not apply, if it compared nothing.
Faults = Generator[Fault, None, str | None]


@dataclass(frozen=True)
class Check:
    """A check: its name, the quantity that it is about, and the claim that it tests.

    ``find`` is a generator of faults, one for each iterate at which the claim does not hold, in order. Its
    return value is the reason if the check does not apply, else None.
    """

    name: str
    quantity: str
    claim: str
    find: Callable[[Any], Faults]

    def outcome(self, tested: Any) -> Fault | str | None:
        """Return the first fault, or the reason why the check does not apply, or None if the claim holds."""
        faults = self.find(tested)
        try:
            return next(faults)
        except StopIteration as end:
            return end.value

    def first(self, tested: Any) -> Fault | None:
        """Return the first fault; return None if there is none."""
        found = self.outcome(tested)
        return found if isinstance(found, Fault) else None


class Checks(list[Check]):
    """A list of checks, to which a decorator adds functions."""

    def __call__(self, quantity: str, claim: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return a decorator that adds a function to the list, as a check of a quantity and a claim."""

        def add(find: Callable[..., Any]) -> Callable[..., Any]:
            self.append(Check(find.__name__, quantity, claim, find))
            return find

        return add


def common(reasons: Sequence[str | None]) -> str | None:
    """Return the first reason if a check applies to none of several things; None if it applies to one."""
    return reasons[0] if reasons and all(reasons) else None


@dataclass(frozen=True)
class CheckFailure:
    """The finding of a check.

    Attributes
    ----------
    tested : str
        Id of the solver, loss, penalty or data set.
    check, quantity, claim : str
        The name of the check, the quantity at fault, and the claim that should hold.
    sentence : str
        The fault, with numbers.
    iteration : int
        The first iterate with the fault; -1 for none.
    case : CheckCase or None
        The smallest problem found that shows the fault.
    """

    tested: str
    check: str
    quantity: str
    claim: str
    sentence: str
    iteration: int = -1
    case: CheckCase | None = None

    def describe(self) -> dict[str, Any]:
        """Return the finding as a record of type "finding"."""
        return {
            "type": "finding",
            "tested": self.tested,
            "check": self.check,
            "quantity": self.quantity,
            "iteration": self.iteration if self.iteration >= 0 else None,
            "sentence": self.sentence,
            "claim": self.claim,
            "problem": None if self.case is None else self.case.describe(),
        }

    def __str__(self) -> str:
        where = "" if self.iteration < 0 else f" at iteration {self.iteration}"
        on = "" if self.case is None else f", on {self.case}"
        return f"{self.tested}, {self.quantity}{where}: {self.sentence}{on}. It should be: {self.claim}."
