"""Losses ℓ(z, y) of a score and a numeric target: the base of losses that are defined by scalar functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ....compute.dispatch import by_class
from ....compute.jit import kernel
from ....declare import Trait
from ....linalg.scores import Scores
from ..duals import of_rows, over_rows
from ..loss import Loss
from ..margin import term_of
from ..row_loss import RowLoss
from ..score_rows import row_derivatives


class TargetLoss(Loss):
    """Base of regression losses L(Z) = Σ_i Σ_c ℓ(z_ic, y_ic), defined by scalar functions.

    A subclass defines ``derivatives``, which is all that solvers for smooth losses need. It may offer more:

    * ``Trait.LIPSCHITZ``, with ``smoothness``, for steps of constant length;
    * ``Trait.CONJUGATE``, with ``dual``, for proved gaps;
    * ``Trait.HESSIAN`` if ℓ'' is a (generalized) derivative of ℓ', and ``Trait.DIAGONAL_HESSIAN`` with
      ``Trait.QUADRATIC_MODEL`` for ``newton-cd``.

    Numba compiles ``derivatives`` and ``dual``: they must be plain functions of numbers. From ``self`` they
    can only read numeric hyper-parameters.

    Examples
    --------
    To be selected by its id, the class also needs ``@solvers.register`` above it.

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from solverscope import solvers
    >>> @dataclass(frozen=True)
    ... class LogCosh(solvers.TargetLoss):
    ...     id, name, summary = "log-cosh", "Log-cosh", "a parabola that becomes straight lines"
    ...     traits = solvers.TargetLoss.traits | solvers.Trait.LIPSCHITZ
    ...     smoothness = 1.0
    ...
    ...     def derivatives(self, score, target):
    ...         r = score - target
    ...         t = np.tanh(r)
    ...         return abs(r) + np.log1p(np.exp(-2.0 * abs(r))) - np.log(2.0), t, 1.0 - t * t
    >>> round(float(LogCosh().derivatives(1.0, 0.0)[0]), 3)
    0.434
    """

    kinds = ("regression",)
    traits = Trait.SMOOTH | Trait.INSTANCE_KERNELS | Trait.ROW_KERNELS | Trait.ONE_SCORE
    average = True
    metric_name = "R²"
    #: an upper bound on ℓ''
    smoothness: ClassVar[float]

    def derivatives(self, score: float, target: float) -> tuple[float, float, float]:
        """Compute the loss of one target.

        Parameters
        ----------
        score, target : float
            The score z and the target y.

        Returns
        -------
        tuple of three floats
            ℓ, and its first two derivatives with respect to the score (one subgradient at a kink).
        """
        raise TypeError(f"{type(self).__name__} does not define derivatives")

    def dual(self, slope: float, target: float) -> float:
        """Compute -ℓ*(u), ℓ* the convex conjugate of z -> ℓ(z, y): the minimum over z of ℓ(z, y) - u z.

        Parameters
        ----------
        slope : float
            u, the derivative of ℓ at some score, or a fraction of it.
        target : float
            The target y.

        Returns
        -------
        float
            -ℓ*(u).
        """
        raise TypeError(f"{type(self).__name__} does not define dual")

    @classmethod
    def register_formulas(cls, term: type) -> None:
        """Register the scalar functions of the loss for kernels, under the class of its term."""
        target_derivatives.register(term, cls.derivatives)
        target_dual.register(term, cls.dual)
        row_derivatives.register(term, target_row)

    def why_not_targets(self, y: np.ndarray) -> str | None:
        """Return why the loss does not accept these targets; return None if it does."""
        return None

    def bind(self, part: Any, n_classes: int, parents: np.ndarray | None = None) -> BoundTarget:
        y = np.ascontiguousarray(part.y, dtype=np.float64)
        if reason := self.why_not_targets(y):
            raise ValueError(f"loss {self.id} {reason}")
        return self.bound(y, n_classes)

    def bound(self, y: np.ndarray, n_outputs: int) -> BoundTarget:
        """Return the loss bound to targets that it accepts."""
        return BoundTarget(self, n_outputs, y)


class Targets:
    """Base of bound losses of numeric targets ``y``, (n,), or (n, m) for several outputs.

    Scores are predictions, unless a subclass redefines ``predict``.
    """

    y: np.ndarray
    n_outputs: int
    metric_weights: np.ndarray | None
    numeric = True
    averages = False

    @property
    def labels(self) -> np.ndarray:
        """Return all targets in one flat float64 array, row by row."""
        return self.y.reshape(-1)

    def targets(self, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return the targets of some rows, (rows, n_outputs)."""
        return self.y[rows].reshape(-1, self.n_outputs)

    def predict(self, scores: Scores) -> np.ndarray:
        """Return the predicted targets, in the shape of ``y``."""
        return scores.Z.reshape(self.y.shape)

    def metric(self, scores: Scores) -> float:
        """Return R², the fraction of the targets' variance that predictions explain, mean over outputs."""
        y, weights = self.targets(), self.metric_weights
        errors = (y - self.predict(scores).reshape(y.shape)) ** 2
        spread = (y - np.average(y, axis=0, weights=weights)) ** 2
        return explained(total(errors, weights), total(spread, weights))


@dataclass(frozen=True, eq=False)
class BoundTarget(Targets, RowLoss):
    """A loss of targets that is defined by scalar functions."""

    declared: TargetLoss

    @property
    def term(self) -> Any:
        return term_of(self.declared)

    def second_derivatives(self, scores: Scores, residual: Scores) -> Scores:
        H = np.empty_like(scores.Z)
        self._each_chunk(lambda k: second_rows(self.term, scores.Z[k], self.targets(k), H[k]))
        return Scores(H, np.zeros(0))

    def chunk_curved(
        self, Z: np.ndarray, G: np.ndarray, rows: np.ndarray, D: np.ndarray, out: np.ndarray
    ) -> None:
        second_rows(self.term, Z, self.targets(rows), out)
        out *= D

    def dual_values(self, scores: Scores, residual: Scores, alpha: float) -> np.ndarray:
        return of_rows(self, residual.Z, lambda G, part: dual_rows(self.term, alpha * G, self.targets(part)))

    def cancelled(self, scores: Scores) -> float:
        """Return Σ |ℓ'|(|z| + |y|), which bounds the effect of relative errors of scores and targets on the
        loss."""

        def size(Z: np.ndarray, part: slice) -> float:
            return cancelled_sum(self.term, Z, self.targets(part))

        return over_rows(self, scores.Z, size)

    def curvature(self, tight: bool) -> np.ndarray:
        return np.full(self.n_instances, self.declared.smoothness)


def total(terms: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return the sum of the terms over rows, each row times its weight."""
    return np.sum(terms, axis=0) if weights is None else weights @ terms


def explained(left: np.ndarray, whole: np.ndarray) -> float:
    """Return the mean of 1 - left/whole over the entries; an entry with whole = 0 counts 1 if left is 0, else
    0."""
    share = np.divide(left, whole, out=(left > 0.0).astype(np.float64), where=whole > 0.0)
    return float(np.mean(1.0 - share))


@by_class
def target_derivatives(term, score, target):
    """Return the loss of a target, and its first two derivatives with respect to the score."""
    raise TypeError(f"{type(term).__name__} is no loss of a target")


@by_class
def target_dual(term, slope, target):
    """Return -ℓ*(slope)."""
    raise TypeError(f"{type(term).__name__} has no dual")


def target_row(term, z, y, g, h):
    """Return the loss of a row and write its derivatives, as :func:`.score_rows.row_derivatives` does."""
    total = 0.0
    for c in range(z.size):
        loss, first, second = target_derivatives(term, z[c], y[c])
        total += loss
        if g is not None:
            g[c] = first
        if h is not None:
            h[c] = second
    return total


@kernel
def second_rows(term, Z, Y, H):
    """Write the second derivatives with respect to each score to H."""
    for i in range(Z.shape[0]):
        for c in range(Z.shape[1]):
            H[i, c] = target_derivatives(term, Z[i, c], Y[i, c])[2]


@kernel
def dual_rows(term, G, Y):
    """Return the sum of -ℓ*(g) over the entries g of each row of G."""
    out = np.zeros(G.shape[0])
    for i in range(G.shape[0]):
        for c in range(G.shape[1]):
            out[i] += target_dual(term, G[i, c], Y[i, c])
    return out


@kernel
def cancelled_sum(term, Z, Y):
    """Return Σ |ℓ'|(|z| + |y|) over all scores."""
    total = 0.0
    for i in range(Z.shape[0]):
        for c in range(Z.shape[1]):
            slope = target_derivatives(term, Z[i, c], Y[i, c])[1]
            total += abs(slope) * (abs(Z[i, c]) + abs(Y[i, c]))
    return total
