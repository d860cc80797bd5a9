"""A bug: the decrease that Armijo's rule is given has the wrong sign."""

from dataclasses import dataclass

import numpy as np

from solverscope import solvers
from solverscope.solvers.search.line_search import Armijo


@solvers.register
@dataclass(frozen=True)
class Newton(solvers.Solver):
    id, name, summary = "unseen-scaled", "Scaled gradient", "a diagonal metric and a backtracking search"
    needs = solvers.Trait.SMOOTH | solvers.Trait.SMOOTH_PENALTY | solvers.Trait.DIAGONAL_HESSIAN

    def iterate(self, problem, w0=None):
        point, n = problem.at(w0), 0
        yield solvers.Iterate.at(point, n, violation=point.violation())
        while True:
            g = problem.penalty.subgradient(point.w, point.gradient())
            d = -3.0 * g / (point.hessian_diagonal(problem.where(np.isfinite, point.w)) + 1e-3)
            line = problem.line(point, d)
            found = line.armijo(-(g @ d), Armijo())
            point, n = found.point, n + 1
            yield solvers.Iterate.at(point, n, found=found, violation=point.violation())
