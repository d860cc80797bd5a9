"""Options of data sets: declared once, read by the command line, the page and Python alike."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import DataError


def holds(when: str, options: Mapping[str, Any]) -> bool:
    """Return whether options have the values that ``when`` lists, as in "task=binary,split=given".

    An empty ``when`` always holds.
    """
    terms = (term.partition("=") for term in when.split(",") if term)
    return all(str(options[name]) == value for name, _, value in terms)


@dataclass(frozen=True)
class Option:
    """One option of a data set: a choice, a number within bounds, or a text.

    Attributes
    ----------
    name, title : str
        What scripts and forms call it.
    default : int, float, str or None
        An integer makes it take whole numbers.
    help : str
        What it does, in a few words.
    low, high : float, optional
        Bounds, both included.
    choices : tuple of str, optional
        Words that it takes, besides numbers if there are bounds.

    Examples
    --------
    >>> from solverscope import datasets
    >>> datasets.Option("n_samples", 400, "points", 20, 100_000).parse("1e3")
    1000
    """

    name: str
    default: Any
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] | None = None
    title: str = ""

    @property
    def numeric(self) -> type | None:
        """Return the type of numbers that the option takes; return None if it takes only words."""
        if isinstance(self.default, int):
            return int
        if isinstance(self.default, float) or self.low is not None or self.high is not None:
            return float
        return None

    @property
    def allowed(self) -> str:
        """Return the allowed values in words."""
        parts = [", ".join(self.choices)] if self.choices else []
        if self.numeric:
            kind = "a whole number" if self.numeric is int else "a number"
            if self.low is not None and self.high is not None:
                kind += f" from {self.low:,} to {self.high:,}"
            elif self.low is not None:
                kind += f" of at least {self.low:,}"
            elif self.high is not None:
                kind += f" of at most {self.high:,}"
            parts.append(kind)
        return " or ".join(parts) or "a text"

    def parse(self, value: Any) -> Any:
        """Return a value, given as a text or not, after checking it. Raises DataError with those allowed."""
        if value is None and self.default is None:
            return None
        text = str(int(value) if isinstance(value, bool) else value).strip()
        if self.choices and text in self.choices:
            return text
        if self.numeric:
            number = self._number(text)
            if number is not None:
                return number
        elif not self.choices and text:
            return text
        raise DataError(f"Option {self.name}={text!r} is not possible: it takes {self.allowed}.")

    def _number(self, text: str) -> int | float | None:
        try:
            number = float(text)
        except ValueError:
            return None
        if not math.isfinite(number) or (self.numeric is int and number != int(number)):
            return None
        if (self.low is not None and number < self.low) or (self.high is not None and number > self.high):
            return None
        return int(number) if self.numeric is int else number
