"""Base class of all solvers."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import psutil

from ..compute.blas import advanced_on_one_thread
from ..declare import Declared, Trait, parameters
from ..problems.certificates.optimality import Knows
from ..problems.problem import Problem
from .iterate import Ending, Iterate


class Solver(Declared):
    """Base of solvers: a frozen dataclass of hyper-parameters, with one generator :meth:`iterate`.

    Attributes
    ----------
    id, name, summary, paper : str
        How the solver is called, and where it comes from.
    needs : Trait
        What a loss and a penalty must offer.
    knows : Knows
        Which measures of optimality its iterates carry, all or some; the run that advances the solver
        measures now and then what they do not.
    carries : tuple of str, or None
        The live references (:data:`.iterate.LIVE`) of its iterates that a view may need: of "active",
        "variables", "line", "memory", "cuts" and "clustering"; None where that is not told.
    presets : mapping
        Named sets of hyper-parameters: see :func:`.declare.as_printed`.
    dense_vectors : int
        How many vectors over all weights the solver holds at a time.
    modules : tuple of str
        Modules of other packages that it cannot do without, the first in the package that it is refused for.
    watched : str
        How another program is watched, one of :mod:`solverscope.solvers.rivals.watched`; empty for solvers
        of our own.
    takes_start : bool
        Whether it can start from given weights.
    counts_passes : bool
        Whether the problem sees its products with X, or it reports them there: else passes are not known.
    """

    needs: ClassVar[Trait] = Trait(0)
    knows: ClassVar[Knows] = Knows(violation=True, dual_gap=False)
    carries: ClassVar[tuple[str, ...] | None] = None
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    dense_vectors: ClassVar[int] = 6
    modules: ClassVar[tuple[str, ...]] = ()
    watched: ClassVar[str] = ""
    takes_start: ClassVar[bool] = True
    counts_passes: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "iterate" in vars(cls):
            cls.iterate = advanced_on_one_thread(cls.iterate)

    @property
    def random(self) -> bool:
        """Tell whether it makes random choices, which its seed decides."""
        ways = [getattr(self, name) for name in ("order", "subgradient") if hasattr(self, name)]
        return hasattr(self, "seed") and (not ways or "random" in ways)

    def iterate(
        self, problem: Problem, w0: np.ndarray | None = None
    ) -> Generator[Iterate, None, Ending | None]:
        """Solve a problem: yield an iterate for the starting point and after every outer iteration.

        Parameters
        ----------
        problem : Problem
            What to solve; ``problem.pulse()`` is called inside long loops.
        w0 : array of shape (d,), optional
            Where to start; by default ``problem.at()``.

        Yields
        ------
        Iterate

        Returns
        -------
        Ending or None
            Why the solver ends by itself.
        """
        raise TypeError(f"{type(self).__name__} does not define iterate(problem, w0)")

    def prepare(self, problem: Problem) -> Solver:
        """Return this solver with hyper-parameters tuned on the problem, in time that counts as set-up."""
        return self

    def rehearsal(self) -> Solver:
        """Return a solver that uses all kernels of this one within its first four iterates: it is run on a
        tiny problem to compile them."""
        return self

    @classmethod
    def why_not_here(cls) -> str | None:
        """Return why the solver cannot run in this installation, the end of a sentence that begins with it;
        None if it can."""
        for module in cls.modules:
            if find_spec(package := module.partition(".")[0]) is None:
                return f"needs the package {package}: install solverscope[rivals]"
        return None

    def refuses(self, problem: Problem) -> str | None:
        """Return in a sentence why a problem does not fit into memory with this solver; None if it does."""
        needed, free = self.dense_vectors * 8 * problem.size, psutil.virtual_memory().available
        if needed <= free:
            return None
        size = f"{self.dense_vectors} vectors of {problem.size} weights"
        return (
            f"{self.id} needs {needed / 2**30:.1f} GiB for {size}, and {free / 2**30:.1f} GiB are free: "
            "take a smaller problem or a solver that needs fewer vectors"
        )

    def hint(self, problem: Problem) -> str | None:
        """Return what makes a run on the problem long, and what would help, to be said where a limit ends it;
        None if that is not known."""
        return None

    def towards(self, tol: float | None) -> Solver:
        """Return this solver with its ``tol``, if it has one, set to the run's where it is the default."""
        declared = {p.name: p for p in parameters(type(self))}
        if tol and "tol" in declared and vars(self)["tol"] == declared["tol"].default:
            return replace(self, tol=tol)
        return self
