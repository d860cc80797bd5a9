"""Binary losses ℓ(y z) of a margin: the base of losses that are defined by scalar functions."""

from __future__ import annotations

import functools
import math
import uuid
from collections import namedtuple
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from ...compute.dispatch import by_class
from ...compute.jit import kernel
from ...compute.source_digest import source_digest
from ...declare import Trait, parameters
from ...linalg.scores import Scores
from .loss import Loss
from .row_loss import RowLoss
from .score_rows import margin_derivatives

#: Names of metrics by id.
MEASURES = {"accuracy": "accuracy", "f1": "F1"}


class MarginLoss(Loss):
    """Base of binary losses L(z) = Σ_i ℓ(y_i z_i), y_i in {-1, +1}, defined by scalar functions.

    A subclass defines ``derivatives``, which is all that solvers for smooth losses need. This includes
    solvers that evaluate the loss in compiled kernels (``sgd-l1``, ``fobos``, ``bcd-ls``). It may offer more:

    * ``Trait.LIPSCHITZ``, with ``smoothness``, for steps of constant length (``bcd-cst``, ``fista-cst``);
    * ``Trait.CONJUGATE`` and ``Trait.DUAL_COORDINATES``, with ``dual`` and ``dual_bound``, for proved gaps
      and ``dual-cd``.

    Numba compiles ``derivatives`` and ``dual``: they must be plain functions of numbers. From ``self`` they
    can only read numeric hyper-parameters.

    Examples
    --------
    To be selected by its id, the class also needs ``@solvers.register`` above it.

    >>> from dataclasses import dataclass
    >>> from solverscope import solvers
    >>> @dataclass(frozen=True)
    ... class SmoothHinge(solvers.MarginLoss):
    ...     id, name, summary = "smooth-hinge", "Smooth hinge", "a hinge with a parabola for its kink"
    ...     traits = solvers.MarginLoss.traits | solvers.Trait.CONJUGATE | solvers.Trait.DUAL_COORDINATES
    ...     dual_bound = 1.0
    ...     delta: float = solvers.param(0.5, "width δ of the parabola", low=0.01)
    ...
    ...     def derivatives(self, margin):
    ...         beta = min(max((1.0 - margin) / self.delta, 0.0), 1.0)
    ...         curvature = 1.0 / self.delta if beta > 0.0 else 0.0
    ...         return beta * (1.0 - margin - 0.5 * self.delta * beta), -beta, curvature
    ...
    ...     def dual(self, beta):
    ...         return beta - 0.5 * self.delta * beta * beta, 1.0 - self.delta * beta, self.delta
    >>> SmoothHinge(delta=0.5).derivatives(0.75)
    (0.0625, -0.5, 2.0)
    """

    kinds = ("binary",)
    traits = Trait.SMOOTH | Trait.INSTANCE_KERNELS | Trait.ROW_KERNELS | Trait.ONE_SCORE
    average = True
    #: the largest -ℓ', the upper end of the dual variables
    dual_bound: ClassVar[float] = math.inf
    #: an upper bound on ℓ''
    smoothness: ClassVar[float]

    def derivatives(self, margin: float) -> tuple[float, float, float]:
        """Compute the loss of one sample.

        Parameters
        ----------
        margin : float
            y z, the label times the score.

        Returns
        -------
        tuple of three floats
            ℓ, ℓ' (one subgradient at a kink), and ℓ'', the inverse of which sets the first step of
            ``bcd-ls``. If ℓ is linear at the margin, return an upper bound on ℓ'' nearby instead of 0.
        """
        raise TypeError(f"{type(self).__name__} does not define derivatives")

    def dual(self, beta: float) -> tuple[float, float, float]:
        """Compute the dual of the loss of one sample, h(β) = -ℓ*(-β), ℓ* the convex conjugate.

        Parameters
        ----------
        beta : float
            The dual variable, from 0 to ``dual_bound``; at the optimum it is -ℓ' at the margin.

        Returns
        -------
        tuple of three floats
            h, h' and -h''. For ``dual-cd`` h must be quadratic, so that Newton steps are exact.
        """
        raise TypeError(f"{type(self).__name__} does not define dual")

    @classmethod
    def register_formulas(cls, term: type) -> None:
        """Register the scalar functions of the loss for kernels, under the class of its term."""
        margin_derivatives.register(term, cls.derivatives)
        dual.register(term, cls.dual)

    def bind(self, part: Any, n_classes: int, parents: np.ndarray | None = None) -> BoundMargin:
        return BoundMargin(self, 1, np.ascontiguousarray(part.y, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class BoundMargin(RowLoss):
    """A loss of margins for labels ``y`` of -1 and +1; the prediction is the sign of the score.

    ``measure`` is the id of the metric: accuracy or F1.
    """

    declared: MarginLoss
    measure: str = field(default="accuracy", kw_only=True)

    @property
    def term(self) -> Any:
        return term_of(self.declared)

    def chunk_values(self, Z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        margin_values(self.term, Z.reshape(-1), y, out)

    def chunk_residual(self, Z: np.ndarray, y: np.ndarray, G: np.ndarray) -> None:
        margin_residuals(self.term, Z.reshape(-1), y, G.reshape(-1))

    def dual_values(self, scores: Scores, residual: Scores, alpha: float) -> np.ndarray:
        """Return h(αβ_i), where the residual is -β_i y_i."""
        return dual_values(self.term, -alpha * self.y * residual.Z[:, 0])

    def curvature(self, tight: bool) -> np.ndarray:
        return np.full(self.n_instances, self.declared.smoothness)

    @property
    def metric_name(self) -> str:
        return self._with_weights(MEASURES[self.measure])

    def measured_by(self, data: Any) -> Self:
        measure = getattr(data, "metric", None)
        return replace(self, measure=measure) if measure in MEASURES else self

    @property
    def averages(self) -> bool:
        return self.measure == "accuracy"

    def predict(self, scores: Scores) -> np.ndarray:
        return np.where(scores.Z[:, 0] >= 0, 1, -1)

    def metric(self, scores: Scores) -> float:
        if self.measure == "f1":
            return f1(self.y > 0, self.predict(scores) > 0, self.metric_weights)
        return super().metric(scores)


def f1(true: np.ndarray, found: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the F1 score, 2 TP/(2 TP + FP + FN), of rows with ``weights``.

    Return 0 if neither ``true`` nor ``found`` has a positive.
    """
    w = np.ones(true.size) if weights is None else weights
    among = float(w[true].sum() + w[found].sum())
    return 2.0 * float(w[true & found].sum()) / among if among else 0.0


def term_of(loss: Loss) -> Any:
    """Return the term of a loss: a NamedTuple with its numeric hyper-parameters."""
    cls = term_class(type(loss))
    return cls(*(getattr(loss, name) for name in cls._fields))


@functools.cache
def term_class(loss: Any) -> type:
    """Create the class of a loss's terms, with its numeric hyper-parameters as fields, and register its
    formulas.

    The name of the class contains a digest of the loss's source, since compiled kernels are cached under it.
    Without a source, kernels are compiled again in every process.
    """
    inside = loss.__module__.startswith(f"{__name__.partition('.')[0]}.")
    digest = "" if inside else (source_digest(loss) or uuid.uuid4().hex)[:16]
    numbers = [p.name for p in parameters(loss) if isinstance(p.default, int | float)]
    cls = namedtuple(f"{loss.__name__}Term{digest}", numbers, module=__name__)
    loss.register_formulas(cls)
    return globals().setdefault(cls.__name__, cls)  # where Numba's cache finds it again


@by_class
def dual(term, beta):
    """Return h(β) = -ℓ*(-β), its slope, and minus its second derivative."""
    raise TypeError(f"{type(term).__name__} has no dual")


@kernel
def margin_values(term, z, y, out):
    """Write the loss of each row to ``out``."""
    for i in range(z.size):
        out[i] = margin_derivatives(term, y[i] * z[i])[0]


@kernel
def margin_residuals(term, z, y, g):
    """Write the derivative of each row's loss with respect to its score to g."""
    for i in range(z.size):
        g[i] = y[i] * margin_derivatives(term, y[i] * z[i])[1]


@kernel
def dual_values(term, beta):
    """Return h(β_i) of each dual variable."""
    out = np.empty_like(beta)
    for i in range(beta.size):
        out[i] = dual(term, beta[i])[0]
    return out
