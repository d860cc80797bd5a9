"""Iterates of recorded runs to continue from: the problem is rebuilt, and must be the same."""

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
    """Return the file and the run that ``FILE[#LABEL]`` names.

    Raises ValueError if it names none or several. ``example`` tells how to name one, with
    ``{run}`` in place of file and label.
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

    ``text`` is how it was specified, ``FILE[#LABEL]@ITERATION``, and ``file`` is the file. ``problem`` is the
    record of the problem at that iterate, and ``origin`` the iterate itself.
    """

    text: str
    file: str
    problem: Mapping[str, Any]
    origin: solvers.Origin

    @classmethod
    def parse(cls, text: str) -> ResumePoint:
        """Read ``FILE[#LABEL]@ITERATION``.

        Raises ValueError if the text does not specify an iterate of a run.
        """
        name, at, number = text.rpartition("@")
        if not (at and name):
            raise ValueError(f"--from {text} names no iterate: write --from FILE[#LABEL]@ITERATION")
        iteration = arguments.number(f"--from {name}@ITERATION", number, low=0, kind=int)
        file, found = run_of_file(name, f"--from '{{run}}@{iteration}'")
        return cls(text, file, about_at(found, iteration), solvers.origin_of(found, iteration))

    @property
    def suffix(self) -> str:
        """Return the suffix of the labels of branches."""
        return f" from {self.origin.iteration}"

    @property
    def choice(self) -> arguments.SolverChoice:
        """Return the solver that runs if none is given: that of the old run."""
        return arguments.SolverChoice(self.origin.label + self.suffix, self.origin.solver.id, {})

    def params(self, tol: float | None) -> dict[str, dict[str, Any]]:
        """Return the hyper-parameters of the old run under the id of its solver, as defaults of the branch.

        The old tolerance is reduced to ``tol`` if it is larger: else it would end the branch too early.
        """
        params = asdict(self.origin.solver)
        if tol is not None and "tol" in params:
            params["tol"] = min(tol, params["tol"])
        return {self.origin.solver.id: params}
