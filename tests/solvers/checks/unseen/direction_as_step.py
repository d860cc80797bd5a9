"""A bug: s of a pair is the direction, not the step along it."""

from dataclasses import dataclass

import numpy as np

from solverscope import solvers
from solverscope.solvers.curvature.memory import PairMemory


@solvers.register
@dataclass(frozen=True)
class Memory(solvers.Solver):
    id, name, summary = "unseen-lbfgs", "L-BFGS", "two loops, Armijo by halving"
    needs = solvers.Trait.SMOOTH | solvers.Trait.SMOOTH_PENALTY

    def iterate(self, problem, w0=None):
        point, n, memory = problem.at(w0), 0, PairMemory(5)
        g = problem.penalty.subgradient(point.w, point.gradient())
        yield solvers.Iterate.at(point, n, violation=np.abs(g).max(), memory=memory)
        while True:
            d = -memory.inverse_product(g) if len(memory) else -g
            if g @ d >= 0:
                d = -g
            t, f, w = 1.0, point.objective, point.w
            while problem.at(w + t * d).objective > f + 1e-4 * t * (g @ d) and t > 1e-10:
                t /= 2
            point = problem.at(w + t * d)
            new = problem.penalty.subgradient(point.w, point.gradient())
            memory.push(d, new - g)
            g, n = new, n + 1
            yield solvers.Iterate.at(point, n, violation=np.abs(g).max(), memory=memory, step=t)
