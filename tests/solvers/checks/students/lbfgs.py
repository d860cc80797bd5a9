"""L-BFGS with a search for the Wolfe conditions."""

import math
from dataclasses import dataclass

import numpy as np

from solverscope import solvers
from solverscope.solvers.search.outcome import SearchLog, SearchResult


class Pairs:
    """The last pairs (s, y), and products with H."""

    def __init__(self, size):
        self.size, self.S, self.Y = size, [], []

    def __len__(self):
        return len(self.S)

    def push(self, s, y):
        if s @ y <= 1e-10 * np.linalg.norm(s) * np.linalg.norm(y):
            return math.nan
        self.S, self.Y = [*self.S, s][-self.size :], [*self.Y, y][-self.size :]
        return s @ y

    def inverse_product(self, v):
        q, alphas, pairs = v.copy(), [], list(zip(self.S, self.Y, strict=True))
        if not pairs:
            return q
        for s, y in reversed(pairs):
            alphas.append((s @ q) / (s @ y))
            q -= alphas[-1] * y
        s, y = pairs[-1]
        q *= (s @ y) / (y @ y)
        for s, y in pairs:
            q += (alphas.pop() - (y @ q) / (s @ y)) * s
        return q


@solvers.register
@dataclass(frozen=True)
class StudentLBFGS(solvers.Solver):
    id, name, summary = "student-lbfgs", "L-BFGS", "quasi-Newton steps with a Wolfe search"
    needs = solvers.Trait.SMOOTH | solvers.Trait.SMOOTH_PENALTY

    memory: int = solvers.param(5, "pairs kept", low=1, high=100)
    c1: float = solvers.param(1e-4, "share of the decrease asked for", low=0.0, high=1.0)
    c2: float = solvers.param(0.9, "share of the slope that may be left", low=0.0, high=1.0)

    def iterate(self, problem, w0=None):
        point, pairs, n, found, curvature = problem.at(w0), Pairs(self.memory), 0, None, math.nan
        while True:
            g = point.gradient()
            violation = np.abs(g).max()
            live = {"gradient": g, "memory": pairs, "inverse": pairs}
            about = {"violation": violation, "memory_pairs": len(pairs), "curvature": curvature}
            yield solvers.Iterate.at(point, n, found=found, live=live, **about)
            if violation <= problem.noise:
                return solvers.Ending("converged", f"violation {violation:.3g}")
            w, d = point.w.copy(), -pairs.inverse_product(g)
            if not len(pairs):
                d /= max(1.0, np.linalg.norm(d))
            found = self.search(problem.line(point, d), point.objective)
            if found.t == 0.0:
                return solvers.Ending("stalled", "no step satisfies the Wolfe conditions")
            point, n = found.point, n + 1
            curvature = pairs.push(point.w - w, point.gradient() - g)

    def search(self, line, f):
        slope, lo, hi, t = line.slope(), 0.0, math.inf, 1.0
        log = SearchLog(f, line.d, active=line.active)
        log.slope = slope
        for trial in range(1, 51):
            value, here, allowed = line(t), line.slope(t), f + self.c1 * t * slope
            log.note(t, value, allowed, here)
            if value > allowed + 1e-14 * abs(f):
                hi = t
            elif here < self.c2 * slope:
                lo = t
            else:
                return SearchResult(line.move(t), t, log, trial, "wolfe")
            t = 2.0 * lo if math.isinf(hi) else 0.5 * (lo + hi)
        return SearchResult(None, 0.0, log, trial, "wolfe")
