"""A problem f(w) = s L(A w) + λR(w)."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..compute.blas import one_blas_thread
from ..compute.html_table import html_table
from ..compute.jit import compile_clock
from ..compute.source_digest import source_digest
from ..compute.team import Team
from ..declare import chosen_parameters, parameters
from ..linalg.by_rows import CSR
from ..linalg.design import Design, read_only
from ..linalg.scores import Scores
from ..linalg.working_set import WorkingSet
from .free_weights import fit_free_weights
from .kept_values import AtZero, Once, Shared
from .line import Line
from .losses.loss import BoundLoss
from .metrics.followed import Examples
from .objective import Objective
from .penalties import Penalty
from .point import REFRESH, Point
from .weight_names import Names

#: Number of instances of a tiny problem.
TINY_INSTANCES = 16
#: Units of rounding of the terms of the gradient at zero below which a violation is meaningless.
NOISE = 100 * sys.float_info.epsilon
#: Weights up to which the gradient at zero is cached, for other penalties and other λ.
KEPT_WEIGHTS = 10_000_000


class Problem(Objective):
    """An objective f(w) = s L(A w) + λR(w) with its data; :func:`make_problem` makes one.

    Parameters
    ----------
    design : Design
        X, and the number of scores per row.
    loss : BoundLoss
        L, with its labels.
    penalty : Penalty
        R; :meth:`at_lam` sets λ.
    average : bool
        Whether s is 1/n, n the number of instances, or 1.
    about : dict, optional
        Origin of the data: ``dataset``, ``options``, ``seed``, ``digest`` and ``source``. The digest may be a
        function that computes it, called when :attr:`key` is first read.
    names : Names, optional
        Names of features and outputs, for views.
    test : callable, optional
        Returns design and loss of the held-out data; called at the first use.
    start : array, (weights,), optional
        Where solvers start. Default: :meth:`null`.
    factors : array, (weights,), optional
        Penalty factors v: weight j has the strength λv_j. Default: 1. They are equal within a row.
    intercept : bool
        Whether the last feature is the constant 1 of an intercept, with the factor 0.

    Attributes
    ----------
    X, y
        The features, a SciPy matrix, and the labels; see :meth:`csr` for compiled loops.
    size : int
        The number of weights d.
    scale : float
        s: 1/n for an average, 1 for a sum.
    loss : BoundLoss
        L with its labels: ``loss.id``, ``loss.traits``, ``loss.n_instances``, ``loss.n_outputs``.
    penalty : Penalty
        λR: ``penalty.value(w)``, ``penalty.prox(v, step)``, ``penalty.violation(w, g)``.
    lam, lam_max : float or None
        λ, and the smallest λ at whose solution all penalised weights are zero.
    smooth : bool
        Whether the loss has a gradient.
    passes : float
        Passes over X so far.

    Notes
    -----
    A run gives its solver a copy with its own pulse (``with_pulse``). Products and inference call it about
    every 50 ms, and it may block (pause) or raise (stop). ``passes`` counts this copy's
    products with X and Xᵀ, half a pass each.

    Examples
    --------
    >>> import numpy as np
    >>> from solverscope import solvers
    >>> problem = solvers.make_problem(np.eye(2), [1, -1], loss="logistic", penalty="l1", lam=0.1)
    >>> problem.size, round(problem.lam_max, 3)
    (2, 0.25)
    >>> point = problem.at(np.array([1.0, -1.0]))
    >>> round(point.objective, 4)
    0.5133
    """

    def __init__(
        self,
        design: Design,
        loss: BoundLoss,
        penalty: Penalty,
        *,
        average: bool,
        about: dict[str, Any] | None = None,
        names: Names | None = None,
        test: Callable[[], tuple[Design, BoundLoss]] | None = None,
        start: np.ndarray | None = None,
        factors: np.ndarray | None = None,
        intercept: bool = False,
    ) -> None:
        super().__init__(design, loss, penalty, average=average, factors=factors)
        self.intercept = intercept
        self._setup_seconds = 0.0
        self._about = about or {}
        digest = self._about.get("digest")
        self._digest = Once(digest if callable(digest) else lambda: digest)
        self.names = names or Names()
        self._test = Once(test) if test is not None else None
        self._examples = Once(partial(Examples.of, design, loss, self._test))
        self.start = start
        self._gradient, self._zero, self._null = Shared(), Shared(), Shared()

    def __str__(self) -> str:
        about = self._about
        factors = about.get("penalty_factors")
        said = [
            f"{about.get('dataset')}: {self.loss.n_instances:,} instances",
            f"{self.size:,} weights",
            f"{self.loss.id} with {self.penalty.id}",
            "" if self.lam is None else f"λ = {self.lam:.6g}",
            "intercept" if self.intercept else "",
            "sample weights" if self.loss.weighted else "",
            f"penalty factors {factors}" if factors else "",
        ]
        return ", ".join(filter(None, said))

    def __repr__(self) -> str:
        return f"<Problem {self}>"

    def _repr_html_(self) -> str:
        return html_table("Problem", {"f": str(self), "λ_max": self.lam_max and f"{self.lam_max:.6g}"})

    @property
    def lam_max(self) -> float | None:
        """Return the smallest λ at whose solution all penalised weights are zero. Return None if there is no
        such λ, or if the loss has no gradient."""
        return self._at_zero.lam_max

    @property
    def noise(self) -> float:
        """Return the violation at w = 0 that rounding alone may cause.

        G is the residual at w = 0. The noise is some units of rounding of the sum of |x_ij G_ic| over rows,
        bounded by ‖x_j‖‖G‖. The sum of x_ij G_ic itself may cancel.
        """
        return self._at_zero.noise

    @property
    def _at_zero(self) -> AtZero:
        """Return the quantities at w = 0, computed at the first use."""
        if self._zero.value is None:
            self._zero.value = self._compute_at_zero()
        return self._zero.value

    def _compute_at_zero(self) -> AtZero:
        if self._gradient.value is None:
            began, touched = compile_clock.net()[1], self.design.touched
            point = self.at()
            with one_blas_thread():
                length = math.sqrt(point.residual.dot(point.residual))
            noise = NOISE * self.scale * length * self.design.longest_column()
            g0 = point.gradient() if self.smooth else None  # ridges have no part in it
            if g0 is not None:
                self.design.expect(g0)
            self.design.touched = touched
            self._gradient.seconds += compile_clock.net()[1] - began
            if self.size <= KEPT_WEIGHTS:
                self._gradient.value = g0, noise
        else:
            g0, noise = self._gradient.value
        if g0 is None:
            return AtZero(math.nan, noise, None)
        at_zero = (penalty.violation(np.zeros(own.size), own) for penalty, own in self.parts(None, g0))
        return AtZero(max(at_zero), noise, self.dual_norm(g0))

    @property
    def setup_seconds(self) -> float:
        """Return the CPU seconds of the problem's set-up, with those of the gradient at w = 0 once it is
        computed."""
        return self._setup_seconds + self._gradient.seconds

    def add_setup_seconds(self, seconds: float) -> None:
        """Add CPU seconds of the set-up; those of the gradient at w = 0, which are included, count only
        once."""
        self._setup_seconds += seconds - self._gradient.seconds

    @property
    def lam(self) -> float | None:
        """Return λ; return None if there is no penalty."""
        return self.penalty.lam if self.penalty.takes_lam else None

    @property
    def family(self) -> object:
        """Return an object that is shared by exactly those problems that differ only in their penalty or
        λ."""
        return self._gradient

    @property
    def team(self) -> Team:
        return self.design.team

    @property
    def passes(self) -> float:
        """Return the passes over X so far: ½ × entries touched / entries of X, over all products."""
        return 0.5 * self.design.touched / max(self.design.nnz, 1)

    def count_entries(self, n: int) -> None:
        """Count ``n`` entries of X that a solver's own loop has read, as ½ n / entries of X passes. Products
        of points and lines are counted automatically."""
        self.design.touched += n

    @property
    def X(self) -> sp.csr_array:
        """Return the features, (rows, n_features), with a last column of ones if there is an intercept. Rows
        are samples, or tokens of sequences; those with the weight 0 are left out. Do not change its
        arrays."""
        indptr, indices, data = self.csr()
        return sp.csr_array((data, indices, indptr), shape=self.design.shape)

    @property
    def y(self) -> np.ndarray | None:
        """Return the labels of the rows in the coding of the loss, read-only; return None if there are none.

        The labels are −1 and 1, indices of classes, 0 and 1 for each of several labels, or numeric targets.
        """
        labels = getattr(self.loss, "y", None)
        return None if labels is None else read_only(labels)

    def csr(self) -> CSR:
        """Return the arrays ``indptr``, ``indices`` and ``data`` of :attr:`X`, for compiled loops over rows.

        The first call computes them, as part of the set-up. Call :meth:`count_entries` for the entries that a
        loop reads.
        """
        return self.design.csr()

    @property
    def key(self) -> str:
        """Return a hash of everything that determines the optimum, descriptive strings left out."""
        text = json.dumps(self.identity(), sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    @property
    def lasting(self) -> bool:
        """Return whether :attr:`key` is valid in other processes: loss and penalty must have readable
        sources."""
        kinds = type(self.loss.declared), self.loss.formula, type(self.penalty)
        return all(source_digest(kind) is not None for kind in kinds)

    def identity(self) -> dict[str, Any]:
        """Return the data that :attr:`key` hashes. These are data, seed, scale, λ, and loss and penalty with
        hyper-parameters and digests of their sources."""
        found = {
            **{k: self._about.get(k) for k in ("dataset", "options", "seed")},
            "digest": self._digest(),
            "loss": _meaning(self.loss.declared, self.loss.formula),
            "penalty": [*_meaning(self.penalty, type(self.penalty)), self.lam],
            "average": self.average,
        }
        if "weights" in self._about:
            found["weights"] = self._about["weights"]
        if self.factors is not None:
            found["factors"] = hashlib.sha256(self.factors.tobytes()).hexdigest()
        return found

    def describe(self) -> dict[str, Any]:
        """Return the record of type "problem" that ``--json`` prints and traces store. It has the parameters
        of loss and penalty that differ from their defaults, and ``weighted`` if samples have weights."""
        chosen = [chosen_parameters(thing) for thing in (self.loss.declared, self.penalty)]
        params = dict(zip(("loss_params", "penalty_params"), chosen, strict=True))
        return {
            "type": "problem",
            "version": 1,
            "dataset": self._about.get("dataset"),
            "options": self._about.get("options", {}),
            "loss": self.loss.id,
            "penalty": self.penalty.id,
            "lam": self.lam,
            "lam_max": self.lam_max,
            "average": self.average,
            "intercept": self.intercept,
            "penalty_factors": self._about.get("penalty_factors"),
            "n_samples": self.loss.n_instances,
            "n_features": self.design.n_features,
            "n_outputs": self.loss.n_outputs,
            "n_params": self.size,
            "seed": self._about.get("seed"),
            "key": self.key,
            "source": self._about.get("source"),
            **{name: chosen for name, chosen in params.items() if chosen},
            **({"weighted": True} if self.loss.weighted else {}),
        }

    def with_pulse(self, pulse: Callable[[], None]) -> Problem:
        """Return a shallow copy with its own pulse, pass count and thread accounting; data and labels are
        shared."""
        other = copy.copy(self)
        other.design = self.design.attached(pulse)
        other.design.team = self.team.attached()
        other.loss = self.loss.attached(other.team, pulse)
        return other

    def with_threads(self, threads: int) -> Problem:
        """Return a copy that computes products on ``threads`` threads; data and products are shared. The
        results of the copy are bitwise equal to those of the problem."""
        other = self.with_pulse(self.pulse)
        other.design.team = Team(threads)
        other.loss = self.loss.attached(other.team, self.pulse)
        return other

    def at_lam(self, lam: float) -> Problem:
        """Return a copy of the problem at another λ (data and products shared)."""
        return self.with_penalty(self.penalty.at_lam(lam))

    def with_penalty(self, penalty: Penalty) -> Problem:
        """Return a copy of the problem with another penalty (data and products shared)."""
        other = copy.copy(self)
        other.penalty, other._zero = self.fitted(penalty), Shared()
        return other

    def in_variables(self, design: Design, penalty: Penalty) -> Problem:
        """Return a copy of the problem in other variables. ``design`` computes the same scores in them, and
        ``penalty`` the same penalty. The rounding error of a violation is that of this problem."""
        other, here = copy.copy(self), self._at_zero
        other.design, other.penalty, other.start = design, penalty.over(design.n_outputs), None
        other.factors, other.free = None, np.zeros(0, dtype=np.int64)
        other._gradient, other._zero = Shared(), Shared()
        other._zero.value = here
        return other

    def tiny(self) -> Problem:
        """Return a problem of the first few instances, with the same data types. It is just large enough for
        a solver to call all its kernels before it converges."""
        loss, rows = self.loss.first(TINY_INSTANCES, int(self.design.edges[1]))
        design = self.design.head(rows)
        same = {"start": self.start, "factors": self.factors, "intercept": self.intercept}
        tiny = Problem(design, loss, self.penalty, average=self.average, **same)
        if tiny.lam_max:
            tiny = tiny.at_lam(0.1 * tiny.lam_max)
        return tiny

    def sample(self, share: float, seed: int = 0) -> Problem:
        """Return the problem of a random fraction ``share`` of the instances, with all weights and λ in
        proportion. Its optimum tends to this problem's as the fraction grows. Larger samples contain
        smaller ones of one seed."""
        n = self.loss.n_instances
        order = np.random.default_rng(seed).permutation(n)
        loss, rows = self.loss.subset(np.sort(order[: max(1, round(share * n))]))
        design, loss = self.design.take(rows), loss.attached(self.team, self.pulse)
        design.pulse = self.pulse
        same = {"start": self.start, "factors": self.factors, "intercept": self.intercept}
        part = Problem(design, loss, self.penalty, average=self.average, names=self.names, **same)
        if self.average or self.lam is None:
            return part
        return part.at_lam(self.lam * loss.n_instances / n)

    def violation_at_zero(self) -> float:
        """Return the largest entry (or block norm) of the minimum-norm subgradient at w = 0; nan without a
        gradient."""
        return self._at_zero.violation

    def aim(self, tol: float) -> float:
        """Return the violation at which w counts as optimal: the larger of ``tol`` times that at w = 0, and
        the noise. The noise is larger near λ_max, where the violation at w = 0 is almost zero."""
        return max(tol * self._at_zero.violation, self.noise)

    def dual_norm(self, g: np.ndarray) -> float | None:
        """Return the smallest λ at which w = 0 is optimal for the gradient ``g`` at w = 0; None without such
        a λ."""
        parts = (penalty.dual_norm(own) for penalty, own in self.parts(None, g))
        known = [lam for lam in parts if lam is not None]
        return max(known) if known else None

    def unpack(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the flat weights ``w`` as views: W (n_features, n_outputs), and the transitions of a chain.

        Transitions have one row per source label and one column per target label. If the chain has ends, two
        more rows follow: transitions from the begin state, and those to the end state. Without a chain the
        second array is empty.
        """
        W, tail = self.design.split(w)
        return W, tail.reshape(-1, self.loss.n_outputs) if tail.size else tail

    def at(self, w: np.ndarray | None = None, last: Point | None = None) -> Point:
        """Return the point at a copy of ``w``; the default is ``start``, or :meth:`null` if that is not set.

        A point ``last`` of a problem that differs only in its penalty saves work if it has the same weights.
        It must not be used afterwards.
        """
        given = self.start if w is None else w
        if given is None:
            return self.null()
        if last is not None and np.array_equal(last.w, given):
            return last.at(self)
        w = np.array(given, dtype=np.float64)
        if w.shape != (self.size,):
            raise ValueError(f"w has shape {w.shape}: this problem has {self.size} weights")
        return Point(self, w, self.design.scores(w))

    def null(self) -> Point:
        """Return the point at which all penalised weights are zero, and the others have their best values.
        The others, such as an intercept, are zero too if the loss has no gradient."""
        if self.free.size == 0 or not self.smooth:  # a vector that may be huge is not read
            members, own = self.design.working_set(np.zeros(0, dtype=np.int64)), np.zeros(0)
        else:
            if self._null.value is None:
                self._null.value = fit_free_weights(self, self.free)[self.free]
            members, own = self.design.working_set(self.free), self._null.value
        w = np.zeros(self.size)
        w[members.coordinates] = own
        known = None if self.start is not None else self._gradient.value  # made once, as λ_max is
        gradient = None if known is None else known[0]
        return Point(self, w, self.design.scores(own, members), active=members, gradient=gradient)

    def moved(self, point: Point, w: np.ndarray) -> Point:
        """Return the point at ``w``; update its scores from those of ``point`` if that touches less of X."""
        changed, nonzero = self.where(np.not_equal, w, point.w), self.support(w)
        if point.drift.updates < REFRESH and self.design.cost(changed) < self.design.cost(nonzero):
            change = changed.take(w) - changed.take(point.w)
            drift = point.drift.after(self, nonzero.take(w), change, nonzero, moved=changed)
            if drift is not None:
                scores = point.scores.plus(1.0, self.design.scores(change, changed))
                return Point(self, w, scores, drift=drift)
        return Point(self, w, self.design.scores(nonzero.take(w), nonzero))

    def where(self, holds: Callable[..., np.ndarray], *of: np.ndarray) -> WorkingSet:
        """Return the set of weights for which ``holds`` is true; it is applied to vectors over all weights in
        pieces."""
        found = [part.start + np.flatnonzero(holds(*(v[part] for v in of))) for part in self.pieces()]
        coordinates = np.concatenate(found)
        return self.design.working_set(coordinates if coordinates.size < self.size else None)

    def support(self, w: np.ndarray) -> WorkingSet:
        """Return the set of weights that are not zero."""
        return self.where(lambda w: w != 0.0, w)

    def prox_step(self, w: np.ndarray, g: np.ndarray, step: float) -> np.ndarray:
        """Return prox_{step·λR}(w - step·g), of all weights."""
        out = np.empty(self.size)
        for penalty, own, gradient, piece in self.parts(None, w, g, out):
            piece[:] = penalty.prox(own - step * gradient, step)
        return out

    def line(self, point: Point, d: np.ndarray, active: WorkingSet | None = None) -> Line:
        """Return φ(t) = f(w + t d); ``d`` has one entry per member of ``active`` (None: all weights)."""
        return Line(point, d, active or self.design.working_set())

    @property
    def has_test(self) -> bool:
        return self._test is not None

    def test_scores(self, w: np.ndarray) -> tuple[BoundLoss, Scores]:
        """Return the loss with the labels of the test part, and the scores of the weights ``w`` there."""
        if self._test is None:
            raise ValueError("the problem has no test part: ask has_test first")
        design, loss = self._test()
        return loss, design.scores(w)

    def test_metric(self, w: np.ndarray) -> float:
        """Return the loss's metric (higher is better) of weights ``w`` on the test part."""
        loss, scores = self.test_scores(w)
        return loss.metric(scores)

    def examples(self) -> Examples:
        """Return a few instances of the test part, or of the training part if there is no test part."""
        return self._examples()

    def train_metric(self, point: Point) -> float:
        """Return the loss's metric (higher is better) of a point on the training part."""
        return self.loss.metric(point.scores)


def _meaning(declared: Any, computing: type) -> list[Any]:
    """Return the id and hyper-parameters of a loss or a penalty, and digests of the sources that compute
    it."""
    given = {p.name: getattr(declared, p.name) for p in parameters(type(declared))}
    return [declared.id, given, source_digest(type(declared)), source_digest(computing)]
