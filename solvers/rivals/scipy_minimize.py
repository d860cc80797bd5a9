"""SciPy's ``minimize``, with f and its gradient from this package: observed by its callback, in this process.

SciPy runs in a thread that alternates with the run's own thread. SciPy computes directions and steps, and
requests f and its gradient, which the run's thread computes. So products with X are those of other solvers,
the clock counts both threads, and *Stop* and *Pause* take effect inside a product.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..declare import Trait, param
from ..methods.common_params import tol_param
from ..methods.iterate import Ending, Iterate
from ..methods.solver import Solver
from ..problems.point import Point
from ..problems.problem import Problem
from .callback_generator import callback_generator
from .observation_mode import CALLBACK, NO_LIMIT


class SciPyMinimize(Solver):
    """Base of the methods of ``scipy.optimize.minimize``.

    A method's own convergence tests are switched off if possible. A run ends once the violation is at most
    ``tol`` times that at w = 0, or if the method cannot continue.
    """

    tol: float
    method: ClassVar[str]
    #: options of ``minimize`` for this method, and further arguments
    options: ClassVar[dict[str, Any]]
    extra: ClassVar[dict[str, Any]] = {}
    needs = Trait.SMOOTH | Trait.SMOOTH_PENALTY
    observation_mode = CALLBACK

    def iterate(
        self, problem: Problem, w0: np.ndarray | None = None
    ) -> Generator[Iterate, None, Ending | None]:
        seen = _Seen(problem, problem.at(w0))
        aim, n = problem.aim(self.tol), 0
        yield (iterate := seen.iterate(n))
        program = partial(self._minimize, seen.point.w.copy())
        with closing(callback_generator(program, problem.team.book)) as calls:
            answer = None
            while not iterate.violation <= aim:  # nan is not below it
                try:
                    quantity, x = calls.send(answer)
                except StopIteration as stop:
                    return Ending("stalled", f"SciPy: {stop.value.message}")
                point, answer = seen.at(x), None
                if quantity == "value":
                    answer = point.objective
                elif quantity == "gradient":
                    answer = point.gradient().copy()
                else:
                    n += 1
                    yield (iterate := seen.iterate(n))
        return Ending("converged", f"violation {iterate.violation:.3g}")

    def warm_up_solver(self) -> Solver:
        """Return a method that requests f and its gradient a few times: SciPy itself has no kernels to
        compile."""
        return SciPyLBFGSB()

    def _minimize(self, start: np.ndarray, ask: Callable[[tuple[str, np.ndarray]], Any]) -> Any:
        """Run SciPy; ``ask`` takes the name of a quantity, or of an event, and the weights."""
        from scipy.optimize import minimize

        def stepped(intermediate_result: Any) -> None:
            ask(("step", intermediate_result.x))

        return minimize(
            lambda x: ask(("value", x)),
            start,
            jac=lambda x: ask(("gradient", x)),
            method=self.method,
            callback=stepped,
            options=self.options,
            **self.extra,
        )


class _Seen:
    """The point that SciPy requested last, and that of the last iterate; neither is computed twice."""

    def __init__(self, problem: Problem, start: Point) -> None:
        self.problem, self.point, self._at_iterate = problem, start, start

    def at(self, x: np.ndarray) -> Point:
        for point in (self.point, self._at_iterate):
            if np.array_equal(x, point.w):
                self.point = point
                return point
        self.point = self.problem.at(x)
        return self.point

    def iterate(self, n: int) -> Iterate:
        """Return the iterate at the point requested last.

        Its gradient is computed, which SciPy needs next anyway.
        """
        point = self._at_iterate = self.point
        violation = self.problem.penalty.violation(point.w, point.gradient())
        return Iterate.at(point, n, violation=violation, phase=CALLBACK)


@dataclass(frozen=True)
class SciPyLBFGSB(SciPyMinimize):
    """SciPy's L-BFGS-B without bounds."""

    id = "scipy-lbfgsb"
    name = "SciPy L-BFGS-B"
    summary = "scipy.optimize.minimize, method L-BFGS-B, watched by its callback"
    paper = "Byrd, Lu, Nocedal and Zhu 1995"
    method = "L-BFGS-B"

    memory: int = param(10, "pairs (s, y) kept, SciPy's maxcor", low=1, high=1000, title="pairs m")
    tol: float = tol_param()

    @property
    def dense_vectors(self) -> int:
        return 2 * self.memory + 12

    @property
    def options(self) -> dict[str, Any]:
        return {"maxcor": self.memory, "ftol": 0.0, "gtol": 0.0, "maxiter": NO_LIMIT, "maxfun": NO_LIMIT}


@dataclass(frozen=True)
class SciPyNewtonCG(SciPyMinimize):
    """SciPy's Newton-CG, with each direction by conjugate gradients.

    Products with the Hessian are differences of two gradients, SciPy's default without a Hessian.
    """

    id = "scipy-newton-cg"
    name = "SciPy Newton-CG"
    summary = "scipy.optimize.minimize, method Newton-CG, watched by its callback"
    paper = "Nocedal and Wright 2006, Algorithm 7.1"
    method = "Newton-CG"
    options: ClassVar = {"xtol": 0.0, "maxiter": NO_LIMIT}
    dense_vectors = 14

    tol: float = tol_param()


@dataclass(frozen=True)
class SciPyTrustConstr(SciPyMinimize):
    """SciPy's trust-constr without constraints: the Byrd-Omojokun trust-region method.

    Steps are computed by projected conjugate gradients. Products with the Hessian are differences of two
    gradients.
    """

    id = "scipy-trust-constr"
    name = "SciPy trust-constr"
    summary = "scipy.optimize.minimize, method trust-constr, watched by its callback"
    paper = "Lalee, Nocedal and Plantenga 1998"
    method = "trust-constr"
    options: ClassVar = {"gtol": 0.0, "xtol": 1e-15, "maxiter": NO_LIMIT}
    extra: ClassVar = {"hess": "2-point"}
    dense_vectors = 18

    tol: float = tol_param()
