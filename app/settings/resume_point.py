"""Iterates of recorded runs from which new runs continue.

The problem is rebuilt from the record of the old run, and must be the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from solverscope import solvers
from solverscope.solvers.traces.reading import read
from solverscope.solvers.traces.segments import about_at
from solverscope.solvers.traces.trace import Trace

from . import arguments


def run_of_file(name: str, example: str) -> tuple[str, Trace]:
    """Return the path of a file and the run in it that ``FILE[#LABEL]`` names.

    Raises ValueError unless there is exactly one such run. ``example`` is shown in the error message, with
    ``{run}`` replaced by file and label.
    """
    file, _, label = name.rpartition("#") if "#" in name and not Path(name).exists() else (name, "", "")
    traces = read(file)
    labels = [trace.info.label for trace in traces]
    found = [trace for trace in traces if label in ("", trace.info.label)]
    if not found:
        raise ValueError(f"{file} has no run labelled {label!r}, only {', '.join(labels)}")
    if len(found) > 1 and label:
        raise ValueError(f"{file} has {len(found)} runs labelled {label!r}: give a file with one of them")
    if len(found) > 1:
        choice = example.format(run=f"{file}#{labels[0]}")
        raise ValueError(f"{file} has the runs {', '.join(labels)}: name one, as {choice}")
    return file, found[0]


@dataclass(frozen=True)
class ResumePoint:
    """An iterate of a recorded run, from which new runs continue.

    ``text`` is the specification ``FILE[#LABEL]@ITERATION``, and ``file`` the path of the file. ``problem``
    is the record of the problem at that iterate, and ``origin`` the iterate itself.
    """

    text: str
    file: str
    problem: Mapping[str, Any]
    origin: solvers.Origin

    @classmethod
    def parse(cls, text: str) -> ResumePoint:
        """Parse ``FILE[#LABEL]@ITERATION`` and read the iterate.

        Raises ValueError if there is no such iterate.
        """
        name, at, number = text.rpartition("@")
        if not (at and name):
            raise ValueError(f"--from {text} names no iterate: write --from FILE[#LABEL]@ITERATION")
        iteration = arguments.number(f"--from {name}@ITERATION", number, low=0, kind=int)
        file, found = run_of_file(name, f"--from '{{run}}@{iteration}'")
        return cls(text, file, about_at(found, iteration), solvers.origin_of(found, iteration))

    @property
    def suffix(self) -> str:
        """Return the suffix that labels of branches get."""
        return f" from {self.origin.iteration}"

    @property
    def choice(self) -> arguments.SolverChoice:
        """Return the solver that is used if none is given: the solver of the old run."""
        return arguments.SolverChoice(self.origin.label + self.suffix, self.origin.solver.id, {})

    def params(self, tol: float | None) -> dict[str, dict[str, Any]]:
        """Return the hyper-parameters of the old run by solver id, as defaults of the branch.

        A tolerance larger than ``tol`` is reduced to ``tol``, as the branch would end too early otherwise.
        """
        params = asdict(self.origin.solver)
        if tol is not None and "tol" in params:
            params["tol"] = min(tol, params["tol"])
        return {self.origin.solver.id: params}
