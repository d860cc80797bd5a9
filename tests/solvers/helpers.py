"""Small random problems of each kind of labels, seeded, in each storage of X."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp

from solverscope import datasets, solvers
from solverscope.solvers.rivals.external_solver import ExternalSolver
from solverscope.solvers.search.outcome import Breakpoints

#: Solvers whose algorithm is written down here, unlike that of other people's programs.
HOUSE = [
    id for id, cls in solvers.SOLVERS.items() if not cls.__module__.startswith("solverscope.solvers.rivals")
]
#: Those that can run in this installation.
HERE = [id for id, cls in solvers.SOLVERS.items() if cls.why_not_here() is None]
#: Programs in processes of their own, which take seconds to start.
ELSEWHERE = {id for id, cls in solvers.SOLVERS.items() if issubclass(cls, ExternalSolver)}
STORAGES = ("dense", "sparse", "binary", "lazy", "lazy-binary")


def compiled(function: Any) -> Any:
    """A function with versions by class, as kernels call it."""
    return numba.njit(lambda first, *others: function(first, *others), error_model="numpy")


class Lazy:
    """A matrix that hands out its rows by columns only, as huge ones do."""

    def __init__(self, X: np.ndarray) -> None:
        self.whole = sp.csr_array(X)
        self.shape, self.nnz = X.shape, self.whole.nnz
        self.binary = bool(np.all(self.whole.data == 1))

    def csc_rows(self, lo: int, hi: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        part = sp.csc_array(self.whole[lo:hi])
        part.sort_indices()
        return part.indptr.astype(np.int64), part.indices, None if self.binary else part.data


def matrix(n: int, d: int, storage: str = "dense", *, density: float = 0.3, seed: int = 0) -> Any:
    """A random (n, d) matrix; ``dense_of`` gives it back as an array."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    if storage in ("binary", "lazy-binary"):
        X = (X != 0).astype(float)
    if storage.startswith("lazy"):
        return Lazy(X)
    return X if storage == "dense" else sp.csr_array(X)


def dense_of(X: Any) -> np.ndarray:
    """Any of the storages as an array."""
    if isinstance(X, Lazy):
        X = X.whole
    return np.asarray(X.todense()) if sp.issparse(X) else X


@dataclass(frozen=True)
class Part:
    X: Any
    y: np.ndarray
    offsets: np.ndarray | None = None


@dataclass(frozen=True)
class Data:
    """What ``solvers.make_problem`` asks of a data set."""

    kind: str
    train: Part
    n_classes: int
    loss: str
    penalty: str = "l1"
    test: Part | None = None
    lam: float | None = None
    parents: np.ndarray | None = None
    id: str = "random"
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    digest: str = "0"
    source: str = "tests"


def binary(n: int = 60, d: int = 12, storage: str = "dense", seed: int = 0, **options: Any) -> Data:
    """Labels -1 and +1 from a noisy linear rule: not separable."""
    X, rng = matrix(n, d, storage, seed=seed, **options), np.random.default_rng(seed + 1)
    z = dense_of(X) @ rng.normal(size=d)
    y = np.where(z + 1.5 * z.std() * rng.normal(size=n) > 0, 1, -1).astype(np.int8)
    return Data("binary", Part(X, y), 2, "logistic")


def multiclass(
    n: int = 150, d: int = 8, m: int = 4, storage: str = "dense", seed: int = 0, **options: Any
) -> Data:
    """Classes 0 to m - 1 from a noisy linear rule: not separable."""
    X, rng = matrix(n, d, storage, seed=seed, **options), np.random.default_rng(seed + 1)
    Z = dense_of(X) @ rng.normal(size=(d, m))
    y = (Z + 1.5 * Z.std() * rng.normal(size=(n, m))).argmax(axis=1).astype(np.int32)
    return Data("multiclass", Part(X, y), m, "multiclass-logistic")


def chains(
    n: int = 20,
    d: int = 8,
    m: int = 3,
    storage: str = "binary",
    seed: int = 0,
    longest: int = 8,
    **options: Any,
) -> Data:
    """Label sequences of 1 to ``longest`` tokens from a noisy linear rule: not separable."""
    rng = np.random.default_rng(seed + 1)
    lengths = rng.integers(1, longest + 1, size=n)
    lengths[0] = 1
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    X = matrix(int(offsets[-1]), d, storage, seed=seed, **options)
    Z = dense_of(X) @ rng.normal(size=(d, m))
    y = (Z + 1.5 * Z.std() * rng.normal(size=Z.shape)).argmax(axis=1).astype(np.int32)
    return Data("sequences", Part(X, y, offsets), m, "chain-crf")


def multilabel(
    n: int = 120, d: int = 8, m: int = 4, storage: str = "dense", seed: int = 0, **options: Any
) -> Data:
    """Any number of labels a sample, none and all included, from a noisy linear rule: not separable."""
    X, rng = matrix(n, d, storage, seed=seed, **options), np.random.default_rng(seed + 1)
    Z = dense_of(X) @ rng.normal(size=(d, m))
    y = Z + 1.5 * Z.std() * rng.normal(size=(n, m)) > 0
    return Data("multilabel", Part(X, sp.csr_array(y.astype(np.int8))), m, "multilabel-squared-hinge")


#: Root 0, inner nodes 1 and 2, a leaf below the root, leaves at two depths.
PARENTS = np.array([-1, 0, 0, 0, 1, 1, 2, 2, 5, 5])
LEAVES = np.setdiff1d(np.arange(PARENTS.size), PARENTS)


def trees(n: int = 300, d: int = 5, storage: str = "dense", seed: int = 0, **options: Any) -> Data:
    """Leaves of a small tree from a noisy linear rule: not separable."""
    X, rng = matrix(n, d, storage, seed=seed, **options), np.random.default_rng(seed + 1)
    Z = dense_of(X) @ rng.normal(size=(d, LEAVES.size))
    y = LEAVES[(Z + 3.0 * Z.std() * rng.normal(size=Z.shape)).argmax(axis=1)].astype(np.int32)
    return Data("tree", Part(X, y), PARENTS.size, "tree-softmax", parents=PARENTS)


def regression(
    n: int = 60, d: int = 12, storage: str = "dense", seed: int = 0, m: int = 1, **options: Any
) -> Data:
    """Targets above 0, as counts are, from a noisy linear rule of their logarithms; ``m`` of them."""
    X, rng = matrix(n, d, storage, seed=seed, **options), np.random.default_rng(seed + 1)
    Z = dense_of(X) @ rng.normal(size=(d, m))
    Y = np.exp(0.7 * Z / Z.std() + 0.7 * rng.normal(size=(n, m)))
    if m == 1:
        return Data("regression", Part(X, Y[:, 0]), 1, "squared")
    return Data("multitask", Part(X, Y), m, "multitask-squared")


def multitask(n: int = 60, d: int = 12, storage: str = "dense", seed: int = 0, **options: Any) -> Data:
    """Three targets."""
    return regression(n, d, storage, seed, 3, **options)


#: A maker of small data for each kind of labels.
MAKERS = {
    "binary": binary,
    "multiclass": multiclass,
    "multilabel": multilabel,
    "sequences": chains,
    "tree": trees,
    "regression": regression,
    "multitask": multitask,
}


def kind_for(loss: str) -> str:
    """A kind of labels that a loss takes, classes rather than sets of labels."""
    return next(kind for kind in MAKERS if kind in solvers.LOSSES[loss].kinds)


def losses_with(*traits: solvers.Trait) -> list[tuple[str, str]]:
    """The losses that offer these traits, with each kind of labels that they take."""
    pairs = [(kind, loss) for kind in MAKERS for loss in solvers.losses_for(kind)]
    return [pair for pair in pairs if all(trait in solvers.LOSSES[pair[1]].traits for trait in traits)]


def problem_of(
    data: str | Data,
    loss: str | None = None,
    penalty: str = "l1",
    *,
    lam: float | None = None,
    lam_ratio: float | None = None,
    average: bool | None = None,
    **options: Any,
) -> solvers.Problem:
    """A small problem on random data of a kind, or on these. λ, where none is given, is a tenth of λ_max if
    the loss is smooth and the penalty sparse, and 0.05 otherwise."""
    data = MAKERS[data](**options) if isinstance(data, str) else data
    loss = loss or data.loss
    if lam is None and lam_ratio is None and penalty != "none":
        smooth = solvers.Trait.SMOOTH in solvers.LOSSES[loss].traits
        lam, lam_ratio = (None, 0.1) if smooth and solvers.PENALTIES[penalty].sparse else (0.05, None)
    return solvers.make_problem(
        data, loss=loss, penalty=penalty, lam=lam, lam_ratio=lam_ratio, average=average
    )


def posed_to(id: str) -> solvers.Problem:
    """A small problem that this solver takes."""
    pairs = (
        *(("logistic", "l1"), ("logistic", "l2"), ("binary-hinge", "l2"), ("chain-crf", "l1")),
        *(("squared", "l1"), ("multitask-squared", "l1-l2"), ("quantile", "l1")),
    )
    loss, penalty = next(pair for pair in pairs if id in solvers.compatible(*pair))
    return problem_of(MAKERS[solvers.LOSSES[loss].kinds[0]](), loss, penalty, lam=0.1)


class Dial(solvers.Gate):
    """A gate that changes λ at given iterates, as a visitor does between two of them."""

    def __init__(self, lams: Mapping[int, float], **how: Any) -> None:
        self.lams, self.how = lams, how

    def step(self, run: solvers.Run, iterate: solvers.Iterate) -> None:
        if iterate.iteration in self.lams:
            run.set_lam(self.lams[iterate.iteration], **self.how)


@cache
def toy_problem(
    id: str = "toy", *, penalty: str | None = None, lam: float | None = None, **options: str
) -> solvers.Problem:
    """The problem of a toy function; the options are those of its data set."""
    return solvers.make_problem(datasets.load(id, **options), penalty=penalty, lam=lam)


def searched(
    problem: solvers.Problem, steps: int = 4, model: float = float("nan")
) -> tuple[dict, np.ndarray]:
    """What the LINE probe sees of an exact search along a subgradient, after some such steps; and w."""
    point = problem.at()
    for _ in range(steps):
        before = point.w.copy()
        found = problem.line(point, -point.gradient()).exact()
        point = found.point
    found.search.model = model
    assert found.search.active is not None
    return solvers.LINE.take(
        solvers.Iterate(steps, w=point.w, step=found.t, live={"line": found.search})
    ), before


def slopes_after(marks: Breakpoints) -> np.ndarray:
    """The derivative from the right at each breakpoint, of a piecewise quadratic function."""
    return marks.slope + np.cumsum(marks.jump) + marks.curvature * marks.t


def by_scikit_learn(data: Any, **params: Any) -> np.ndarray:
    """The weights of scikit-learn's logistic regression without intercept, its random order seeded."""
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = LogisticRegression(fit_intercept=False, max_iter=100_000, random_state=0, **params)
        return model.fit(dense_of(data.train.X), data.train.y).coef_


def tol_that_ends(problem: solvers.Problem, solver: solvers.Solver, tol: float) -> float | None:
    """The tolerance, or None where it could end no run."""
    return None if solvers.why_not_tolerance(problem, solver.knows) else tol
