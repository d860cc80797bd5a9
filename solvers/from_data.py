"""Construction of losses and problems from data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import psutil

from .compatibility import losses_for, why_not_loss
from .compute.jit import compile_clock
from .compute.team import Team
from .declare import Trait, number
from .linalg.arrays import ArrayData, digest_of, from_arrays
from .linalg.design import Design
from .penalty_factors import factors_of_features
from .problems.losses.loss import BoundLoss, Loss
from .problems.losses.row_loss import RowLoss
from .problems.losses.weighted import WeightedLoss, takes_weights
from .problems.penalties import Penalty
from .problems.problem import Problem
from .problems.shards.sharded import ShardedDesign, split
from .problems.shards.worker_pool import WorkerPool
from .problems.weight_names import Names
from .registry import LOSSES, PENALTIES, lookup, make

#: Default λ: relative to λ_max for sparse penalties, absolute for ``l2`` with an average loss.
DEFAULT_RATIO = 0.05
DEFAULT_RIDGE = 1e-4
NOT_ON_SHARDS = "shards take no intercept and no sample_weight: leave these out, or the shards"
#: Vectors of all weights, and arrays of scores, that a problem and a run on it hold at the least.
MIN_VECTORS, MIN_SCORE_ARRAYS = 3, 3


def make_loss(data: Any, loss: str | None, loss_params: Mapping[str, Any]) -> Loss:
    """Make a loss for data.

    Parameters
    ----------
    data
        A data set.
    loss : str or None
        The id of the loss; None for the default of the data set.
    loss_params : mapping
        Hyper-parameters of the loss by name.

    Returns
    -------
    Loss
        The loss, not yet bound to labels.

    Raises
    ------
    ValueError
        If the loss or a hyper-parameter does not exist, or the loss does not suit the kind of labels.
    """
    loss_class = lookup(LOSSES, "loss", loss or data.loss)
    if reason := why_not_loss(loss_class.id, data.kind):
        raise ValueError(f"loss {loss_class.id} {reason}: choose one of {', '.join(losses_for(data.kind))}")
    return make(loss_class, "loss", loss_params)


def make_problem(
    data: Any,
    y: Any = None,
    *,
    loss: str | None = None,
    penalty: str | None = None,
    offsets: Any = None,
    parents: Any = None,
    lam: float | str | None = None,
    lam_ratio: float | str | None = None,
    average: bool | None = None,
    loss_params: Mapping[str, Any] | None = None,
    penalty_params: Mapping[str, Any] | None = None,
    intercept: bool | None = None,
    penalty_factors: Any = None,
    sample_weight: Any = None,
    threads: int = 1,
    workers: WorkerPool | None = None,
    pulse: Callable[[], None] = lambda: None,
) -> Problem:
    """Make the problem min_w s Σ_i loss_i(w) + λR(w) on data.

    Parameters
    ----------
    data
        A data set from ``datasets.load``, whose training part is used. Or features of shape (n, d), NumPy,
        SciPy sparse or a DataFrame, with labels ``y``. Columns of a DataFrame name the features. A large
        sparse matrix is not copied: do not change it while the problem is used.
    y, offsets, parents
        Labels, starts of sequences and parents of tree nodes, if features are an array: see
        :func:`.arrays.from_arrays`.
    loss, penalty : str, optional
        Ids of loss and penalty; by default those of the data set.
    lam, lam_ratio : float, optional
        λ, or λ/λ_max. The default is the λ of the data set if loss and penalty are those of the data set. (If
        ``average`` is not the loss's default, it is rescaled, so that the solution is the same.) Otherwise
        the default is ``lam_ratio=0.05`` for sparse penalties, and λ = 1e-4 (average) for ``l2``.
    average : bool, optional
        Whether s is 1/n, else 1. Default: as in the paper of the loss.
    loss_params, penalty_params : mapping, optional
        Hyper-parameters by name.
    intercept : bool, optional
        Whether to fit an unpenalised constant for each output, as the weights of a last feature 1. Default:
        False.
    penalty_factors : array of shape (d,), mapping or str, optional
        v_j >= 0 of each feature, whose weights have the strength λv_j; with 0 they are not penalised. Or
        factors by names of features, as a mapping or a string "NAME=FACTOR,..."; all others are 1. Or
        "adaptive": 1/‖w_j‖ of a ridge problem with λ = 1e-4 and an average loss, as in an adaptive Lasso.
    sample_weight : array of shape (n,), optional
        s_i >= 0 by which the loss of sample i is multiplied, for losses of single samples. An average is
        Σ s_i loss_i / Σ s_i. Default: those of the data set, which are used in metrics too; else 1.
    threads : int
        Number of threads for products with X.
    workers : WorkerPool, optional
        Workers that hold shards of these data and compute with them: see :mod:`.problems.shards.sharded`.
    pulse : callable
        Called repeatedly while the problem is set up; may raise to stop.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        If an id, a value or the labels are invalid, or the data do not fit into memory.

    Examples
    --------
    >>> import numpy as np, solvers
    >>> X, y = np.eye(3), np.array([1, -1, 1])
    >>> problem = solvers.make_problem(X, y, loss="logistic", penalty="l1", lam=0.1)
    >>> round(problem.at().objective, 4)
    0.6931
    """
    began = compile_clock.net()[1]
    data = _with_labels(data, y, loss, offsets, parents)
    chosen = make_loss(data, loss, loss_params or {})
    penalty_class = lookup(PENALTIES, "penalty", penalty or data.penalty)
    strength = make(penalty_class, "penalty", penalty_params or {})
    lam, lam_ratio = _checked_lam(strength, lam, lam_ratio)
    average = chosen.average if average is None else average
    n, d = data.train.X.shape
    own = getattr(data, "sample_weight", None)
    weights = _numbers_of("sample_weight", "sample", own if sample_weight is None else sample_weight, n)

    def ridge(strength: float) -> Problem:
        if workers is not None:
            raise ValueError("shards take no adaptive penalty_factors: leave these out, or the shards")
        same = {"loss": chosen.id, "loss_params": loss_params, "average": average, "intercept": intercept}
        own = strength * (1.0 if average else n)
        how = {"sample_weight": sample_weight, "threads": threads, "pulse": pulse}
        return make_problem(data, penalty="l2", lam=own, **same, **how).with_pulse(pulse)

    v, factors_text = factors_of_features(penalty_factors, data, ridge)
    factors = _numbers_of("penalty_factors", "feature", v, d)
    if weights is not None and average:  # over those that count
        weights = weights * (np.count_nonzero(weights) / weights.sum())
    problem = _assembled(
        data, chosen, strength, average, threads, workers, factors, factors_text, weights, bool(intercept)
    )
    problem = problem.with_pulse(pulse)
    if strength.takes_lam:
        # λ_max is computed only where there is one: it costs a gradient
        relative = strength.sparse and problem.smooth and problem.lam_max is not None
        problem = problem.at_lam(_usual_lam(problem, data, lam_ratio, relative) if lam is None else lam)
    problem = problem.with_pulse(lambda: None)
    problem.add_setup_seconds(compile_clock.net()[1] - began)
    return problem


def _with_labels(data: Any, y: Any, loss: str | None, offsets: Any, parents: Any) -> Any:
    """Return ``data`` if it is a data set, or a data set of features ``data`` and labels ``y``."""
    if y is not None:
        kinds = lookup(LOSSES, "loss", loss).kinds if loss is not None else ()
        return from_arrays(data, y, offsets, parents, kinds)
    if not hasattr(data, "train"):
        raise ValueError("there are no labels: give them as y, or a data set as datasets.load makes it")
    return data


def _checked_lam(
    penalty: Penalty, lam: float | str | None, lam_ratio: float | str | None
) -> tuple[float | None, float | None]:
    """Return λ and λ/λ_max as numbers, or None for those that are not set.

    Raises ValueError if both are set, or if one is although the penalty has no λ.
    """
    own, ratio = number("lam", lam, open_low=True), number("lam_ratio", lam_ratio, open_low=True)
    if own is not None and ratio is not None:
        raise ValueError("both lam and lam_ratio are given: give one of them")
    if (own is not None or ratio is not None) and not penalty.takes_lam:
        raise ValueError(f"penalty {penalty.id} has no λ: leave lam out, or choose another penalty")
    return own, ratio


def _numbers_of(name: str, each: str, given: Any, n: int) -> np.ndarray | None:
    """Return an array of n numbers of at least 0; return None if ``given`` is None.

    The ``name`` of the parameter, and ``each``, a word for sample or feature, are for messages. Raises
    ValueError if the numbers are invalid.
    """
    if given is None:
        return None
    try:
        v = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"the array {name} holds no numbers: give one for each {each}") from None
    if v.shape != (n,):
        raise ValueError(f"the array {name} has the shape {v.shape}: give one for each of {n:,} {each}s")
    if not np.isfinite(v).all() or v.min() < 0.0:
        raise ValueError(f"the array {name} must be finite, and 0 or more")
    if not v.any():
        raise ValueError(f"the array {name} is all 0: at least one {each} must count")
    return v


def _design(X: Any, loss: BoundLoss, team: Team | None, intercept: bool) -> Design:
    """Return the design of features; with an intercept its last feature is the constant 1."""
    if intercept and hasattr(X, "with_constant"):  # it may have one already
        X, intercept = X.with_constant(), False
    return Design(X, loss.n_outputs, loss.n_tail, team, constant=intercept)


def _assembled(
    data: Any,
    loss: Loss,
    penalty: Penalty,
    average: bool,
    threads: int,
    workers: WorkerPool | None,
    factors: np.ndarray | None,
    factors_text: str | None,
    weights: np.ndarray | None,
    intercept: bool,
) -> Problem:
    """Bind the loss to the labels, and return the problem, whose λ is not set yet."""
    if workers is None:
        _check_room(data)
    elif intercept or weights is not None:
        raise ValueError(NOT_ON_SHARDS)
    team = Team(threads)
    bound, X = _bound(loss, data, data.train), data.train.X
    if weights is not None:
        bound, X = _weighted(bound, X, weights)
    if workers is None:
        bound = bound.attached(team, lambda: None)
        design = _design(X, bound, team, intercept)
    else:
        design, bound = split(X, bound, workers)
    if factors is not None or intercept:
        _check_free_weights(bound, penalty)

    def test() -> tuple[Design, BoundLoss]:
        held_out = _bound(loss, data, data.test)
        return _design(data.test.X, held_out, None, intercept), held_out

    about = {"dataset": data.id, "options": data.options, "seed": data.seed}
    about |= {"source": data.source, "digest": _digest(data, design)}
    about["penalty_factors"] = factors_text
    if weights is not None:
        about["weights"] = digest_of(weights)
    return Problem(
        design,
        bound,
        penalty,
        average=average,
        about=about,
        names=Names.of(data, bound.n_outputs, design.n_features - 1 if intercept else None),
        test=None if data.test is None else test,
        start=None if getattr(data, "start", None) is None else np.array(data.start, dtype=np.float64),
        factors=_factors_of_weights(factors, design, intercept),
        intercept=intercept,
    )


def _bound(loss: Loss, data: Any, part: Any) -> BoundLoss:
    """Return the loss bound to a part of the data, with the metric of the data set and the part's sample
    weights."""
    bound = loss.bind(part, data.n_classes, data.parents).measured_by(data)
    weights = getattr(part, "sample_weight", None)
    return replace(bound, metric_weights=weights) if isinstance(bound, RowLoss) else bound


def _weighted(loss: BoundLoss, X: Any, weights: np.ndarray) -> tuple[BoundLoss, Any]:
    """Return the loss with weights, and its rows of X; samples with the weight 0 are left out of both."""
    if not takes_weights(loss):
        raise ValueError(
            f"loss {loss.id} takes no sample_weight: choose a loss of single samples, such as logistic or "
            "squared"
        )
    counted = np.flatnonzero(weights)
    if counted.size < weights.size:
        loss, _ = loss.subset(counted)
        X = X.take(counted) if hasattr(X, "take") and hasattr(X, "csc_rows") else X[counted]
    return WeightedLoss(loss.declared, loss.n_outputs, loss, weights[counted]), X


def _check_free_weights(loss: BoundLoss, penalty: Penalty) -> None:
    """Raise ValueError if loss and penalty do not allow weights without a penalty."""
    if not penalty.traits & (Trait.SEPARABLE | Trait.GROUP_SEPARABLE):
        raise ValueError(
            f"penalty {penalty.id} is no sum over weights or rows, to leave some out of it: "
            "leave out intercept and penalty_factors, or choose another penalty"
        )
    if loss.traits & (Trait.SMOOTH | Trait.HESSIAN) == Trait.SMOOTH:
        raise ValueError(
            f"loss {loss.id} has no Hessian here, by which weights without a penalty are fitted: "
            "leave out intercept and penalty_factors"
        )


def _factors_of_weights(factors: np.ndarray | None, design: Design, intercept: bool) -> np.ndarray | None:
    """Return the penalty factor of each weight; return None if all are 1. Transitions have the factor 1."""
    if factors is None and not intercept:
        return None
    rows = np.ones(design.n_features)
    if factors is not None:
        rows[: factors.size] = factors
    if intercept:
        rows[-1] = 0.0
    return np.concatenate([np.repeat(rows, design.n_outputs), np.ones(design.n_tail)])


def _digest(data: Any, design: Design) -> str | Callable[[], str]:
    """Return the digest of the data, or a function that computes it.

    Hashing arrays takes longer than many runs. So it is deferred until a key is needed, and then reads the
    ``design``'s copy of X. If the rows of X are on shards, it is done at once.
    """
    if not isinstance(data, ArrayData):
        return data.digest
    rest = data.digest
    if isinstance(design, ShardedDesign):
        return f"{Design(data.train.X, design.n_outputs, design.n_tail).digest()} {rest}"
    return lambda: f"{design.digest()} {rest}"


def _check_room(data: Any) -> None:
    """Raise ValueError if a problem on ``data`` does not fit into this machine's memory."""
    memory = psutil.virtual_memory().total
    n_outputs = 1 if data.kind in ("binary", "regression") else data.n_classes
    n_rows, n_features = data.train.X.shape
    n_tail = n_outputs**2 if data.kind == "sequences" else 0
    weights, scores = n_features * n_outputs + n_tail, n_rows * n_outputs
    needed = 8 * (MIN_VECTORS * weights + MIN_SCORE_ARRAYS * scores)
    if needed > memory:
        raise ValueError(
            f"{data.id} makes {weights:,} weights ({n_features:,} features, {n_outputs:,} outputs) and "
            f"{scores:,} scores, which take {needed / 2**30:,.1f} GiB where this machine has "
            f"{memory / 2**30:,.1f}: take fewer features or classes, or one class against the rest "
            "(positive=CLASS)"
        )


def _usual_lam(problem: Problem, data: Any, lam_ratio: float | None, relative: bool) -> float:
    """Return the default λ of a problem whose λ is not given; ``relative`` is whether there is a λ_max.

    It is ``lam_ratio`` λ_max if that is given, or the λ of the data set for its own loss and penalty.
    Otherwise it is 0.05 λ_max, or 1e-4 for an average loss.
    """
    penalty, n = problem.penalty, problem.loss.n_instances
    own = problem.loss.id == data.loss and penalty.id == data.penalty
    if lam_ratio is None and own and data.lam is not None:
        return data.lam * (problem.scale / (1.0 / n if LOSSES[problem.loss.id].average else 1.0))
    lam_max = problem.lam_max if relative else None
    if lam_max is None:
        if lam_ratio is not None:
            smooth, loss = f"penalty {penalty.id}", f"loss {problem.loss.id} has no gradient and so"
            raise ValueError(
                f"{smooth if problem.smooth else loss} has no λ_max: give lam instead of lam_ratio"
            )
        return DEFAULT_RIDGE * (1.0 if problem.average else n)
    if lam_max <= problem.noise:
        raise ValueError("λ_max is 0, since w = 0 is optimal at any λ on these data: give lam")
    return (lam_ratio or DEFAULT_RATIO) * lam_max
