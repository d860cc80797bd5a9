"""Dual coordinate descent with ridge: Hsieh et al. 2008, Keerthi et al. 2008."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...declare import Trait, as_printed, param, random_seed
from ...linalg.scores import Scores
from ...problems.certificates.certificate import Dual
from ...problems.certificates.optimality import Knows
from ...problems.losses.margin import MarginLoss, dual_values
from ...problems.losses.multiclass_hinge import BoundMulticlassMax
from ...problems.losses.multilabel_hinge import BoundMultilabelMax
from ...problems.problem import Problem
from ...working_sets.policy import Cooling, ShrinkingPolicy
from ..common_params import cooling_param, cooling_start_param
from ..iterate import Ending, Iterate
from ..solver import Solver
from .dual_kernels import BinaryDual, binary_pass, multiclass_pass, multilabel_pass, shuffle

#: Entries of X times outputs per kernel call: 5 to 20 ms.
DUAL_CD_ENTRIES_PER_CALL = 1_000_000
#: Number of features up to which 16-bit indices are used: rows then take half the space in the cache.
SHORT_INDEX = 2**16
#: Bytes of rows up to which they are assumed to stay in the cache from pass to pass.
CACHE_BYTES = 2**22
#: Approximate bytes of rows that are visited together if they do not.
GROUP_BYTES = 2**13
#: Samples whose rows are read together before they are visited, unless they are neighbours.
PREFETCHED = 16
#: Median s‖x_i‖²/λ, the curvature of the dual in one variable, above which passes number thousands.
LARGE_CURVATURE = 1e3
#: Violation of the dual's optimality conditions, in units of the margin, that is rounding.
VIOLATION_ROUNDING = 1e-13


@dataclass(frozen=True)
class DualCD(Solver):
    """Dual coordinate descent: exact minimization over the dual variables of one sample at a time.

    An iterate is a pass over the samples.

    f(w) = s Σ_i hinge_i(x_iᵀW) + ½λ‖W‖² has the dual D(p) = s Σ_i Δ_iᵀp_i - ½λ‖W‖². Here W = (s/λ) Σ_i x_i
    (e_{y_i} - p_i)ᵀ, p_i is in the simplex, and Δ_ir is the cost of the wrong label r: the subproblem of
    sample i is a projection onto the simplex (Keerthi et al., section 3). With two labels p_i is a single
    number, β_i in [0, 1], and w = (s/λ) Σ_i β_i y_i x_i. The step is a clipped Newton step (Hsieh et al.,
    Algorithm 1). If samples have several labels, p_i is the mass on each label of the pairs that the
    multilabel hinge compares. The labels of the sample have as much mass as the others. The subproblem is a
    projection onto two simplices of one size σ ≤ 1. Samples are taken in a new random order in each pass. If
    their rows do not stay in the cache, they are taken in groups of ``neighbours``: finding a short row in
    memory takes longer than reading it.

    With ``shrinking`` a variable at its bound is left out if its gradient points outwards far enough: by more
    than ``slack`` times the largest violation of the previous pass. ``slack`` is 1 in Hsieh et al., section
    3.2; less leaves variables out sooner, and more of them by mistake. All come back, and an epoch begins,
    when the violations of the other variables have fallen to ε_s. ε_s is ``cooling_start`` at first, and is
    multiplied by ``cooling`` from epoch to epoch. The working set counts dual variables: samples, or pairs of
    a sample and a label. ``returned`` counts variables that were left out at the end of the previous epoch,
    and are inside their bounds after the first pass over all. D is a lower bound on f*, so every iterate has
    a proved gap.

    Other losses ℓ(y z) of a margin have D(β) = s Σ_i h(β_i) - ½λ‖w‖² with h(β) = -ℓ*(-β), see
    :class:`.margin.MarginLoss`; for the hinge h(β) = β. A start ``w0`` gives β = -ℓ' at its margins.
    """

    id = "dual-cd"
    name = "Dual CD"
    summary = "one dual variable at a time, as liblinear does for hinge losses"
    paper = "Hsieh et al. 2008; Keerthi et al. 2008; LaRank in Yu et al. 2010, section 7.1.3"
    needs = Trait.RIDGE | Trait.DUAL_COORDINATES | Trait.UNIFORM
    knows = Knows(violation=False, dual_gap=True)
    presets = as_printed(slack=1.0, neighbours=False)
    dense_vectors = 3
    carries = ("variables",)

    shrinking: bool = param(
        True, "leave out dual variables that stay at a bound, until the rest converged", title="shrinking"
    )
    slack: float = param(
        0.3,
        "share of the violation by which a gradient points outwards to leave",
        low=0.0,
        high=1.0,
        title="shrinking slack",
    )
    neighbours: bool = param(
        True,
        "visit neighbouring samples together, where their rows do not stay in the cache",
        title="neighbours together",
    )
    cooling_start: float = cooling_start_param()
    cooling: float = cooling_param()
    seed: int = random_seed("seed of the random orders")

    def refuses(self, problem: Problem) -> str | None:
        if getattr(problem.loss.declared, "rescale", "margin") != "margin":
            return f"{self.id} knows the dual of rescale=margin alone: choose that, or another solver"
        if isinstance(problem.loss, BoundMultilabelMax) and problem.loss.margins.shape[1] > 1:
            return f"{self.id} knows the dual of pairs with one label_loss for all: give a number"
        return super().refuses(problem)

    def hint(self, problem: Problem) -> str | None:
        curvature = problem.scale / problem.penalty.ridge
        curvature *= float(np.median(problem.design.by_rows().squared_norms()))
        if curvature < LARGE_CURVATURE:
            return None
        return (
            f"‖x‖² is large relative to λ (the median of s‖x‖²/λ is {curvature:.2g}), so that a step changes "
            f"a dual variable by some {1.0 / curvature:.0e}: scale the features, or take a larger λ"
        )

    def iterate(self, problem: Problem, w0: np.ndarray | None = None) -> Generator[Iterate, None, Ending]:
        state = np.random.default_rng(self.seed).integers(1, 2**63, 1, dtype=np.uint64)
        dual = _dual_of(problem, w0)
        shrink = self.slack if self.shrinking else np.inf
        schedule = Cooling(self.cooling_start, self.cooling, 0.0, 1.0, noise=VIOLATION_ROUNDING)
        policy, n, missed = ShrinkingPolicy(schedule, 1), 0, None
        yield _iterate(dual, 0, dual.keep, epoch=0, events=("epoch-start",))
        while True:
            known: dict[str, Any] = {"epoch": policy.epoch}
            visited, n = dual.keep.copy(), n + 1
            violation = dual.run(state, shrink, self.neighbours)
            if missed is not None:
                known["events"] = ("epoch-start",)
                known["returned"] = int(np.count_nonzero(missed & dual.inside()))
            missed = None
            yield _iterate(dual, n, visited, **known)
            if visited.all() and violation <= VIOLATION_ROUNDING:
                return Ending("converged", f"no dual variable violated by more than {violation:.3g}")
            # a pass over all variables lowers the target too, but begins no epoch
            if policy.epoch_is_over(violation, whole=False):
                dual.refresh()
                if dual.keep.all():
                    schedule.end_epoch()
                else:
                    policy.end_epoch(np.inf)
                    missed = ~dual.keep
                    dual.activate()


def _iterate(dual: _Dual, n: int, visited: np.ndarray, **known: Any) -> Iterate:
    """Return the iterate after a pass over the variables ``visited``.

    The recorder computes the objective, and D at the dual variables, off the solver's clock.
    """
    variables = DualVariables(visited, dual)
    live = {"dual": dual.point, "variables": variables}
    return Iterate(n, w=dual.w, ls_kind="none", working_set=len(variables), live=live, **known)


class DualVariables:
    """The dual variables that a pass visited, for observers.

    Indices are those among all variables, row by row.
    """

    of = "dual variables"

    def __init__(self, visited: np.ndarray, dual: _Dual) -> None:
        self._visited, self._dual = visited, dual
        self.size = visited.size

    def __len__(self) -> int:
        return int(np.count_nonzero(self._visited))

    @property
    def full(self) -> bool:
        """Return whether all variables were visited."""
        return len(self) == self.size

    @property
    def coordinates(self) -> np.ndarray:
        """Return the indices of the visited variables, ascending."""
        return np.flatnonzero(self._visited)

    def support(self, w: np.ndarray) -> np.ndarray:
        """Return the indices of the variables strictly inside their bounds, ascending; ``w`` is not used."""
        return np.flatnonzero(self._dual.inside())


class _Dual:
    """Base: the weights, the dual variables, and which variables are active (``keep``).

    A subclass sets its dual ``variables``, one row per sample, and defines ``active``, ``visit``,
    ``residual`` and ``value``.
    """

    variables: np.ndarray
    #: the upper bound of the dual variables
    bound = 1.0
    #: whether a pass goes over groups of neighbouring samples
    grouped = False

    def __init__(self, problem: Problem) -> None:
        self.problem, self.w = problem, np.zeros(problem.size)
        self.rows = problem.design.by_rows()
        # unsigned: a check for negative indices, which count from the end, takes as long as the sums
        features, short = self.rows.features, problem.design.n_features <= SHORT_INDEX
        features = features.astype(np.uint16) if short else features.view(np.uint32)
        self.rows = self.rows._replace(features=features)
        self.row_bytes = (features.nbytes + self.rows.values.nbytes) / problem.design.n_rows
        #: s/λ
        self.ratio = problem.scale / problem.penalty.ridge
        self.activate()

    def active(self, samples: np.ndarray) -> np.ndarray:
        """Return for each of these samples whether it has a dual variable to visit."""
        raise TypeError(f"{type(self).__name__} does not define active")

    def visit(self, order: np.ndarray, bounds: tuple[float, float]) -> tuple[float, float, int]:
        """Update the variables of the samples in ``order``, one sample after another.

        Return the least and the largest gradient, and the entries of X read.
        """
        raise TypeError(f"{type(self).__name__} does not define visit")

    def residual(self) -> np.ndarray:
        """Return the residual G at the dual variables, for which w = -(s/λ)XᵀG."""
        raise TypeError(f"{type(self).__name__} does not define residual")

    def value(self) -> float:
        """Return -L*(G), which is Σ_i Δ_iᵀp_i for a hinge loss."""
        raise TypeError(f"{type(self).__name__} does not define value")

    def activate(self) -> None:
        """Reactivate all dual variables; each is visited once before it may leave again."""
        self.keep = np.ones(self.variables.shape, dtype=np.bool_)
        self.samples = np.arange(len(self.keep))
        #: the least and the largest gradient in the previous pass
        self.range = -np.inf, np.inf

    def inside(self) -> np.ndarray:
        """Return for each dual variable whether it is strictly inside its bounds."""
        return (self.variables > 0.0) & (self.variables < self.bound)

    def point(self) -> Dual:
        """Return the point of Fenchel's dual at the dual variables."""
        return Dual(Scores(self.residual(), np.zeros(0)), self.value())

    def refresh(self) -> None:
        """Recompute w = -(s/λ)XᵀG from the dual variables, to remove the rounding of many updates."""
        self.w[:] = self.problem.design.adjoint(Scores(-self.ratio * self.residual(), np.zeros(0)))

    def run(self, state: np.ndarray, slack: float, neighbours: bool) -> float:
        """Make a pass; return the largest violation.

        Variables leave if their gradient points outwards by more than ``slack`` times the largest violation
        of the previous pass.
        """
        design = self.problem.design
        self.grouped = neighbours and self.samples.size * self.row_bytes > CACHE_BYTES
        order = self._order(state, max(1, int(GROUP_BYTES / self.row_bytes)) if self.grouped else 1)
        size = max(1, DUAL_CD_ENTRIES_PER_CALL * design.n_rows // max(design.nnz * design.n_outputs, 1))
        bounds = slack * self.range[0], slack * self.range[1]
        least, most = 0.0, 0.0
        for lo in range(0, order.size, size):
            low, high, touched = self.visit(order[lo : lo + size], bounds)
            least, most = min(least, low), max(most, high)
            design.touched += touched
            self.problem.pulse()
        # a side to which no gradient points gives no threshold
        self.range = least or -np.inf, most or np.inf
        self.samples = self.samples[self.active(self.samples)]
        return most - least

    def _order(self, state: np.ndarray, size: int) -> np.ndarray:
        """Return the samples to visit, in random order, or in random order of groups of ``size`` neighbours.

        The boundaries of the groups vary from pass to pass.
        """
        n = self.samples.size
        if size == 1:
            shuffle(order := self.samples.copy(), state)
            return order
        before = int(state[0] % np.uint64(size))
        groups = np.arange(-(-(before + n) // size))
        shuffle(groups, state)
        places = (size * groups[:, None] + np.arange(size)).reshape(-1) - before
        return self.samples[places[(places >= 0) & (places < n)]]


class _Binary(_Dual):
    """Dual variables for two labels: one β_i per sample."""

    def __init__(self, problem: Problem, w0: np.ndarray | None) -> None:
        loss = problem.loss
        assert isinstance(loss.declared, MarginLoss)
        self.y, self.bound = loss.labels.astype(np.float64), loss.declared.dual_bound
        samples = np.zeros((self.y.size, 4))
        self.variables = self.beta = samples[:, 3]
        super().__init__(problem)
        samples[:, 0], samples[:, 1] = self.rows.starts[:-1], self.rows.starts[1:]
        with np.errstate(divide="ignore"):
            newton = 1.0 / (self.ratio * self.rows.squared_norms() + loss.declared.dual(0.0)[2])
        samples[:, 2] = self.y * newton
        self.data = BinaryDual(loss.term, self.bound, samples)
        if w0 is not None:
            self.beta[:] = -self.y * loss.residual(problem.at(w0).scores).Z[:, 0]
            self.refresh()

    def active(self, samples: np.ndarray) -> np.ndarray:
        return self.keep[samples]

    def visit(self, order: np.ndarray, bounds: tuple[float, float]) -> tuple[float, float, int]:
        prefetched = 0 if self.grouped else PREFETCHED
        return binary_pass(self.rows, self.data, self.w, order, self.keep, self.ratio, bounds, prefetched)[:3]

    def residual(self) -> np.ndarray:
        return -(self.beta * self.y)[:, None]

    def value(self) -> float:
        return float(dual_values(self.data.term, self.beta.copy()).sum())


class _OverLabels(_Dual):
    """Base for losses with several labels: one row of dual variables per sample, one variable per label.

    A subclass sets ``kernel``, the kernel of a pass, and ``data``, its arguments after the rows.
    """

    kernel: ClassVar[Callable[..., tuple[float, int]]]
    data: tuple[Any, Any]

    def __init__(self, problem: Problem) -> None:
        self.variables = self.P = np.zeros((problem.design.n_rows, problem.loss.n_outputs))
        super().__init__(problem)
        self.squares = self.rows.squared_norms()

    def visit(self, order: np.ndarray, bounds: tuple[float, float]) -> tuple[float, float, int]:
        W, _ = self.problem.design.split(self.w)
        given = self.rows, *self.data, self.squares, self.P, W, order, self.keep, self.ratio, bounds[1]
        return 0.0, *self.kernel(*given)


class _Multiclass(_OverLabels):
    """Dual variables of the multiclass hinge: p_ir of each sample and label."""

    kernel = staticmethod(multiclass_pass)

    def __init__(self, problem: Problem, w0: np.ndarray | None) -> None:
        super().__init__(problem)
        assert isinstance(problem.loss, BoundMulticlassMax)
        self.data = self.y, self.costs = problem.loss.labels, problem.loss.label_costs
        worst, each = self.y, np.arange(self.y.size)
        if w0 is not None:
            worst = np.argmax(problem.at(w0).scores.Z + self.costs[self.y], axis=1)
        self.P[each, worst] = 1.0
        if w0 is not None:
            self.refresh()

    def active(self, samples: np.ndarray) -> np.ndarray:
        return self.keep[samples].sum(axis=1) > 1

    def residual(self) -> np.ndarray:
        G = self.P.copy()
        G[np.arange(self.y.size), self.y] -= 1.0
        return G

    def value(self) -> float:
        return float(np.sum(self.P * self.costs[self.y]))


class _Multilabel(_OverLabels):
    """Dual variables of the multilabel hinge with a uniform Δ.

    A pair is a label of the sample and another label. Each label has the sum of the variables of its pairs.
    """

    kernel = staticmethod(multilabel_pass)

    def __init__(self, problem: Problem, w0: np.ndarray | None) -> None:
        super().__init__(problem)
        assert isinstance(problem.loss, BoundMultilabelMax)
        self.Y, delta = problem.loss.y, float(problem.loss.margins[0, 0, 0])
        self.data = self.Y, delta
        if w0 is not None:
            self.P[:] = np.abs(problem.loss.residual(problem.at(w0).scores).Z)
            self.refresh()
            # if pairs tie, one of them is a poor start, and D may be less than at 0
            if problem.scale * self.value() < 0.5 * problem.penalty.ridge * (self.w @ self.w):
                self.P[:], self.w[:] = 0.0, 0.0

    def active(self, samples: np.ndarray) -> np.ndarray:
        kept, own = self.keep[samples], self.Y[samples] > 0
        return np.logical_and((kept & own).any(axis=1), (kept & ~own).any(axis=1))

    def residual(self) -> np.ndarray:
        return np.where(self.Y > 0, -self.P, self.P)

    def value(self) -> float:
        return self.data[1] * float(np.sum(self.P * (self.Y == 0)))


def _dual_of(problem: Problem, w0: np.ndarray | None) -> _Dual:
    if problem.loss.n_outputs == 1:
        return _Binary(problem, w0)
    kind = _Multilabel if isinstance(problem.loss, BoundMultilabelMax) else _Multiclass
    return kind(problem, w0)
