"""Sizes of a paper's data and of the data of runs, and their comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from solverscope.app.papers.measures import Case, ExhibitRun
from solverscope.app.settings.recipe import Recipe
from solverscope.app.sweep.spec import apart

#: Relative difference beyond which sizes do not match.
TENTH = 0.1
#: Names of the parts of a size.
PARTS = {"n": "instances", "d": "features", "classes": "classes"}
RECORDED = {"n": "n_samples", "d": "n_features", "classes": "n_outputs"}


@dataclass(frozen=True)
class DataSize:
    """Numbers of training instances, features and classes; None if unknown.

    ``about`` is true if the paper rounds them to the first digit.
    """

    n: int | None = None
    d: int | None = None
    classes: int | None = None
    about: bool = False

    @classmethod
    def of_run(cls, run: ExhibitRun) -> DataSize:
        """Return the size of a run's data, taken from its record."""
        problem = run.record.get("problem") or {}
        found = {part: problem.get(name) for part, name in RECORDED.items()}
        if found["classes"] is not None:
            found["classes"] = max(found["classes"], 2)  # two classes have one output
        return cls(**found)

    def differs(self, here: DataSize) -> str:
        """Describe the parts in which ``here`` differs by more than :meth:`slack`; return "" if none does."""
        said = []
        for part, name in PARTS.items():
            wanted, found = getattr(self, part), getattr(here, part)
            if wanted is not None and found is not None and abs(found - wanted) > self.slack(wanted):
                said.append(f"{found:,} {name} for {wanted:,}")
        return ", ".join(said)

    def slack(self, wanted: int) -> float:
        """Return the largest difference at which a number still matches ``wanted``.

        That is a tenth of ``wanted``, plus the rounding error if sizes are rounded.
        """
        rounded = 0.5 * 10.0 ** math.floor(math.log10(wanted)) if self.about else 0.0
        return TENTH * wanted + rounded

    def only(self, other: DataSize) -> DataSize:
        """Return the size without the parts that are unknown in ``other``."""
        return replace(self, **{part: None for part in PARTS if getattr(other, part) is None})

    def __str__(self) -> str:
        about = "about " * self.about
        said = [f"{about}{value:,} {name}" for part, name in PARTS.items() if (value := getattr(self, part))]
        return ", ".join(said) or "not printed"


class SizesOf(NamedTuple):
    """The sizes of a data set here and in the paper, and whether they match; None if it is not in
    the paper."""

    data: str
    here: DataSize
    paper: DataSize | None
    same: bool


@dataclass(frozen=True)
class Sizes:
    """The sizes of a paper's data sets.

    ``any_data`` is true for an exhibit that does not depend on the paper's data.
    """

    known: Mapping[str, DataSize]
    any_data: bool = False

    @classmethod
    def of(cls, table: Mapping[str, Mapping[str, Any]]) -> Sizes:
        return cls({text: DataSize(**size) for text, size in table.items()})

    def of_data(self, recipe: Recipe) -> DataSize | None:
        """Return the paper's size of a data set, or None if it is not in the paper.

        If several entries match its options, the one with the most options is used.
        """
        options = {name: str(value) for name, value in recipe.options.items()}
        fitting = []
        for text, size in self.known.items():
            id, wanted = apart(text)
            if id == recipe.data and wanted.items() <= options.items():
                fitting.append((len(wanted), size))
        return max(fitting, key=lambda one: one[0])[1] if fitting else None

    def differ(self, run: ExhibitRun) -> str:
        """Describe how the data of a run differ from the paper's; return "" if they do not."""
        if self.any_data:
            return ""
        size = self.of_data(run.problem)
        if size is None:
            return f"{run.problem.data} is not the paper's"
        said = size.differs(DataSize.of_run(run))
        return f"{run.problem.data} has {said}" if said else ""

    def table(self, cases: Sequence[Case]) -> list[SizesOf]:
        """Return a row for each data set of these problems."""
        rows = {}
        for case in cases:
            for run in case.runs.values():
                here = DataSize.of_run(run)
                if here.n is not None or here.d is not None:
                    paper = self.of_data(case.problem)
                    here = here if paper is None else here.only(paper)
                    rows[case.data] = SizesOf(case.data, here, paper, not case.differ)
        return list(rows.values())


#: The sizes of an exhibit that does not depend on the paper's data.
ANY_DATA = Sizes({}, any_data=True)
