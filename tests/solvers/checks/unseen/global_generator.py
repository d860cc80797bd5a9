"""A bug: blocks come from NumPy's global generator."""

from dataclasses import dataclass

import numpy as np

from solverscope import solvers


@solvers.register
@dataclass(frozen=True)
class Random(solvers.Solver):
    id, name, summary = "unseen-random", "Random blocks", "proximal steps on a random half of the weights"
    needs = solvers.Trait.SMOOTH | solvers.Trait.PROX

    def iterate(self, problem, w0=None):
        point, n, step = problem.at(w0), 0, 1.0
        yield solvers.Iterate.at(point, n, violation=point.violation())
        while True:
            chosen = np.random.permutation(len(point.w))[: (len(point.w) + 1) // 2]  # noqa: NPY002 (the bug)
            g = point.gradient()
            while True:
                new = point.w.copy()
                new[chosen] = problem.penalty.prox(point.w - step * g, step)[chosen]
                there, d = problem.at(new), new - point.w
                if there.loss <= point.loss + g @ d + d @ d / (2 * step) + 1e-12:
                    break
                step /= 2
            point, n = there, n + 1
            yield solvers.Iterate.at(point, n, violation=point.violation(), step=step)
