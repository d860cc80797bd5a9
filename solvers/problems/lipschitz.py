"""Lipschitz constants of the gradient of the smooth part, per block of weights and overall."""

from __future__ import annotations

import numpy as np

from ..declare import param
from ..linalg.scores import Scores
from .penalties import NoPenalty
from .problem import Problem

#: Accuracy of the largest eigenvalue, and the factor by which it is raised: it is approached from below.
EIGSH_TOL, LIPSCHITZ_MARGIN = 1e-4, 1.01


def constant_param() -> str:
    """Declare the hyper-parameter ``constant`` of solvers whose step is the inverse of these constants."""
    return param(
        "tight",
        "Lipschitz constants: as low as is known, or the larger ones of the paper",
        choices=("tight", "paper"),
        title="Lipschitz constants",
    )


def block_constants(problem: Problem, constant: str) -> np.ndarray:
    """Return the Lipschitz constant K_j of the gradient in the weights of each feature, shape (n_features,).

    The loss must have ``Trait.LIPSCHITZ``. ``constant="paper"`` gives the constants of Blondel et al. 2013,
    appendix A; the factor of Σ_i x_ij² there is the ``curvature`` of the loss.
    """
    bounds = problem.loss.block_curvature(problem.design.squared_sums, constant == "tight")
    rows = slice(0, problem.design.n_features * problem.design.n_outputs, problem.design.n_outputs)
    penalty = problem.penalty.on(rows)
    return problem.scale * bounds + penalty.each(penalty.ridge)


def overall_constant(problem: Problem, constant: str) -> float:
    """Return the Lipschitz constant K of the gradient with respect to all weights, ridge included.

    K is the ridge plus 1.01 times the largest eigenvalue of s Xᵀ diag(c) X, found by Lanczos iteration. Here
    c is the curvature of the loss of each row. With ``constant="paper"`` K is the ridge plus Σ_j K_j, each
    K_j without the ridge. That sum replaces ‖X‖₂² by the larger ‖X‖_F².
    """
    ridge = float(np.max(problem.penalty.each(problem.penalty.ridge)))
    if constant == "paper":
        plain = problem.with_penalty(NoPenalty())
        return float(block_constants(plain, constant).sum()) + ridge
    design, curvature = problem.design, problem.loss.curvature(True)[:, None]
    # all outputs have the same matrix: the weights of one will do
    first = design.working_set(np.arange(design.n_features) * design.n_outputs)

    def product(v: np.ndarray) -> np.ndarray:
        return design.adjoint(Scores(curvature * design.scores(v.ravel(), first).Z, np.zeros(0)), first)

    from scipy.sparse.linalg import LinearOperator, eigsh  # here, since it is slow to import

    d = design.n_features
    if d == 1:  # ARPACK wants two
        largest = float(product(np.ones(1))[0])
    else:
        matrix, start = LinearOperator((d, d), product, dtype=float), np.random.default_rng(0).normal(size=d)
        largest = float(eigsh(matrix, 1, which="LA", v0=start, tol=EIGSH_TOL, return_eigenvectors=False)[0])
    return problem.scale * LIPSCHITZ_MARGIN * largest + ridge
