"""Base class of all solvers."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import psutil

from ..compute.blas import advanced_on_one_thread
from ..declare import Declared, Trait, parameters, unmet_needs
from ..problems.certificates.optimality import Knows
from ..problems.losses.weighted import NEEDS_NO_WEIGHTS
from ..problems.problem import Problem
from .iterate import Ending, Iterate


class Solver(Declared):
    """Base of solvers: a frozen dataclass of hyper-parameters, with one generator :meth:`iterate`.

    Attributes
    ----------
    id, name, summary, paper : str
        Identifier, name, short description, and publication.
    needs : Trait
        The traits that a loss and a penalty must offer.
    knows : Knows
        The measures of optimality that its iterates have, all or some of them. The run computes the other
        measures from time to time.
    carries : tuple of str, or None
        The live references (:data:`.iterate.LIVE`) of its iterates that a view may need: some of "active",
        "variables", "line", "memory", "cuts" and "clustering". None if unknown.
    presets : mapping
        Named sets of hyper-parameters: see :func:`.declare.as_printed`.
    dense_vectors : int
        The number of vectors over all weights that the solver needs at a time, to estimate memory.
    modules : tuple of str
        Modules of other packages that it requires.
    observation_mode : str
        How an external solver is observed, one of :mod:`solverscope.solvers.rivals.observation_mode`; empty
        for solvers of this package.
    takes_start : bool
        Whether it can start from given weights.
    counts_passes : bool
        Whether its products with X are counted on the problem; if not, passes are unknown.
    """

    needs: ClassVar[Trait] = Trait(0)
    knows: ClassVar[Knows] = Knows(violation=True, dual_gap=False)
    carries: ClassVar[tuple[str, ...] | None] = None
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    dense_vectors: ClassVar[int] = 6
    modules: ClassVar[tuple[str, ...]] = ()
    observation_mode: ClassVar[str] = ""
    takes_start: ClassVar[bool] = True
    counts_passes: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "iterate" in vars(cls):
            cls.iterate = advanced_on_one_thread(cls.iterate)

    @property
    def random(self) -> bool:
        """Return whether the solver makes random choices, which its seed determines."""
        ways = [getattr(self, name) for name in ("order", "subgradient") if hasattr(self, name)]
        return hasattr(self, "seed") and (not ways or "random" in ways)

    def iterate(
        self, problem: Problem, w0: np.ndarray | None = None
    ) -> Generator[Iterate, None, Ending | None]:
        """Solve a problem: yield an iterate for the starting point and after every outer iteration.

        Parameters
        ----------
        problem : Problem
            The problem to solve; ``problem.pulse()`` is called inside long loops.
        w0 : array of shape (d,), optional
            The weights to start from; by default ``problem.at()``.

        Yields
        ------
        Iterate

        Returns
        -------
        Ending or None
            Why the solver ended; None if it gives no reason.
        """
        raise TypeError(f"{type(self).__name__} does not define iterate(problem, w0)")

    def prepare(self, problem: Problem) -> Solver:
        """Return this solver with hyper-parameters tuned on the problem; tuning counts as set-up time."""
        return self

    def warm_up_solver(self) -> Solver:
        """Return a solver that calls all kernels of this one within its first four iterates.

        A run of it on a tiny problem compiles the kernels.
        """
        return self

    @classmethod
    def why_not_here(cls) -> str | None:
        """Return why the solver cannot run in this installation, as the predicate of a sentence.

        Return None if it can.
        """
        for module in cls.modules:
            if find_spec(package := module.partition(".")[0]) is None:
                return f"needs the package {package}: install solverscope[rivals]"
        return None

    def refuses(self, problem: Problem) -> str | None:
        """Return why the solver cannot run on a problem whose loss and penalty it supports; None if it can.

        It may need equal penalty factors, a loss without sample weights, or more memory than is free.
        """
        if problem.loss.weighted:
            offered = problem.loss.traits | problem.penalty.traits | Trait.UNIFORM
            if unmet_needs(self.needs, offered, getattr(self, "formulas", None)):
                return f"{self.id} {NEEDS_NO_WEIGHTS}"
        if Trait.UNIFORM in self.needs and not problem.uniform:
            return f"{self.id} needs {Trait.UNIFORM.phrase}"
        needed, free = self.dense_vectors * 8 * problem.size, psutil.virtual_memory().available
        if needed <= free:
            return None
        size = f"{self.dense_vectors} vectors of {problem.size} weights"
        return (
            f"{self.id} needs {needed / 2**30:.1f} GiB for {size}, and {free / 2**30:.1f} GiB are free: "
            "take a smaller problem or a solver that needs fewer vectors"
        )

    def hint(self, problem: Problem) -> str | None:
        """Return a message for runs that end at a limit: why they are slow on the problem, and a remedy.

        Return None if no reason is known.
        """
        return None

    def sharing(self, shared: dict[Any, Any]) -> Solver:
        """Return this solver for the next λ of a path.

        It may store data for later λ in the dictionary ``shared``, under a key of their kind and the
        problem's family.
        """
        return self

    def with_tol(self, tol: float | None) -> Solver:
        """Return this solver with the run's tolerance as its hyper-parameter ``tol``.

        Return the solver unchanged if it has no ``tol``, if that was set to other than its default, or if the
        run has no tolerance.
        """
        declared = {p.name: p for p in parameters(type(self))}
        if tol and "tol" in declared and vars(self)["tol"] == declared["tol"].default:
            return replace(self, tol=tol)
        return self
