"""FISTA with backtracking, which forgets its momentum when f rises."""

from dataclasses import dataclass

import numpy as np

from solverscope import solvers


@solvers.register
@dataclass(frozen=True)
class StudentFista(solvers.Solver):
    id, name, summary = "student-fista", "FISTA", "accelerated proximal gradient steps with backtracking"
    needs = solvers.Trait.SMOOTH | solvers.Trait.PROX

    beta: float = solvers.param(0.5, "factor of the backtracking", low=0.0, high=0.99, open_low=True)

    def iterate(self, problem, w0=None):
        penalty, t, momentum, n = problem.penalty, 1.0, 1.0, 0
        x = y = problem.at(w0)
        yield solvers.Iterate.at(x, n)
        while x.violation() > problem.noise:
            g, n = y.gradient(), n + 1
            while True:
                new = problem.at(penalty.prox(y.w - t * g, t))
                d = new.w - y.w
                if new.smooth_part <= y.smooth_part + g @ d + d @ d / (2.0 * t) + 1e-14 * abs(y.smooth_part):
                    break
                t *= self.beta
            after = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            extrapolated = problem.at(new.w + (momentum - 1.0) / after * (new.w - x.w))
            if new.objective > x.objective:
                after, extrapolated = 1.0, new
            yield solvers.Iterate.at(new, n, step=t, live={"prox_from": y})
            x, y, momentum = new, extrapolated, after
        return solvers.Ending("converged", "the violation is rounding")
