"""A bug: the objective of the extrapolated point is told for w."""

from dataclasses import dataclass

import numpy as np

from solverscope import solvers


@solvers.register
@dataclass(frozen=True)
class Fista(solvers.Solver):
    id, name, summary = "unseen-fista", "FISTA", "accelerated proximal gradient"
    needs = solvers.Trait.SMOOTH | solvers.Trait.PROX

    def iterate(self, problem, w0=None):
        point, n, t, step = problem.at(w0), 0, 1.0, 1.0
        yield solvers.Iterate.at(point, n, violation=point.violation())
        y = point
        while True:
            g, loss = y.gradient(), y.loss
            while True:
                w = problem.penalty.prox(y.w - step * g, step)
                new, d = problem.at(w), w - y.w
                if new.loss <= loss + g @ d + d @ d / (2 * step) + 1e-12:
                    break
                step /= 2
            longer = (1 + np.sqrt(1 + 4 * t * t)) / 2
            y = problem.at(w + (t - 1) / longer * (w - point.w))
            point, t, n = new, longer, n + 1
            yield solvers.Iterate.at(point, n, objective=y.objective, step=step)
