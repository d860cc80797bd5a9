"""A bug: the last weight never moves, and the violation leaves it out."""

from dataclasses import dataclass

import numpy as np

from solverscope import solvers


@solvers.register
@dataclass(frozen=True)
class Cyclic(solvers.Solver):
    id, name, summary = "unseen-cyclic", "Cyclic descent", "one weight after another"
    needs = solvers.Trait.SMOOTH | solvers.Trait.PROX | solvers.Trait.DIAGONAL_HESSIAN

    def iterate(self, problem, w0=None):
        point, n = problem.at(w0), 0
        yield solvers.Iterate.at(point, n, violation=point.violation())
        while True:
            w = point.w.copy()
            for j in range(len(w) - 1):
                at = problem.at(w)
                h = 1.01 * at.hessian_diagonal(problem.where(np.isfinite, w))[j] + 1e-6
                v = w.copy()
                v[j] -= at.gradient()[j] / h
                old = at.objective
                new = w.copy()
                new[j] = problem.penalty.prox(v, 1 / h)[j]
                d, t = new - w, 1.0
                while problem.at(w + t * d).objective > old and t > 1e-6:
                    t /= 2
                w = w + t * d if t > 1e-6 else w
            point, n = problem.at(w), n + 1
            rest = np.abs(problem.penalty.subgradient(point.w, point.gradient()))[:-1]
            yield solvers.Iterate.at(point, n, violation=rest.max())
