"""Stochastic gradient descent with averaging, for logistic regression with a ridge."""

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
class StudentSGD(solvers.Solver):
    id, name, summary = "student-sgd", "Averaged SGD", "one sample after another, averaged"
    needs = solvers.Trait.LOG_LINEAR | solvers.Trait.ONE_SCORE | solvers.Trait.RIDGE
    knows = solvers.Knows(violation=False, dual_gap=False)

    eta0: float = solvers.param(1.0, "first step", low=0.0, open_low=True)
    seed: int = solvers.param(0, "seed of the order", low=0, high=999)

    def iterate(self, problem, w0=None):
        X, y = dense(problem.design), problem.loss.y
        n, ridge = y.size, problem.penalty.each(problem.penalty.ridge)
        rng = np.random.default_rng(self.seed)
        w = problem.at(w0).w
        eta0, rate = self.eta0 / max(1.0, (X**2).sum(axis=1).max()), problem.penalty.ridge
        total, count, t, k = np.zeros(w.size), 0, 0, 0
        yield solvers.Iterate.at(problem.at(w), k, ls_kind="none")
        while True:
            if k == 1:
                total[:], count = 0.0, 0  # the first pass is far away
            for i in rng.permutation(n):
                problem.pulse()
                eta = eta0 / (1.0 + eta0 * rate * t)
                g = -y[i] / (1.0 + np.exp(min(y[i] * (X[i] @ w), 500.0)))
                w -= eta * (n * problem.scale * g * X[i] + ridge * w)
                total += w
                count, t = count + 1, t + 1
            k += 1
            yield solvers.Iterate.at(problem.at(total / count), k, step=eta, ls_kind="none")
