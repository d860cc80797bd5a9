"""Going on from an iterate of a run that a file has: its problem is made again, and has to be the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from solverscope import solvers
from solverscope.solvers.runs.reading import read
from solverscope.solvers.runs.segments import about_at

from . import arguments

#: How the fields of a problem's record are set on the command line.
FLAGS = {
    **{"dataset": "DATASET", "options": "--option", "seed": "--seed", "loss": "--loss"},
    **{"penalty": "--penalty", "lam": "--lam", "average": "--average or --sum"},
}


@dataclass(frozen=True)
class Resumed:
    """An iterate of a run in a file, as ``text`` names it: ``origin``, and the record of the ``problem``."""

    text: str
    file: str
    problem: Mapping[str, Any]
    origin: solvers.Origin

    @classmethod
    def parse(cls, text: str) -> Resumed:
        """Read ``FILE[#LABEL]@ITERATION``; ValueError, one sentence, if that is no iterate of a run."""
        name, at, number = text.rpartition("@")
        if not (at and name):
            raise ValueError(f"--from {text} names no iterate: write --from FILE[#LABEL]@ITERATION")
        iteration = arguments.number(f"--from {name}@ITERATION", number, low=0, kind=int)
        file, _, label = name.rpartition("#") if "#" in name and not Path(name).exists() else (name, "", "")
        traces = read(file)
        labels = [trace.info.label for trace in traces]
        found = [trace for trace in traces if label in ("", trace.info.label)]
        if not found:
            raise ValueError(f"{file} has no run labelled {label!r}, only {', '.join(labels)}")
        if len(found) > 1 and label:
            raise ValueError(f"{file} has {len(found)} runs labelled {label!r}: give a file with one of them")
        if len(found) > 1:
            choice = f"{file}#{labels[0]}@{iteration}"
            raise ValueError(f"{file} has the runs {', '.join(labels)}: name one, as --from {choice!r}")
        return cls(text, file, about_at(found[0], iteration), solvers.origin_of(found[0], iteration))

    @property
    def suffix(self) -> str:
        """Return what labels of branches end in."""
        return f" from {self.origin.iteration}"

    @property
    def choice(self) -> arguments.Choice:
        """Return what runs where no solver is given: the old run's."""
        return arguments.Choice(self.origin.label + self.suffix, self.origin.solver.id, {})

    def params(self, tol: float | None) -> dict[str, dict[str, Any]]:
        """Return the old run's hyper-parameters under its solver's id: they hold where nothing else is given.
        Only its tolerance is not above that of the branch, which it would end too early."""
        params = asdict(self.origin.solver)
        if tol is not None and "tol" in params:
            params["tol"] = min(tol, params["tol"])
        return {self.origin.solver.id: params}

    def recipe(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is given of the problem, and else as the old run had it, by the names of a recipe."""
        about = self.problem
        same = given["data"] in (None, about["dataset"])
        options = {n: str(v) for n, v in about["options"].items() if v is not None} if same else {}
        fields = ("loss", "penalty", "average", "seed", *(("lam",) if given["lam_ratio"] is None else ()))
        old = {"data": about["dataset"], **{name: about[name] for name in fields}}
        filled = {name: value for name, value in old.items() if given[name] is None}
        return {**given, **filled, "options": options | given["options"]}

    def check(self, problem: solvers.Problem) -> None:
        """Raise ValueError, one sentence, if this is another problem than that of the old run."""
        here = problem.describe()
        if here["key"] == self.problem["key"]:
            return
        other = (
            f"{flag} is {here[name]} instead of {self.problem[name]}"
            for name, flag in FLAGS.items()
            if here[name] != self.problem[name]
        )
        what = next(other, "the data, --loss-set, --penalty-set or the program differ")
        raise ValueError(
            f"a branch goes on with the problem of its run, and this is not that of {self.file}: {what}"
        )
