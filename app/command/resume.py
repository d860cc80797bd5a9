"""Going on from an iterate of a run that a file has: its problem is made again, and has to be the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import solvers
from solvers.runs.reading import read
from solvers.runs.segments import about_at

from ..settings import arguments

#: How the fields of a problem's record are set on the command line.
FLAGS = {
    **{"dataset": "DATASET", "options": "--option", "seed": "--seed", "loss": "--loss"},
    **{"penalty": "--penalty", "lam": "--lam", "average": "--average or --sum"},
}


@dataclass(frozen=True)
class Resumed:
    """An iterate of a run in a file: ``origin``, and the record of the ``problem``."""

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
        labels = [trace.info["label"] for trace in traces]
        found = [trace for trace in traces if label in ("", trace.info["label"])]
        if not found:
            raise ValueError(f"{file} has no run labelled {label!r}, only {', '.join(labels)}")
        if len(found) > 1 and label:
            raise ValueError(f"{file} has {len(found)} runs labelled {label!r}: give a file with one of them")
        if len(found) > 1:
            choice = f"{file}#{labels[0]}@{iteration}"
            raise ValueError(f"{file} has the runs {', '.join(labels)}: name one, as --from {choice!r}")
        return cls(file, about_at(found[0], iteration), solvers.origin_of(found[0], iteration))

    @property
    def suffix(self) -> str:
        """Return what labels of branches end in."""
        return f" from {self.origin.iteration}"

    def entrants(
        self, chosen: list[str], settings: list[str], tol: float | None
    ) -> list[tuple[str, solvers.Solver]]:
        """Return labels and solvers: by default the old run's. Its hyper-parameters hold where nothing else
        is given; only its tolerance is not above that of the branch, which it would end too early."""
        old = self.origin.solver
        params = asdict(old)
        if tol is not None and "tol" in params:
            params["tol"] = min(tol, params["tol"])
        parsed = arguments.choices(chosen, self.suffix)
        if not chosen:
            parsed = [arguments.Choice(self.origin.label + self.suffix, old.id, {})]
        return arguments.make_solvers(parsed, settings, self.problem["seed"], {old.id: params})

    def task(
        self, dataset: str | None, options: Mapping[str, str], seed: int | None, problem: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return what a task says of the problem: what is given of it, and else as the old run had it."""
        about = self.problem
        wanted = [name for name in ("loss", "penalty", "average", "lam") if problem[name] is None]
        if problem["lam_ratio"] is not None:
            wanted.remove("lam")
        old = about["options"] if dataset in (None, about["dataset"]) else {}
        return {
            "dataset": dataset or about["dataset"],
            "options": {name: str(value) for name, value in old.items() if value is not None} | dict(options),
            "seed": about["seed"] if seed is None else seed,
            "problems": [{**problem, **{name: about[name] for name in wanted}}],
            "resumed": self,
        }

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
