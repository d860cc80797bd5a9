"""Base classes of exported benchmarks: our data sets, objectives and solvers as classes of benchopt.

Importing this module requires benchopt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

# installed wherever this is imported
from benchopt import BaseDataset, BaseObjective, BaseSolver  # pyright: ignore[reportMissingImports]

from solverscope import datasets, solvers
from solverscope.app import plugins
from solverscope.solvers.declare import MOST_SEED

plugins.load_all()


def load_plugins(file: str) -> None:
    """Load the plug-ins of an exported benchmark; ``file`` is one of its files.

    They are in its folder ``plugins``, those with a namespace in a subfolder of that name. A file whose
    content is already loaded from another path is skipped.
    """
    here = Path(file).resolve().parent
    folder = next(place for place in (here / "plugins", here.parent / "plugins") if place.is_dir())
    there = {(namespace, path.read_bytes()) for namespace, path in map(plugins.parsed, plugins.loaded())}
    for path in sorted(folder.rglob("*.py")):
        namespace = "" if path.parent == folder else path.parent.name
        if (namespace, path.read_bytes()) not in there:
            plugins.load_file(path, namespace)


def _chosen(component: Any) -> dict[str, Any]:
    """Return the values of a component's parameters, whose keys may be several names separated by commas."""
    names = [name.strip() for key in component.parameters for name in key.split(",")]
    return {name: getattr(component, name) for name in names}


class RegistryDataset(BaseDataset):
    """A data set of the registry; its parameters are the options of the data set and ``seed``."""

    data: ClassVar[str]

    def get_data(self) -> dict[str, Any]:
        return {"data": datasets.load(self.data, **_chosen(self))}


class ProblemObjective(BaseObjective):
    """The objective f(w); its parameters, and ``fixed``, are arguments of :func:`solvers.make_problem`."""

    fixed: ClassVar[Mapping[str, Any]] = {}
    sampling_strategy = "callback"
    min_benchopt_version = "1.7"

    def skip(self, data: datasets.Dataset) -> tuple[bool, str | None]:
        try:
            self._make(data)
        except ValueError as error:
            return True, str(error)
        return False, None

    def set_data(self, data: datasets.Dataset) -> None:
        self.problem = self._make(data)

    def get_objective(self) -> dict[str, Any]:
        return {"problem": self.problem}

    def evaluate_result(self, w: np.ndarray) -> dict[str, float]:
        point = self.problem.at(w)
        found = {"value": point.objective, "violation": point.violation(), "nnz": point.sparsity()[0]}
        if self.problem.has_test:
            found[f"test_{self.problem.loss.metric_name.replace(' ', '_')}"] = self.problem.test_metric(w)
        return found

    def get_one_result(self) -> dict[str, np.ndarray]:
        return {"w": self.problem.at().w}

    def _make(self, data: datasets.Dataset) -> solvers.Problem:
        return solvers.make_problem(data, **self.fixed, **_chosen(self))


class RegistrySolver(BaseSolver):
    """The solver ``solver_id`` of the registry; its parameters are hyper-parameters.

    A randomized solver whose seed is not a parameter gets another seed in each repetition. Compilation, and
    arrays derived from the data, are part of the warm-up, which benchopt does not time.
    """

    solver_id: ClassVar[str]
    sampling_strategy = "callback"

    def skip(self, problem: solvers.Problem) -> tuple[bool, str | None]:
        reason = solvers.why_not_solver_on(self.solver_id, problem)
        reason = reason or self._make().refuses(problem)
        return reason is not None, reason

    def set_objective(self, problem: solvers.Problem) -> None:
        solver, seed = self._make(), {}
        if solver.random and "seed" not in self.parameters:
            seed = {"seed": self.get_seed(use_repetition=True) % (MOST_SEED + 1)}
        self.problem, self.w = problem, problem.at().w
        self.solver = self._make(**seed).prepare(problem)

    def warm_up(self) -> None:
        warm_up = self.solver.warm_up_solver().iterate(self.problem.tiny())
        for _, _ in zip(range(4), warm_up, strict=False):
            pass
        self.run_once()

    def run(self, callback: Callable[[], bool]) -> None:
        for iterate in self.solver.iterate(self.problem):
            if iterate.w is not None:
                self.w = iterate.w
                if not callback():
                    break

    def get_result(self) -> dict[str, np.ndarray]:
        return {"w": self.w}

    def _make(self, **more: Any) -> solvers.Solver:
        return solvers.make_solver(self.solver_id, **_chosen(self), **more)
