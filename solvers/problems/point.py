"""Points: the quantities of a problem at one w."""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

import numpy as np

from ..linalg.scores import Scores
from ..linalg.working_set import WorkingSet
from .losses.envelope import TIE_TOL
from .objective import Objective

#: Number of incremental updates of the scores after which they are recomputed, against drift.
REFRESH = 50
#: Units of rounding of the scores of w from which on the drift of updated ones counts: scores that come back
#: from far away bring along the rounding they had there.
DRIFTED = 100.0


class Drift(NamedTuple):
    """Bounds on the error ‖Z - A w‖ of scores Z, and the number of ``updates`` since Z was computed from w.

    ``rounding`` bounds the norm of the rounding error, computed with :func:`rounding_of_sums`. ``settled``
    bounds the distance by which scores have been moved onto kinks.
    """

    updates: int = 0
    rounding: float = 0.0
    settled: float = 0.0

    def after(
        self,
        problem: Objective,
        w: np.ndarray,
        step: np.ndarray,
        active: WorkingSet | None = None,
        *,
        moved: WorkingSet | None = None,
        times: float = 1.0,
    ) -> Drift | None:
        """Return the drift after the scores of ``times`` · ``step``, which leads to ``w``, have been added.

        Return None if the scores must be recomputed. ``w`` has one entry per member of ``active``, and
        ``step`` one per member of ``moved``, which defaults to ``active``.
        """
        unit = rounding_of_sums(problem)
        there = unit * problem.design.reach(w, active)
        travelled = unit * abs(times) * problem.design.reach(step, active if moved is None else moved)
        rounding = self.rounding + there + travelled
        longer = self._replace(updates=self.updates + 1, rounding=rounding)
        return None if rounding > DRIFTED * there else longer

    def settling(self, by: float) -> Drift | None:
        """Return the drift after scores have been moved onto kinks by at most ``by``.

        Return None if all such moves together exceed ``TIE_TOL``, the distance within which scores tie: then
        the scores have to be recomputed.
        """
        settled = self.settled + by
        return None if settled > TIE_TOL else self._replace(settled=settled)


#: The drift of scores just computed.
NO_DRIFT = Drift()


def rounding_of_sums(problem: Objective) -> float:
    """Return the relative rounding error of sums over instances, columns or rows: about √n units of
    rounding."""
    n = max(problem.design.n_rows, problem.design.n_features, 1)
    return sys.float_info.epsilon * (4.0 + math.sqrt(n))


class Point:
    """The quantities at one w, each computed at most once; :meth:`Problem.at` returns a point.

    Parameters
    ----------
    problem : Objective
        The problem.
    w : array, (weights,)
        The weights, flat: W row by row, then the tail.
    scores : Scores
        A w.
    loss : float, optional
        s L(A w), if it is known.
    residual : Scores, optional
        ∂L/∂(A w), if it is known.
    gradient : array, (weights,), optional
        The gradient of the smooth part, if it is known.
    active : WorkingSet, optional
        A working set outside which w is zero; None if no such set is known.
    drift : Drift
        A bound on the error that updates have added to the scores since they were computed from w.

    Attributes
    ----------
    w : array, (weights,)
        The weights.
    objective, loss, penalty : float
        f(w), and its parts s L(A w) and λR(w).
    residual : Scores
        ∂L/∂(A w), computed at the first use.
    smooth_part : float
        s L(A w) plus the ridge; :meth:`gradient` is its gradient.
    scores : Scores
        A w.
    problem : Problem
        The problem.

    Notes
    -----
    A point is valid until its solver takes the next step: :meth:`Line.move` and block coordinate solvers
    change ``w`` and ``scores`` in place. Observers keep a copy of w.

    Examples
    --------
    >>> import numpy as np
    >>> from solverscope import solvers
    >>> problem = solvers.make_problem(np.eye(2), [1, -1], loss="logistic", penalty="l1", lam=0.1)
    >>> point = problem.at()
    >>> point.gradient(), round(point.violation(), 3)
    (array([-0.25,  0.25]), 0.15)
    """

    def __init__(
        self,
        problem: Objective,
        w: np.ndarray,
        scores: Scores,
        *,
        loss: float | None = None,
        residual: Scores | None = None,
        gradient: np.ndarray | None = None,
        active: WorkingSet | None = None,
        drift: Drift = NO_DRIFT,
    ) -> None:
        #: a :class:`.problem.Problem`, whose module imports this one
        self.problem: Any = problem
        self.w, self.scores, self.active, self.drift = w, scores, active, drift
        self.loss = problem.scale * problem.loss.value(scores) if loss is None else loss
        members = w if active is None else active.take(w)
        self.penalty = float(sum(penalty.value(v) for penalty, v in problem.parts(active, members)))
        self.objective = self.loss + self.penalty
        self._residual = residual
        self._gradient: np.ndarray | None = None
        self._known = gradient

    def __repr__(self) -> str:
        return f"<Point: f = {self.objective:.9g} on {self.problem!r}>"

    def at(self, problem: Objective) -> Point:
        """Return this point in a problem that differs only in its penalty; known quantities are carried
        over."""
        known = {"loss": self.loss, "residual": self._residual, "active": self.active, "drift": self.drift}
        point = Point(problem, self.w.copy(), self.scores, **known)  # an iterate may show its own
        if not (self.problem.penalty.ridge or problem.penalty.ridge):
            point._gradient = self._gradient
        return point

    @property
    def residual(self) -> Scores:
        """Return the derivative of the loss, summed over instances, with respect to the scores."""
        if self._residual is None:
            self._residual = self.problem.loss.residual(self.scores)
        return self._residual

    @property
    def smooth_part(self) -> float:
        """Return the smooth part s L(A w) + ½ ridge ‖w‖²."""
        penalty = self.problem.penalty
        return self.loss + 0.5 * penalty.ridge_product(self.w, self.w) if penalty.ridge else self.loss

    def gradient(self, active: WorkingSet | None = None) -> np.ndarray:
        """Return the gradient of the smooth part s L(A w) + ½ ridge ‖w‖².

        Return its entries on ``active``, or those of all weights, which are cached. At a kink of the loss,
        return one subgradient.
        """
        if active is not None and not active.full:
            return self.adjoint_gradient(self.residual, active)
        if self._gradient is None:
            if self._known is None:
                self._gradient = self.adjoint_gradient(self.residual)
            else:
                self._gradient = self._known.copy()  # it is shared with other points
                self.problem.design.touched += self.problem.design.cost(None)  # a pass, whoever made it
        return self._gradient

    def adjoint_gradient(self, residual: Scores, active: WorkingSet | None = None) -> np.ndarray:
        """Return s Aᵀ ``residual`` + ridge w on ``active``, or on all weights.

        It is a subgradient of the smooth part if ``residual`` is a subgradient of the loss.
        """
        part = None if active is None or active.full else active
        g = self.problem.design.adjoint(residual, part)
        if self.problem.scale != 1.0:
            g *= self.problem.scale
            self.problem.pulse()
        if self.problem.penalty.ridge:
            members = self.w if part is None else part.take(self.w)
            for penalty, w, piece in self.problem.parts(part, members, g):
                piece += penalty.ridge_gradient(w)
        return g

    def rounding(self) -> float:
        """Return a bound on the error of the objective, due to rounding and to the drift of the scores.

        The bound needs the residual.
        """
        problem, n, m = self.problem, self.problem.loss.n_instances, self.problem.design.n_outputs
        unit = rounding_of_sums(problem)
        reach = problem.design.reach(self.w)
        off = self.drift.rounding + unit * reach + math.sqrt(n * m) * self.drift.settled
        # where the loss has kinks, its slope next to here may be that of other pieces
        most = problem.loss.largest_weight
        length = math.sqrt(self.residual.dot(self.residual)) if problem.smooth else most * math.sqrt(2.0 * n)
        own = abs(self.objective) + problem.scale * problem.loss.cancelled(self.scores)
        return unit * own + problem.scale * off * (length + 2.0 * m * most * off)

    def hessian_diagonal(self, active: WorkingSet) -> np.ndarray:
        """Return ∂²/∂w_j² of the smooth part, one entry per member of ``active``.

        The loss must have ``Trait.DIAGONAL_HESSIAN`` or ``Trait.HESSIAN``. Mixed derivatives with respect to
        two scores of an instance are left out.
        """
        problem, h = self.problem, self.problem.loss.second_derivatives(self.scores, self.residual)
        penalty = problem.penalty_on(active)
        return problem.scale * problem.design.adjoint_of_squares(h, active) + penalty.each(penalty.ridge)

    def violation(self) -> float:
        """Return the largest entry (or block norm) of the minimum-norm subgradient over all weights.

        Return nan if the loss has no gradient, since one subgradient does not determine the violation.
        """
        if not self.problem.smooth:
            return math.nan
        pieces = self.problem.parts(None, self.w, self.gradient())
        return max(penalty.violation(w, g) for penalty, w, g in pieces)

    def sparsity(self) -> tuple[int, int]:
        """Return the number of non-zero weights, and of features that have one."""
        design, w = self.problem.design, self.w
        m, body = design.n_outputs, design.n_features * design.n_outputs
        if self.active is None or self.active.full:
            nnz = rows = 0
            for part in self.problem.pieces():
                nonzero = w[part] != 0.0
                nnz += int(np.count_nonzero(nonzero))
                W = nonzero[: max(body - part.start, 0)].reshape(-1, m)
                rows += int(np.count_nonzero(W.any(axis=1)))
            return nnz, rows
        support = self.active.coordinates[self.active.take(w) != 0.0]
        rows = support[support < body] // m
        return support.size, int(np.count_nonzero(np.diff(rows))) + (rows.size > 0)
