"""ISTA with backtracking."""

from dataclasses import dataclass

import numpy as np

from solverscope import solvers


@solvers.register
@dataclass(frozen=True)
class StudentIsta(solvers.Solver):
    id, name, summary = "student-ista", "ISTA", "proximal gradient steps with backtracking"
    needs = solvers.Trait.SMOOTH | solvers.Trait.PROX

    beta: float = solvers.param(0.5, "factor of the backtracking", low=0.0, high=0.99, open_low=True)

    def iterate(self, problem, w0=None):
        penalty, t, trials, n = problem.penalty, 1.0, 0, 0
        point = problem.at(w0)
        g = point.gradient()
        while True:
            violation = penalty.violation(point.w, g)
            about = {"violation": violation, "step": t, "ls_trials": trials}
            yield solvers.Iterate.at(point, n, live={"gradient": g}, **about)
            if violation <= problem.noise:
                return solvers.Ending("converged", f"violation {violation:.3g}")
            t, trials, f = 2.0 * t, 0, point.smooth_part
            while True:
                trials += 1
                new = problem.at(penalty.prox(point.w - t * g, t))
                d = new.w - point.w
                if new.smooth_part <= f + g @ d + d @ d / (2.0 * t) + 1e-14 * abs(f):
                    break
                t *= self.beta
            if not np.any(d):
                return solvers.Ending("stalled", "no step moves w")
            point, n = new, n + 1
            g = point.gradient()
