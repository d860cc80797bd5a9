"""Checks by name, and findings: what a check says is wrong, with the smallest case that shows it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .case import CheckCase


class Fault(NamedTuple):
    """A claim that does not hold at an iterate, as a sentence with numbers; -1 for no iterate.

    ``quantity`` is what is wrong, if it is not the check's own.
    """

    sentence: str
    iteration: int = -1
    quantity: str = ""


#: What a check yields and returns: its faults, and why it does not apply, if it compared nothing.
Faults = Generator[Fault, None, str | None]


@dataclass(frozen=True)
class Check:
    """A check: its name, the quantity it is about, and the claim that it tests.

    ``find`` yields a fault for each iterate at which the claim does not hold, the first one first. It returns
    why the check does not apply if there is nothing to compare.
    """

    name: str
    quantity: str
    claim: str
    find: Callable[[Any], Faults]

    def outcome(self, tested: Any) -> Fault | str | None:
        """Return the first fault, why the check does not apply, or None if the claim holds."""
        faults = self.find(tested)
        try:
            return next(faults)
        except StopIteration as end:
            return end.value

    def first(self, tested: Any) -> Fault | None:
        """Return the first fault, or None."""
        found = self.outcome(tested)
        return found if isinstance(found, Fault) else None


class Checks(list[Check]):
    """A list of checks, filled by a decorator."""

    def __call__(self, quantity: str, claim: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return a decorator that adds a function to the list."""

        def add(find: Callable[..., Any]) -> Callable[..., Any]:
            self.append(Check(find.__name__, quantity, claim, find))
            return find

        return add


def common(reasons: Sequence[str | None]) -> str | None:
    """Return why a check applies to none of several things, in the words of the first; None if to one."""
    return reasons[0] if reasons and all(reasons) else None


@dataclass(frozen=True)
class CheckFailure:
    """What a check found.

    Attributes
    ----------
    tested : str
        Id of the solver, loss, penalty or data set.
    check, quantity, claim : str
        The name of the check, what is wrong, and what should hold.
    sentence : str
        What is wrong, with numbers.
    iteration : int
        The first iterate at which it is; -1 for none.
    case : CheckCase or None
        The smallest problem found that shows it.
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
