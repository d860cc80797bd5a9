"""Algorithms as text beside a run: which step an iterate tells about, with its numbers in place.

The text of a solver is the file ``<id>.txt``, beside its module or in a folder ``pseudocode`` there, for a
plug-in as well:

    Zhong et al. 2014, Algorithm 2                    the source, in the first line
    repeat:                                           a step a line, indented as wanted
      t ← 1, β, β², … until f(w + td) ≤ f(w) + σtΔ
          ? step > 0                                  when the iterate tells about it
          » t = {step}, trials: {ls_trials}           what it then says: fields in braces

Conditions are those of :mod:`.breakpoints`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ..methods.iterate import FIELDS
from ..methods.solver import Solver
from .breakpoints import Condition, Values

#: A field in what a step says.
PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Step:
    """A line of an algorithm: its ``text``; the condition under which an iterate tells about it, ``when``
    (None: none ever does); and what is then said, with names of fields in braces."""

    text: str
    when: Condition | None = None
    says: str = ""

    @property
    def fields(self) -> list[str]:
        """List the fields of the record that it says."""
        return PLACE.findall(self.says)

    def matches(self, values: Values, before: Values) -> bool:
        """Tell whether the iterate with these values, by field, tells about it; ``before`` are those of the
        iterate before."""
        return self.when is not None and self.when.holds(values, before)

    def filled(self, values: Values, write: Callable[[Any], str] = str) -> str:
        """Return what it says of an iterate with these values, each written by ``write``; nothing where one
        is not known."""
        if any(values[name] is None for name in self.fields):
            return ""
        return PLACE.sub(lambda place: write(values[place[1]]), self.says)


@dataclass(frozen=True)
class Pseudocode:
    """An algorithm: its source, and its steps in their order."""

    source: str
    steps: tuple[Step, ...]

    @classmethod
    def parse(cls, text: str) -> Pseudocode:
        """Read an algorithm; ValueError, one sentence, for a line that is wrong."""
        source, *lines = (line.rstrip() for line in text.splitlines() if line.strip())
        steps: list[Step] = []
        for line in lines:
            sign, _, rest = line.strip().partition(" ")
            if sign not in ("?", "»"):
                steps.append(Step(line))
            elif not steps:
                raise ValueError(f"{line.strip()!r} comes before any step: put it below the step it is about")
            elif sign == "?":
                steps[-1] = replace(steps[-1], when=Condition.parse(rest))
            else:
                steps[-1] = replace(steps[-1], says=rest)
                if unknown := [name for name in steps[-1].fields if name not in FIELDS]:
                    raise ValueError(
                        f"{unknown[0]!r} is no field of the record: name one of {', '.join(FIELDS)}"
                    )
        return cls(source, tuple(steps))


@cache
def pseudocode(solver: type[Solver]) -> Pseudocode | None:
    """Return the algorithm of a solver as text.

    Parameters
    ----------
    solver : type
        A solver's class.

    Returns
    -------
    Pseudocode or None
        None if there is no file ``<id>.txt`` for it.

    Raises
    ------
    ValueError
        If a line of the file is wrong.

    Examples
    --------
    >>> import solvers
    >>> solvers.pseudocode(solvers.SOLVERS["lbfgs"]).steps[0].text
    'repeat:'
    """
    name, folder = f"{solver.id}.txt", Path(inspect.getfile(solver)).parent
    path = next((path for path in (folder / name, folder / "pseudocode" / name) if path.is_file()), None)
    if path is None:
        return None
    try:
        return Pseudocode.parse(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
