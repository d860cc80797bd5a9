"""Base classes of losses: functions of the scores, selected by name, then bound to labels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np

from ...compute.team import Team
from ...declare import Declared, Trait
from ...linalg.scores import Scores
from ...search.outcome import NO_BREAKPOINTS, Breakpoints
from .envelope import TIE_TOL
from .instances import Instances


class Loss(Declared):
    """Base of losses that are not yet bound to data: names, traits and hyper-parameters.

    A subclass is a frozen dataclass, which defines ``bind``. It declares ``id``, ``name``, ``summary`` and
    ``paper``, the ``kinds`` of labels it takes, its ``traits``, and its hyper-parameters by :func:`param`.
    ``average`` is the convention of its paper, mean or sum over instances. A binary loss that depends on the
    margin only is easier to write as a :class:`.margin.MarginLoss`.

    Notes
    -----
    ``bind`` returns a :class:`BoundLoss`, or a :class:`RowLoss` if each row of scores has a separate loss.
    It has ``values``, ``residual`` and ``predict``. Each trait promises more:

    * ``SMOOTH``: ``residual`` is the gradient, which all gradient-based solvers require. Without it
      ``residual`` is any one subgradient.
    * ``DIRECTIONAL_DERIVATIVE``, of a loss with kinks: ``subgradient_sup``, ``random_subgradient`` and
      ``breakpoints``, for searches from kink to kink.
    * ``DIAGONAL_HESSIAN``: ``diagonal``.
    * ``HESSIAN``: ``hessian``, of a :class:`RowLoss` ``chunk_curved``, and ``second_derivatives``, which
      follow from ``diagonal`` if the Hessian is diagonal.
    * ``LIPSCHITZ``: ``curvature``.
    * ``CONJUGATE``: ``dual_values``, or ``dual_value``.
    * ``LOG_LINEAR``: ``log_odds`` and ``truths``.
    * ``QUADRATIC_MODEL``: with one score, ``diagonal``; with several the residual of a row is the
      probabilities of its labels minus its label ``y``.
    * ``INSTANCE_KERNELS`` and ``ROW_KERNELS``: ``term``, a formula that compiled kernels call on single
      instances or along columns of X. Only losses of margins and those of this package have one.

    Examples
    --------
    >>> from solverscope import solvers
    >>> solvers.LOSSES["logistic"].kinds
    ('binary',)
    >>> solvers.Trait.SMOOTH in solvers.LOSSES["binary-hinge"].traits
    False
    """

    kinds: ClassVar[tuple[str, ...]]
    traits: ClassVar[Trait]
    average: ClassVar[bool]
    metric_name: ClassVar[str] = "accuracy"

    def bind(self, part: Any, n_classes: int, parents: np.ndarray | None = None) -> BoundLoss:
        """Return the loss for the labels of ``part`` (with ``y`` and ``offsets``).

        ``parents`` is the tree of classes, if there is one.
        """
        raise TypeError(f"{type(self).__name__} does not define bind")


def delegated(path: str) -> Any:
    """Return a property that reads the attribute at the dotted ``path``, for a loss that wraps another."""
    return property(attrgetter(path))


@dataclass(frozen=True, eq=False)
class BoundLoss:
    """Base of losses with their labels: L(Z, tail), summed over instances.

    ``declared`` is the :class:`Loss` it was bound from, with the hyper-parameters. Two bound losses are equal
    if their classes, declared losses and data are equal; they cannot be hashed. A subclass is a dataclass
    with ``frozen=True, eq=False``, whose fields are its labels. It defines ``n_instances``, ``first``,
    ``subset``, ``values``, ``residual`` and ``predict``. A loss is a function of scores: it never reads X or
    w.
    """

    declared: Loss
    n_outputs: int
    team: Team = field(default_factory=Team, compare=False, repr=False, kw_only=True)
    pulse: Callable[[], None] = field(default=lambda: None, compare=False, repr=False, kw_only=True)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [f.name for f in fields(self) if f.compare]
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__: ClassVar[None] = None

    #: labels, if instances have any
    y: ClassVar[np.ndarray]
    #: number of samples, or of sequences
    n_instances: ClassVar[int]
    #: whether instances have labels, which the model can predict
    labelled: ClassVar[bool] = True
    #: whether the model predicts the ranks of labels, 0 for the first, in place of labels
    ranks: ClassVar[bool] = False
    #: whether labels are numeric targets
    numeric: ClassVar[bool] = False
    #: a lower bound on the loss of an instance
    least: ClassVar[float] = -math.inf
    #: weights of the tail, which are passed through with the scores
    n_tail: ClassVar[int] = 0
    #: whether the metric is a mean over rows
    averages: ClassVar[bool] = True
    #: weight of each row in the metric; None: all are equal
    metric_weights: ClassVar[np.ndarray | None] = None
    #: whether instances have weights, and the largest of these
    weighted: ClassVar[bool] = False
    largest_weight: ClassVar[float] = 1.0
    #: whether the loss is linear between its breakpoints, along every line
    piecewise_linear: ClassVar[bool] = False

    @property
    def instance_weights(self) -> np.ndarray | None:
        """Return the weights of the instances, (n_instances,), or None if all are 1."""
        return None

    @property
    def id(self) -> str:
        return self.declared.id

    @property
    def traits(self) -> Trait:
        return self.declared.traits

    @property
    def metric_name(self) -> str:
        return self.declared.metric_name

    @property
    def formula(self) -> type:
        """Return the class whose code computes the loss."""
        return type(self)

    @property
    def term(self) -> Any:
        """Return the term that selects the loss's kernels and holds their parameters, a NamedTuple.

        Losses with ``Trait.INSTANCE_KERNELS`` or ``Trait.ROW_KERNELS`` define this.
        """
        raise TypeError(f"{type(self).__name__} has no term: define chunk_values and chunk_residual")

    def attached(self, team: Team, pulse: Callable[[], None]) -> Self:
        """Return a copy of the loss that uses this team of threads and this pulse."""
        return replace(self, team=team, pulse=pulse)

    def first(self, n: int, most: int) -> tuple[Self, int]:
        """Return the loss of the first ``n`` instances, and the number of rows of X that they have.

        They are cut off after ``most`` rows.
        """
        raise TypeError(f"{type(self).__name__} does not define first")

    def instances_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the instances that these rows of X (ascending) belong to, ascending."""
        return rows

    def subset(self, instances: np.ndarray) -> tuple[Self, np.ndarray]:
        """Return the loss of these instances (ascending), and the indices of their rows of X."""
        raise TypeError(f"{type(self).__name__} does not define subset")

    @property
    def labels(self) -> np.ndarray:
        """Return all labels in one flat int64 array, the same number for each row of scores."""
        return np.ascontiguousarray(self.y, dtype=np.int64).reshape(-1)

    def instances(self) -> Instances:
        """Return the data for kernels that take one instance at a time.

        The loss must have ``Trait.INSTANCE_KERNELS``.
        """
        return Instances(self.term, np.arange(self.n_instances + 1), self.labels, np.empty(0))

    def values(self, scores: Scores, delta: Scores | None = None, t: float = 0.0) -> np.ndarray:
        """Return the loss of each instance at ``scores + t delta``, shape (n_instances,)."""
        raise TypeError(f"{type(self).__name__} does not define values")

    def residual(self, scores: Scores) -> Scores:
        """Return ∂L/∂Z and ∂L/∂tail at ``scores``, summed over instances; at a kink, any one subgradient."""
        raise TypeError(f"{type(self).__name__} does not define residual")

    def predict(self, scores: Scores) -> np.ndarray:
        """Return the predicted labels, in the coding of the data set."""
        raise TypeError(f"{type(self).__name__} does not define predict")

    def value(self, scores: Scores, delta: Scores | None = None, t: float = 0.0) -> float:
        """Return the loss summed over instances, in an order that does not depend on the number of
        threads."""
        return float(np.sum(self.values(scores, delta, t)))

    def value_and_residual(self, scores: Scores, delta: Scores, t: float) -> tuple[float, Scores | None]:
        """Return the loss and its residual at ``scores + t delta``.

        Return None for the residual unless computing both together is much cheaper.
        """
        return self.value(scores, delta, t), None

    @property
    def truth(self) -> np.ndarray:
        """Return the labels: one per row, or 0 and 1 for each label if an instance may have several
        labels."""
        return self.y

    def measured_by(self, data: Any) -> Self:
        """Return the loss with the metric that ``data`` prefers, if the loss supports it."""
        return self

    def metric(self, scores: Scores) -> float:
        """Return the fraction of labels predicted correctly."""
        return float(np.average(self.predict(scores) == self.truth, weights=self.metric_weights))

    def tie_slack(self, value: float, weights: np.ndarray | None = None) -> float:
        """Return a bound on how far tied functions are below their maxima, summed over instances.

        ``weights`` are those of the instances in this sum, and in the loss ``value``.
        """
        return TIE_TOL * (value + (self.n_instances if weights is None else float(weights.sum())))

    def subgradient_sup(self, scores: Scores, delta: Scores) -> Scores:
        """Return the subgradient G at ``scores`` with the largest ‹G, delta› (Yu et al. 2010, eq. (18)).

        This is the residual if the loss is smooth.
        """
        self._check_smooth("subgradient_sup")
        return self.residual(scores)

    def slope(self, scores: Scores, delta: Scores, t: float = 0.0, side: int = 1) -> float:
        """Return the derivative of t -> L(scores + t delta) from the right (``side`` 1) or left (-1).

        From the right it is the supremum of ‹G, delta› over subgradients G. Both sides are equal if the loss
        is smooth.
        """
        ahead = delta if side > 0 else -delta
        return side * self.subgradient_sup(scores.plus(t, delta), ahead).dot(ahead)

    def ties(self, scores: Scores) -> np.ndarray:
        """Return the instances with more than one subgradient at ``scores``, ascending.

        The result is empty if the loss is smooth.
        """
        self._check_smooth("ties")
        return np.zeros(0, dtype=np.int64)

    def count_ties(self, scores: Scores) -> int:
        """Count the instances with more than one subgradient at ``scores``."""
        return self.ties(scores).size

    def random_subgradient(self, scores: Scores, rng: np.random.Generator) -> Scores:
        """Return a random extreme point of the subdifferential at ``scores``.

        This is the residual if the loss is smooth.
        """
        self._check_smooth("random_subgradient")
        return self.residual(scores)

    def breakpoints(self, scores: Scores, delta: Scores) -> Breakpoints:
        """Return the slope of t -> L(scores + t delta) at 0 from the right, and the steps t > 0 at which it
        jumps.

        There are no such steps if the loss is smooth.
        """
        self._check_smooth("breakpoints")
        return Breakpoints(self.slope(scores, delta), NO_BREAKPOINTS, NO_BREAKPOINTS)

    def breakpoints_near_turn(self, scores: Scores, delta: Scores, tilt: tuple[float, float]) -> Breakpoints:
        """Return the breakpoints near the step at which the slope plus a + ct becomes non-negative.

        ``tilt`` is (a, c). Breakpoints far from that step may be left out; then the jumps of those before it
        are merged into one.
        """
        return self.breakpoints(scores, delta)

    def settle(self, scores: Scores) -> float:
        """Set scores that are within rounding of a kink exactly onto it, in place; return the largest
        change."""
        return 0.0

    def _check_smooth(self, method: str) -> None:
        if Trait.SMOOTH not in self.traits:
            raise TypeError(f"{self.id} has kinks: {type(self).__name__} must define {method} to be used so")

    def dual_value(self, scores: Scores, residual: Scores, alpha: float) -> float:
        """Return -L*(αG) for the ``residual`` G at ``scores`` and 0 < α <= 1, L* the convex conjugate.

        It is the minimum of L(Z) - α‹G, Z› over all Z, or a lower bound on it that is tight at α = 1. The
        loss must have ``Trait.CONJUGATE``.
        """
        return float(np.sum(self.dual_values(scores, residual, alpha)))

    def dual_values(self, scores: Scores, residual: Scores, alpha: float) -> np.ndarray:
        """Return the summand of each instance in :meth:`dual_value`, (n_instances,).

        Losses of rows with ``Trait.CONJUGATE`` define this.
        """
        raise TypeError(f"{type(self).__name__} does not define dual_values")

    def cancelled(self, scores: Scores) -> float:
        """Return the size of the terms that cancel in the value or in :meth:`dual_value`.

        Both have rounding errors proportional to this size, however small they are themselves.
        """
        return 0.0

    def diagonal(self, G: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return ∂²L/∂z² for the scores in ``rows``, whose residual is ``G``.

        The loss must have ``Trait.DIAGONAL_HESSIAN``.
        """
        raise TypeError(f"{type(self).__name__} does not define diagonal")

    def tail_diagonal(self, scores: Scores) -> np.ndarray:
        """Return ∂²L/∂tail² for the entries of the tail.

        The loss must have ``Trait.DIAGONAL_HESSIAN``.
        """
        return np.zeros(0)

    def second_derivatives(self, scores: Scores, residual: Scores) -> Scores:
        """Return the diagonal of ∇²L: ∂²L/∂z² for scores and for entries of the tail.

        The loss must have ``Trait.DIAGONAL_HESSIAN`` or ``Trait.HESSIAN``.
        """
        rows = np.arange(len(residual.Z))
        return Scores(self.diagonal(residual.Z, rows), self.tail_diagonal(scores))

    def hessian(self, scores: Scores, residual: Scores) -> Callable[[Scores], Scores]:
        """Return the function D -> ∇²L D at ``scores``: the change of the residual along a change D.

        ``residual`` must be the residual at ``scores``. If ∇²L jumps there, an element of the generalized
        Hessian is used. Losses with ``Trait.HESSIAN`` define this.
        """
        raise TypeError(f"{type(self).__name__} does not define hessian")

    def log_odds(self, scores: Scores, output: int) -> np.ndarray:
        """Return log p/(1 - p) of each row, p the probability of the label with index ``output``.

        The loss must have ``Trait.LOG_LINEAR``.
        """
        raise TypeError(f"{type(self).__name__} does not define log_odds")

    def truths(self, output: int) -> np.ndarray:
        """Return 1.0 for the rows that have the label with index ``output``, 0.0 for the others.

        The loss must have ``Trait.LOG_LINEAR``.
        """
        raise TypeError(f"{type(self).__name__} does not define truths")

    def curvature(self, tight: bool) -> np.ndarray:
        """Return an upper bound on the largest eigenvalue of ∂²L/∂z∂z for each row.

        It is the lowest known bound if ``tight``, else the paper's. The loss must have ``Trait.LIPSCHITZ``.
        """
        raise TypeError(f"{type(self).__name__} does not define curvature")

    def bends(self) -> Scores:
        """Return a curvature κ_t of each row, (n_rows, 1), and its sums for the tail.

        ‹D, ∇²L D› <= Σ_t κ_t‖D_t‖² holds for any change D of the scores. For each entry of the tail κ_t is
        summed over the positions at which the entry is added. Losses with ``Trait.LIPSCHITZ`` or
        ``Trait.CHAINS`` define this.
        """
        return Scores(self.curvature(True)[:, None], np.zeros(0))

    def block_curvature(self, sums: Callable[[np.ndarray], np.ndarray], tight: bool) -> np.ndarray:
        """Return upper bounds on the largest eigenvalue of the Hessian in the weights of each feature j.

        ``sums(C)`` returns Σ_i x_ij² C_ik for any C (rows, k).
        """
        return sums(self.curvature(tight)[:, None])[:, 0]
