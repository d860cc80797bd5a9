"""A plug-in as a researcher would write it: the binary hinge loss, and a subgradient method that averages its
iterates and proves how far they are from the minimum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from solverscope import solvers


@solvers.register
@dataclass(frozen=True)
class Hinge(solvers.Loss):
    """Σ_i max(1 - y_i z_i, 0), y_i in {-1, +1}."""

    id = "hinge"
    name = "Hinge"
    summary = "margins below 1 count by what they lack"
    kinds = ("binary",)
    traits = solvers.Trait(0)
    average = True

    def bind(self, part: Any, n_classes: int, parents: np.ndarray | None = None) -> BoundHinge:
        return BoundHinge(self, 1, np.asarray(part.y, dtype=float))


@dataclass(frozen=True, eq=False)
class BoundHinge(solvers.RowLoss):
    """The hinge loss for labels y."""

    def chunk_values(self, Z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        out[:] = np.maximum(1.0 - y * Z[:, 0], 0.0)

    def chunk_residual(self, Z: np.ndarray, y: np.ndarray, G: np.ndarray) -> None:
        G[:, 0] = np.where(y * Z[:, 0] < 1.0, -y, 0.0)

    def predict(self, scores: solvers.Scores) -> np.ndarray:
        return np.where(scores.Z[:, 0] >= 0.0, 1.0, -1.0)


@solvers.register
@dataclass(frozen=True)
class AveragedSubgradient(solvers.Solver):
    """w_{t+1} = w_t - (g_t + μ w_t)/(μ t), g_t a subgradient of the loss: that is -ḡ_t/μ, ḡ_t the average of
    g_1, ..., g_t. An iterate is the average of all w_t. The averaged cut L(w) >= b̄ + ḡᵀw proves that
    f* >= b̄ - ‖ḡ‖²/(2μ)."""

    id = "averaged-subgradient"
    name = "Averaged subgradient"
    summary = "subgradient steps of length 1/(μt), averaged, with a proved gap"
    needs = solvers.Trait.RIDGE
    knows = solvers.Knows(violation=False, dual_gap=True)

    def iterate(self, problem: solvers.Problem, w0: np.ndarray | None = None):
        mu, t = problem.penalty.ridge, 1
        point = mean = problem.at(w0)
        g_mean, b_mean, best = np.zeros(problem.size), 0.0, -np.inf
        yield solvers.Iterate.at(mean, 0, ls_kind="none")
        while True:
            g = point.gradient() - mu * point.w
            g_mean += (g - g_mean) / t
            b_mean += (point.loss - g @ point.w - b_mean) / t
            best = max(best, b_mean - g_mean @ g_mean / (2.0 * mu))
            point = problem.at(-g_mean / mu)
            mean = problem.at(mean.w + (point.w - mean.w) / t)
            gap = max(mean.objective - best, 0.0)
            yield solvers.Iterate.at(mean, t, step=1.0 / (mu * t), ls_kind="none", dual_gap=gap)
            t += 1
