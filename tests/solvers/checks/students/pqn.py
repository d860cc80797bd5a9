"""A proximal quasi-Newton method on a working set that shrinks, in epochs."""

import math
from dataclasses import dataclass

import numpy as np

from solverscope import solvers
from solverscope.solvers.curvature.memory import PairMemory
from solverscope.solvers.search.line_search import Armijo


@solvers.register
@dataclass(frozen=True)
class StudentPQN(solvers.Solver):
    id, name, summary = "student-pqn", "Shrinking prox-QN", "a model of pairs, by coordinate descent"
    needs = solvers.Trait.SMOOTH | solvers.Trait.SEPARABLE

    memory: int = solvers.param(5, "pairs kept", low=1, high=100)
    sweeps: int = solvers.param(5, "sweeps of the model", low=1, high=100)
    tol: float = solvers.param(1e-8, "violation that counts as zero, relative to that at w = 0", low=0.0)

    def iterate(self, problem, w0=None):
        point, pairs, gamma = problem.at(w0), PairMemory(self.memory), 1.0
        A, g, n, epoch, found = problem.design.working_set(), point.gradient(), 0, 0, None
        aim, bound = problem.aim(self.tol), math.inf
        while True:
            violation = problem.penalty_on(A).violation(A.take(point.w), g)
            if violation <= aim and not A.full:  # the epoch is over: all weights come back
                A, g, epoch, bound = problem.design.working_set(), point.gradient(), epoch + 1, math.inf
                pairs.clear()
                violation = problem.penalty.violation(point.w, g)
            about = {"violation": violation if A.full else math.nan, "epoch": epoch, "gamma": gamma}
            about |= {"found": found, "memory": pairs}
            yield solvers.Iterate.at(point, n, active=A, live={"gradient": g}, **about)
            if violation <= aim:
                return solvers.Ending("converged", f"violation {violation:.3g} is at most {aim:.3g}")
            w, l1 = A.take(point.w), self.strengths(problem, A)
            keep = (w != 0.0) | (np.abs(g) > l1 - bound)
            if not keep.all():
                A, w, g, l1 = A.restrict(keep), w[keep], g[keep], l1[keep]
                pairs.carry(keep, np.ones(len(A), dtype=bool))
            bound = violation / problem.loss.n_instances
            d = self.minimum(w, g, l1, pairs, gamma)
            decrease = g @ d + l1 @ (np.abs(w + d) - np.abs(w))
            found = problem.line(point, d, A).armijo(decrease, Armijo())
            if found.t == 0.0 and len(pairs):
                pairs.clear()
                d = self.minimum(w, g, l1, pairs, gamma)
                decrease = g @ d + l1 @ (np.abs(w + d) - np.abs(w))
                found = problem.line(point, d, A).armijo(decrease, Armijo())
            if found.t == 0.0:
                return solvers.Ending("stalled", "no step decreases f beyond rounding")
            point, n = found.point, n + 1
            before, g = g, point.gradient(A)
            if pairs.push(found.t * d, g - before) is not None:
                gamma = pairs.scaling("y/s")

    def strengths(self, problem, A):
        penalty = problem.penalty_on(A)
        return np.full(len(A), 1.0) * penalty.each(penalty.l1)

    def minimum(self, w, g, l1, pairs, gamma):
        """Minimize gᵀd + ½dᵀBd + Σ l1|w + d| by a few sweeps, B = γI - QQ̂."""
        d = np.zeros(w.size)
        B = pairs.compact(gamma)
        product = np.zeros(B.rank)  # Q̂d
        diagonal = B.diagonal if B.rank else np.full(w.size, gamma)
        for _ in range(self.sweeps):
            for j in range(w.size):
                b = g[j] + gamma * d[j] - (B.Q[j] @ product if B.rank else 0.0)
                v = w[j] + d[j] - b / diagonal[j]
                z = np.sign(v) * max(abs(v) - l1[j] / diagonal[j], 0.0) - w[j] - d[j]
                d[j] += z
                if B.rank:
                    product += z * B.Q_hat[j]
        return d
