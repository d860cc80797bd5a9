"""A bug: a given start is not used."""

from dataclasses import dataclass

from solverscope import solvers


@solvers.register
@dataclass(frozen=True)
class Ista(solvers.Solver):
    id, name, summary = "unseen-ista", "Proximal gradient", "proximal steps, halved when too long"
    needs = solvers.Trait.SMOOTH | solvers.Trait.PROX

    def iterate(self, problem, w0=None):
        point, n, step = problem.at(), 0, 1.0
        yield solvers.Iterate.at(point, n, violation=point.violation())
        while True:
            g = point.gradient()
            while True:
                there = problem.at(problem.penalty.prox(point.w - step * g, step))
                d = there.w - point.w
                if there.loss <= point.loss + g @ d + d @ d / (2 * step) + 1e-12:
                    break
                step /= 2
            point, n = there, n + 1
            yield solvers.Iterate.at(point, n, violation=point.violation(), step=step)
