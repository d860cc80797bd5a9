"""Penalties λR(w)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from ..compute.jit import kernel
from ..declare import Declared, Trait, param
from ..linalg.row_norms import (
    NO_FACTORS,
    factor_of,
    rows_prox,
    rows_subgradient,
    rows_value,
    rows_violation,
    soft_thresholded,
    sparse_group_dual,
)


@dataclass(frozen=True)
class Penalty(Declared):
    """Base of penalties λR(w): a part with kinks, and a smooth part ½ ridge ‖w‖².

    A subclass is a frozen dataclass with ``id``, ``name`` and ``summary``; its hyper-parameters are declared
    by :func:`param`. It defines ``l1`` and ``ridge``, the strengths of ‖w‖₁ and ½‖w‖².

    Parameters
    ----------
    lam : float
        λ, the strength. :func:`make_problem` sets it.

    Notes
    -----
    Solvers add the ridge to the smooth loss and meet the kinks with ``prox`` and ``subgradient``, whose ``g``
    is always the gradient of loss plus ridge. For penalties that separate into single weights the kinks are
    ``l1`` ‖w‖₁ (possibly zero), and all methods take any subset of the weights. Those that separate into rows
    of W (:class:`RowPenalty`) add a norm of each row, and their methods take whole rows. Weights ``w`` and
    gradients ``g`` are flat arrays of equal length. With penalty factors v the strengths of weight j are
    ``l1`` v_j and ``ridge`` v_j, and solvers that need ``Trait.UNIFORM`` refuse the problem.

    Examples
    --------
    >>> import numpy as np
    >>> from solverscope import solvers
    >>> penalty = solvers.PENALTIES["elastic-net"](lam=0.1, rho=0.5)
    >>> penalty.l1, penalty.ridge
    (0.05, 0.05)
    >>> round(penalty.value(np.array([1.0, -2.0])), 3)
    0.275
    """

    traits: ClassVar[Trait] = Trait.SEPARABLE | Trait.GROUP_SEPARABLE | Trait.PROX
    sparse: ClassVar[bool]
    takes_lam: ClassVar[bool] = True
    #: strengths of ‖w‖₁ and ½‖w‖²
    l1: ClassVar[float] = 0.0
    ridge: ClassVar[float] = 0.0
    #: ``l1`` in formulas
    l1_symbol: ClassVar[str] = "λ"

    lam: float = 0.0
    #: weights per row, set by :meth:`over`
    width: ClassVar[int] = 1
    #: number of weights that each entry represents, set by :meth:`repeated`; None: one each
    times: ClassVar[np.ndarray | None] = None
    #: v_j ≥ 0 of each weight, by which its strength is multiplied, set by :meth:`with_factors`; None: 1
    factors: ClassVar[np.ndarray | None] = None

    @property
    def row_norms(self) -> tuple[float, float, float]:
        """Return the strengths of ‖v‖₁, ‖v‖₂ and ‖v‖_∞ in the part with kinks on a row v.

        The penalty must have ``Trait.GROUP_SEPARABLE``.
        """
        return self.l1, 0.0, 0.0

    def at_lam(self, lam: float) -> Self:
        """Return a copy of the penalty at another λ."""
        return self._holding(lam=lam)

    def over(self, width: int) -> Self:
        """Return a copy of the penalty for weights in rows of ``width``."""
        return self._holding(width=width)

    def repeated(self, times: np.ndarray) -> Self:
        """Return the penalty of weights whose entry k represents ``times[k]`` equal weights.

        Raises TypeError if the penalty has kinks.
        """
        if not self.smooth:
            raise TypeError(f"{self.id} has kinks: weights that stand for several are known to ridges alone")
        return self._holding(times=times)

    def with_factors(self, factors: np.ndarray) -> Self:
        """Return the penalty whose strength of weight j is λ ``factors[j]``: glmnet's penalty factors.

        A weight with the factor 0 is not penalised. Weights of a row have the same factor.
        """
        return self._holding(factors=factors)

    def on(self, where: slice | np.ndarray) -> Self:
        """Return the penalty restricted to the weights at ``where``."""
        if self.times is None and self.factors is None:
            return self
        own = {"times": self.times, "factors": self.factors}
        return self._holding(**{name: v[where] for name, v in own.items() if v is not None})

    def each(self, strength: float) -> float | np.ndarray:
        """Return ``strength`` times the factor of each weight, or ``strength`` itself if all factors are
        1."""
        return strength if self.factors is None else strength * self.factors

    @property
    def least_factor(self) -> float:
        """Return the smallest factor above 0; inf if all are 0."""
        return 1.0 if self.factors is None else float(self.factors[self.factors > 0.0].min(initial=math.inf))

    @property
    def convexity(self) -> float:
        """Return the modulus of strong convexity: the smallest ridge of a weight."""
        return self.ridge if self.factors is None else self.ridge * float(self.factors.min())

    def size(self, w: np.ndarray) -> float:
        """Return Σ_j v_j |w_j| with the penalty factors v."""
        return float(np.abs(w).sum() if self.factors is None else self.factors @ np.abs(w))

    def ridge_gradient(self, w: np.ndarray) -> np.ndarray:
        """Return the gradient of the smooth part ½ ridge ‖w‖²."""
        g = self.each(self.ridge) * w
        if self.times is not None:
            g *= self.times
        return g

    def ridge_product(self, u: np.ndarray, v: np.ndarray) -> float:
        """Return uᵀHv, H the Hessian of the smooth part: ridge uᵀv."""
        if self.times is not None:
            u = self.times * u
        if self.factors is not None:
            u = self.factors * u
        return self.ridge * float(u @ v)

    def value(self, w: np.ndarray) -> float:
        """Return λR(w)."""
        value = 0.0
        if self.l1 and self.factors is not None:
            value += self.l1 * self.size(w)
        elif self.l1:
            value += self.l1 * float(np.abs(w[w != 0.0]).sum())
        if self.ridge:
            value += 0.5 * self.ridge_product(w, w)
        return value

    @property
    def smooth(self) -> bool:
        """Return whether the penalty has no kinks: by its strengths if it separates, else by its traits."""
        if self.traits & (Trait.SEPARABLE | Trait.GROUP_SEPARABLE):
            return not any(self.row_norms)
        return Trait.SMOOTH_PENALTY in self.traits

    def slope(self, w: np.ndarray, d: np.ndarray, side: int = 1) -> float:
        """Return the derivative of t -> λR(w + t d) at 0 from the right (``side`` 1) or left (-1)."""
        slope = self.ridge_product(w, d) if self.ridge else 0.0
        if self.l1:
            d = d if self.factors is None else self.factors * d
            slope += self.l1 * float(np.sign(w) @ d + side * np.abs(d[w == 0.0]).sum())
        return slope

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        """Return argmin_w ½‖w - v‖² + step·(part with kinks)(w): soft-thresholding."""
        return soft_threshold(v, step * self.each(self.l1))

    def subgradient(self, w: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return the minimum-norm subgradient of the objective if its smooth part has gradient ``g``.

        This is eq. (16) of Zhong et al. 2014, and the pseudo-gradient of Andrew and Gao 2007.
        """
        return min_norm_subgradient(w, g, self.l1, self.factor_array)

    def violation(self, w: np.ndarray, g: np.ndarray) -> float:
        """Return the largest absolute entry of the minimum-norm subgradient."""
        return largest_violation(w, g, self.l1, self.factor_array)

    @property
    def factor_array(self) -> np.ndarray:
        """Return the factors in the form that kernels expect: an empty array if there are none."""
        return NO_FACTORS if self.factors is None else self.factors

    def dual_norm(self, g: np.ndarray) -> float | None:
        """Return the smallest λ at which zero is optimal for all weights with a factor above 0.

        ``g`` is the gradient of the loss there. Return None if there is no such λ.
        """
        if self.factors is None:
            return self.lam_max(g)
        penalised = self.factors > 0.0
        return self._holding(factors=None).lam_max(g[penalised] / self.factors[penalised])

    def unit_norm(self, width: int) -> float | None:
        """Return the largest increase of :meth:`dual_norm` if every entry of the gradient increases by 1.

        The gradient is in rows of ``width``. Return None if there is no dual norm.
        """
        one = self._holding(factors=None).lam_max(np.ones(width))
        if one is None or self.factors is None:
            return one
        return one / self.least_factor

    def lam_max(self, g0: np.ndarray) -> float | None:
        """Return the smallest λ at which w = 0 is optimal, for the loss gradient ``g0`` at w = 0.

        Return None if there is no such λ.
        """
        return None


@dataclass(frozen=True)
class NoPenalty(Penalty):
    """No penalty: R = 0."""

    id = "none"
    name = "None"
    summary = "no penalty"
    traits = Penalty.traits | Trait.NO_RIDGE | Trait.SMOOTH_PENALTY
    sparse = False
    takes_lam = False


@dataclass(frozen=True)
class L2(Penalty):
    """The ridge penalty ½λ‖w‖²."""

    id = "l2"
    name = "ℓ2 (ridge)"
    summary = "½‖w‖², keeps all weights small"
    traits = Penalty.traits | Trait.RIDGE | Trait.SMOOTH_PENALTY | Trait.SINGLE_NORM
    sparse = False

    @property
    def ridge(self) -> float:
        return self.lam


@dataclass(frozen=True)
class L1(Penalty):
    """The ℓ1 penalty λ‖w‖₁."""

    id = "l1"
    name = "ℓ1"
    summary = "‖w‖₁, sets single weights to zero"
    paper = "Zhong et al. 2014, eq. (1)"
    traits = Penalty.traits | Trait.NO_RIDGE | Trait.SINGLE_NORM
    sparse = True

    @property
    def l1(self) -> float:
        return self.lam

    def lam_max(self, g0: np.ndarray) -> float:
        return sup_norm(g0)


@dataclass(frozen=True)
class ElasticNet(Penalty):
    """The elastic-net penalty λ(ρ‖w‖₁ + ½(1 - ρ)‖w‖²)."""

    id = "elastic-net"
    name = "Elastic net"
    summary = "ρ‖w‖₁ + ½(1 - ρ)‖w‖², sparse but sharing weight among alike features"
    sparse = True
    l1_symbol = "λρ"

    rho: float = param(
        0.5, "share of ‖w‖₁ against ½‖w‖²", low=0.0, high=1.0, open_low=True, title="share of ℓ1, ρ"
    )

    @property
    def l1(self) -> float:
        return self.lam * self.rho

    @property
    def ridge(self) -> float:
        return self.lam * (1.0 - self.rho)

    def lam_max(self, g0: np.ndarray) -> float:
        return sup_norm(g0) / self.rho


@dataclass(frozen=True)
class RowPenalty(Penalty):
    """Base of penalties with a norm of each row of W.

    The tail of a chain consists of rows of length m: one for each source label, and two for the ends if the
    chain has them. ``w`` and ``g`` are flat and hold whole rows.
    """

    traits = Trait.GROUP_SEPARABLE | Trait.PROX | Trait.NO_RIDGE
    sparse = True

    def value(self, w: np.ndarray) -> float:
        return float(rows_value(self._rows(w), *self.row_norms, self.row_factors))

    def slope(self, w: np.ndarray, d: np.ndarray, side: int = 1) -> float:
        V, D = self._rows(w), self._rows(d)
        if self.factors is not None:  # norms are homogeneous
            D = self.row_factors[:, None] * D
        l1, l2, sup = self.row_norms
        slope = l1 * float(np.sum(np.sign(V) * D) + side * np.abs(D[V == 0.0]).sum())
        if l2:
            norms = np.sqrt(np.einsum("jc,jc->j", V, V))
            at_zero = norms == 0.0
            moved = np.einsum("jc,jc->j", V, D)[~at_zero] / norms[~at_zero]
            slope += l2 * float(moved.sum() + side * np.linalg.norm(D[at_zero], axis=1).sum())
        if sup:
            largest = np.abs(V) == np.abs(V).max(axis=1, keepdims=True)
            rise = side * np.where(V == 0.0, side * np.abs(D), np.sign(V) * D)
            slope += sup * side * float(np.where(largest, rise, -np.inf).max(axis=1).sum())
        return slope

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        out = v.copy()
        l1, l2, sup = (step * strength for strength in self.row_norms)
        rows_prox(self._rows(out), l1, l2, sup, self.row_factors)
        return out

    def subgradient(self, w: np.ndarray, g: np.ndarray) -> np.ndarray:
        out = np.empty_like(g)
        rows_subgradient(self._rows(w), self._rows(g), *self.row_norms, self.row_factors, self._rows(out))
        return out

    def violation(self, w: np.ndarray, g: np.ndarray) -> float:
        """Return the largest norm ‖·‖₂ of a row of the minimum-norm subgradient."""
        return float(rows_violation(self._rows(w), self._rows(g), *self.row_norms, self.row_factors))

    @property
    def row_factors(self) -> np.ndarray:
        """Return the factor of each row in the form that kernels expect."""
        return self.factor_array[:: self.width]

    def _rows(self, w: np.ndarray) -> np.ndarray:
        return w.reshape(-1, self.width)


@dataclass(frozen=True)
class L1L2(RowPenalty):
    """The group penalty λΣ_j ‖W_j‖₂, W_j being row j of W."""

    id = "l1-l2"
    name = "ℓ1/ℓ2 (rows)"
    summary = "Σ_j ‖W_j‖₂, sets whole features to zero"
    paper = "Blondel et al. 2013, eq. (2)"
    traits = RowPenalty.traits | Trait.ROW_NORM

    @property
    def row_norms(self) -> tuple[float, float, float]:
        return 0.0, self.lam, 0.0

    def lam_max(self, g0: np.ndarray) -> float:
        return float(np.linalg.norm(self._rows(g0), axis=1).max(initial=0.0))


@dataclass(frozen=True)
class L1Linf(RowPenalty):
    """The group penalty λΣ_j ‖W_j‖_∞, W_j being row j of W."""

    id = "l1-linf"
    name = "ℓ1/ℓ∞ (rows)"
    summary = "Σ_j ‖W_j‖_∞, sets whole features to zero and others to equal sizes"
    paper = "Duchi and Singer 2009"

    @property
    def row_norms(self) -> tuple[float, float, float]:
        return 0.0, 0.0, self.lam

    def lam_max(self, g0: np.ndarray) -> float:
        return float(np.abs(self._rows(g0)).sum(axis=1).max(initial=0.0))


@dataclass(frozen=True)
class SparseGroup(RowPenalty):
    """The sparse group penalty λ(ρ‖W‖₁ + (1 - ρ)Σ_j ‖W_j‖₂), W_j being row j of W."""

    id = "sparse-group"
    name = "Sparse group"
    summary = "ρ‖W‖₁ + (1 - ρ)Σ_j ‖W_j‖₂, sets whole features and single weights to zero"
    paper = "Simon et al. 2013"

    rho: float = param(0.5, "share of ‖W‖₁ against Σ_j ‖W_j‖₂", low=0.0, high=1.0, title="share of ℓ1, ρ")

    @property
    def row_norms(self) -> tuple[float, float, float]:
        return self.lam * self.rho, self.lam * (1.0 - self.rho), 0.0

    def lam_max(self, g0: np.ndarray) -> float:
        return float(sparse_group_dual(self._rows(g0), self.rho))


def sup_norm(g: np.ndarray) -> float:
    """Return ‖g‖_∞."""
    return float(max(g.max(initial=0.0), -g.min(initial=0.0)))


def soft_threshold(v: np.ndarray, threshold: float | np.ndarray) -> np.ndarray:
    """Return S(v, τ) = sign(v) max(|v| - τ, 0), elementwise; τ is a number or has one entry per element of
    v."""
    return v - np.clip(v, -threshold, threshold) if np.any(threshold) else v.copy()


@kernel
def _entry(w, g, l1):
    if w > 0.0:
        return g + l1
    if w < 0.0:
        return g - l1
    return soft_thresholded(g, l1)


@kernel
def min_norm_subgradient(w, g, l1, factors):
    """Return g + l1 sign(w) where w ≠ 0, S(g, l1) where w = 0."""
    out = np.empty_like(g)
    for j in range(w.size):
        out[j] = _entry(w[j], g[j], factor_of(factors, j) * l1)
    return out


@kernel
def largest_violation(w, g, l1, factors):
    """Return the largest absolute entry of the minimum-norm subgradient, without storing its entries."""
    largest = 0.0
    for j in range(w.size):
        largest = max(largest, abs(_entry(w[j], g[j], factor_of(factors, j) * l1)))
    return largest
