"""Options of data sets, declared once for the command line, the page and Python."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import DataError


def holds(when: str, options: Mapping[str, Any]) -> bool:
    """Return whether options have the values listed in ``when``, such as "task=binary,split=given".

    An empty ``when`` always holds.
    """
    terms = (term.partition("=") for term in when.split(",") if term)
    return all(str(options[name]) == value for name, _, value in terms)


@dataclass(frozen=True)
class Option:
    """An option of a data set: a choice, a number within bounds, or a string.

    Attributes
    ----------
    name, title : str
        Its name in scripts and in forms.
    default : int, float, str or None
        Its default; if that is an integer, the option only accepts integers.
    help : str
        A short description.
    low, high : float, optional
        Bounds, both inclusive.
    choices : tuple of str, optional
        The strings that it accepts, in addition to numbers if there are bounds.

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
        """Return the type of numbers that the option accepts; return None if it accepts only strings."""
        if isinstance(self.default, int):
            return int
        if isinstance(self.default, float) or self.low is not None or self.high is not None:
            return float
        return None

    @property
    def allowed(self) -> str:
        """Return a description of the allowed values."""
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
        """Return the checked value of the option, which may be given as a string.

        Raises DataError if it is invalid; the message lists what is allowed.
        """
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
