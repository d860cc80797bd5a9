"""Pseudocode of solvers, with the numbers of an iterate filled in.

The pseudocode of a solver, also of a plug-in, is the file ``<id>.txt`` next to its module or in a folder
``pseudocode`` there:

    Zhong et al. 2014, Algorithm 2                    the source, in the first line
    repeat:                                           one step per line, indented as needed
      t ← 1, β, β², … until f(w + td) ≤ f(w) + σtΔ
          ? step > 0                                  a condition on the iterate
          » t = {step}, trials: {ls_trials}           the report then: fields in braces
      order: $order                                   a hyper-parameter of the run
          @ rule = zhong | none, order != cyclic      hyper-parameters for which the line applies

Conditions on iterates are those of :mod:`.breakpoints`. Several conditions on hyper-parameters must all hold.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ..declare import parameters
from ..methods.iterate import FIELDS
from ..methods.solver import Solver
from .breakpoints import Condition, Values

#: A field in the report of a step, and a hyper-parameter in its text.
PLACE, OPTION = re.compile(r"\{(\w+)\}"), re.compile(r"\$(\w+)")
#: A condition on a hyper-parameter.
PARAM_CONDITION = re.compile(r"(\w+) (=|!=) (\S+(?: \| \S+)*)")


@dataclass(frozen=True)
class Choice:
    """A condition that a hyper-parameter has one of these values or, if ``negated``, none of them."""

    name: str
    values: tuple[str, ...]
    negated: bool

    @classmethod
    def parse(cls, text: str) -> Choice:
        """Return the condition ``name = value | value`` or ``name != value``; raise ValueError for any other
        string."""
        if (found := PARAM_CONDITION.fullmatch(text)) is None:
            raise ValueError(f"{text!r} is no condition on a hyper-parameter: write name = value | value")
        return cls(found[1], tuple(found[3].split(" | ")), found[2] == "!=")

    def holds(self, params: Mapping[str, Any]) -> bool:
        """Return whether the condition holds for these hyper-parameters."""
        return (as_text(params[self.name]) in self.values) != self.negated


def as_text(value: Any) -> str:
    """Return the value of a hyper-parameter as it is written on the command line."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Step:
    """A line of an algorithm: its ``text``, in which a $ precedes names of hyper-parameters.

    ``when`` is the condition on which an iterate reports about the line (None: never). ``says`` is the
    template of the report, with names of fields in braces. ``only`` restricts the line to some values of
    hyper-parameters.
    """

    text: str
    when: Condition | None = None
    says: str = ""
    only: tuple[Choice, ...] = ()

    @property
    def options(self) -> set[str]:
        """Return the hyper-parameters on which the step depends."""
        return {choice.name for choice in self.only} | set(OPTION.findall(self.text))

    def with_params(self, params: Mapping[str, Any]) -> Step:
        """Return the step with the values of hyper-parameters in its text."""
        return replace(self, text=OPTION.sub(lambda place: as_text(params[place[1]]), self.text), only=())

    @property
    def fields(self) -> list[str]:
        """Return the fields of the record in its report."""
        return PLACE.findall(self.says)

    def matches(self, values: Values, before: Values) -> bool:
        """Return whether an iterate reports about the line.

        ``values`` are those of the iterate, by field, and ``before`` those of the previous one.
        """
        return self.when is not None and self.when.holds(values, before)

    def filled(self, values: Values, write: Callable[[Any], str] = str) -> str:
        """Return the report on an iterate with these values, each formatted with ``write``.

        Return "" if one of the values is unknown.
        """
        if any(values[name] is None for name in self.fields):
            return ""
        return PLACE.sub(lambda place: write(values[place[1]]), self.says)


@dataclass(frozen=True)
class Pseudocode:
    """An algorithm: its source, and its steps in order."""

    source: str
    steps: tuple[Step, ...]

    @classmethod
    def parse(cls, text: str) -> Pseudocode:
        """Return the algorithm in a string; raise ValueError if a line is invalid."""
        source, *lines = (line.rstrip() for line in text.splitlines() if line.strip())
        steps: list[Step] = []
        for line in lines:
            sign, _, rest = line.strip().partition(" ")
            if sign not in ("?", "»", "@"):
                steps.append(Step(line))
            elif not steps:
                raise ValueError(f"{line.strip()!r} comes before any step: put it below the step it is about")
            elif sign == "@":
                choices = [Choice.parse(part.strip()) for part in rest.split(",")]
                steps[-1] = replace(steps[-1], only=(*steps[-1].only, *choices))
            elif sign == "?":
                steps[-1] = replace(steps[-1], when=Condition.parse(rest))
            else:
                steps[-1] = replace(steps[-1], says=rest)
                if unknown := [name for name in steps[-1].fields if name not in FIELDS]:
                    raise ValueError(
                        f"{unknown[0]!r} is no field of the record: name one of {', '.join(FIELDS)}"
                    )
        return cls(source, tuple(steps))

    def with_params(self, params: Mapping[str, Any]) -> Pseudocode:
        """Return the algorithm that a solver with these hyper-parameters follows."""
        steps = [step for step in self.steps if all(choice.holds(params) for choice in step.only)]
        return replace(self, steps=tuple(step.with_params(params) for step in steps))


@cache
def pseudocode(solver: type[Solver]) -> Pseudocode | None:
    """Return the pseudocode of a solver.

    Parameters
    ----------
    solver : type
        The class of the solver.

    Returns
    -------
    Pseudocode or None
        None if there is no file ``<id>.txt`` for the solver. The namespace of a plug-in is not part of that
        name.

    Raises
    ------
    ValueError
        If a line of the file is invalid.

    Examples
    --------
    >>> from solverscope import solvers
    >>> solvers.pseudocode(solvers.SOLVERS["lbfgs"]).steps[0].text
    'repeat:'
    """
    name = f"{solver.id.removeprefix(f'{solver.namespace}-')}.txt"
    try:
        folder = Path(inspect.getfile(solver)).parent
    except (TypeError, OSError):  # a class that was typed in, as in a notebook
        return None
    path = next((path for path in (folder / name, folder / "pseudocode" / name) if path.is_file()), None)
    if path is None:
        return None
    try:
        algorithm = Pseudocode.parse(path.read_text(encoding="utf-8"))
        known = {parameter.name for parameter in parameters(solver)} if is_dataclass(solver) else set()
        if unknown := set().union(*(step.options for step in algorithm.steps)) - known:
            raise ValueError(f"{min(unknown)!r} is no hyper-parameter of {solver.id}")
        return algorithm
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
