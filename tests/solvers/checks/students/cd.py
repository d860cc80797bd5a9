"""Cyclic coordinate descent for least squares, which keeps the residual."""

from dataclasses import dataclass

import numpy as np

from solverscope import solvers


def dense(design):
    X = np.zeros(design.shape)
    for j in range(design.n_features):
        rows, values = design.column(j)
        X[rows, j] = values
    return X


@solvers.register
@dataclass(frozen=True)
class StudentCD(solvers.Solver):
    id, name, summary = "student-cd", "Coordinate descent", "one weight after another, with the residual"
    needs = solvers.Trait.LEAST_SQUARES | solvers.Trait.ONE_SCORE | solvers.Trait.SEPARABLE

    def iterate(self, problem, w0=None):
        X, penalty, s, n = dense(problem.design), problem.penalty, problem.scale, 0
        start = problem.at(w0)
        w, r = start.w, start.residual.Z[:, 0].copy()  # r = Xw - y
        l1, ridge = (np.full(w.size, 1.0) * penalty.each(v) for v in (penalty.l1, penalty.ridge))
        curvature = s * (X**2).sum(axis=0) + ridge
        while True:
            g = s * (X.T @ r) + ridge * w
            f, violation = 0.5 * s * (r @ r) + penalty.value(w), penalty.violation(w, g)
            nnz = int(np.count_nonzero(w))
            yield solvers.Iterate(n, w=w, objective=f, violation=violation, nnz=nnz, live={"gradient": g})
            if violation <= problem.noise:
                return solvers.Ending("converged", f"violation {violation:.3g}")
            for j in range(w.size):
                problem.pulse()
                if curvature[j] == 0.0:
                    w[j] = 0.0
                    continue
                v = w[j] - (s * (X[:, j] @ r) + ridge[j] * w[j]) / curvature[j]
                new = np.sign(v) * max(abs(v) - l1[j] / curvature[j], 0.0)
                if new != w[j]:
                    r += (new - w[j]) * X[:, j]
                    w[j] = new
            n += 1
