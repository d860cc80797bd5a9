"""Small problems for checks, and their reduction to smaller ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..declare import Trait
from ..from_data import make_problem
from ..problems.problem import Problem
from ..registry import LOSSES, PENALTIES

#: Numbers of samples and features of generated data, and of tokens of the longest sequence.
SAMPLES, FEATURES, LONGEST_SEQUENCE = 40, 10, 5
#: λ relative to λ_max, and λ where there is no λ_max.
RATIO_OF_CASE, LAM_OF_CASE = 0.1, 0.05
#: Numbers of classes, labels or targets.
OUTPUTS_OF_CASE = 3
#: Root, two inner nodes and four leaves.
PARENTS_OF_CASE = np.array([-1, 0, 0, 1, 1, 2, 2])
#: Fewest samples and features that a smaller case may have.
FEWEST_SAMPLES, FEWEST_FEATURES = 2, 1


@dataclass(frozen=True, eq=False)
class CheckCase:
    """A problem with its data, small enough to be stored in a report.

    ``lam`` is λ, and ``lam_ratio`` is λ/λ_max; arrays are those of :func:`.make_problem`.
    """

    X: np.ndarray
    y: np.ndarray
    loss: str
    penalty: str
    lam: float | None = None
    lam_ratio: float | None = None
    average: bool | None = None
    offsets: np.ndarray | None = None
    parents: np.ndarray | None = None
    params: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def made(cls, kind: str, loss: str, penalty: str, *, seed: int = 0) -> Self:
        """Return a case with random data and this kind of labels.

        Features are correlated and have different scales, and labels follow a noisy linear rule. Raises
        ValueError for the kind "function".
        """
        lam, ratio = _strength(loss, penalty)
        average = True if penalty == "l2" and not LOSSES[loss].average else None
        if kind == "function":
            raise ValueError("the functions of two variables have no data: check a solver on another loss")
        X, y, more = _data(kind, seed)
        return cls(X, y, loss, penalty, lam, ratio, average, **more)

    def problem(self) -> Problem:
        """Return the problem; raise ValueError if the data are invalid, for example with one label only."""
        structure = {"offsets": self.offsets, "parents": self.parents}
        strength = {"lam": self.lam, "lam_ratio": self.lam_ratio, "average": self.average}
        how = {"loss": self.loss, "penalty": self.penalty, **strength, **self.params}
        made = make_problem(self.X.copy(), self.y.copy(), **structure, **how)
        # a λ that is written down in a few digits
        return made if self.lam_ratio is None or not made.lam else made.at_lam(float(f"{made.lam:.3g}"))

    @property
    def n_samples(self) -> int:
        return len(self.y) if self.offsets is None else len(self.offsets) - 1

    def take(self, samples: np.ndarray) -> Self:
        """Return the case with these samples, in this order."""
        if self.offsets is None:
            return replace(self, X=self.X[samples], y=self.y[samples])
        rows = [np.arange(int(self.offsets[i]), int(self.offsets[i + 1])) for i in samples]
        offsets = np.concatenate([[0], np.cumsum([len(part) for part in rows])])
        rows = np.concatenate(rows)
        return replace(self, X=self.X[rows], y=self.y[rows], offsets=offsets)

    def with_features(self, features: np.ndarray) -> Self:
        """Return the case with these features, in this order."""
        return replace(self, X=self.X[:, features])

    def smaller(self) -> Iterator[Self]:
        """Yield cases with the first or last half of the samples, then of the features."""
        n, d = self.n_samples, self.X.shape[1]
        if n // 2 >= FEWEST_SAMPLES:
            yield self.take(np.arange(n // 2))
            yield self.take(np.arange(n - n // 2, n))
        if d // 2 >= FEWEST_FEATURES:
            yield self.with_features(np.arange(d // 2))
            yield self.with_features(np.arange(d - d // 2, d))

    def describe(self) -> dict[str, Any]:
        """Return the case without its data, as fields of a record."""
        sizes = {"n_samples": self.n_samples, "n_features": self.X.shape[1]}
        named = {"loss": self.loss, "penalty": self.penalty, **self.params}
        return named | {"lam": self.lam, "lam_ratio": self.lam_ratio, "average": self.average} | sizes

    def __str__(self) -> str:
        strength = f", λ = {self.lam:g}" if self.lam is not None else ""
        strength = f", λ = {self.lam_ratio:g} λ_max" if self.lam_ratio is not None else strength
        size = f"{self.n_samples} samples of {self.X.shape[1]} feature{'s' * (self.X.shape[1] > 1)}"
        return f"{self.loss} with {self.penalty}{strength}, {size}"

    @property
    def savable(self) -> bool:
        """Return whether a file of arrays can represent the case: it has no sequences and no tree."""
        return self.offsets is None and self.parents is None

    def save(self, path: Path) -> None:
        """Write the data as an NPZ file, which ``npz:PATH`` reads."""
        np.savez(path, X=self.X, y=self.y)


def _strength(loss: str, penalty: str) -> tuple[float | None, float | None]:
    """Return λ and λ/λ_max of a case; at most one of them is not None."""
    chosen = PENALTIES[penalty]
    if not chosen.takes_lam:
        return None, None
    relative = chosen.sparse and Trait.SMOOTH in LOSSES[loss].traits
    return (None, RATIO_OF_CASE) if relative else (LAM_OF_CASE, None)


def _data(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Return features, labels, and the structure (offsets, parents) that some kinds of labels have."""
    rng, more = np.random.default_rng(seed), {}
    n, d = SAMPLES, FEATURES
    if kind == "sequences":
        lengths = 1 + np.arange(SAMPLES // 2) % LONGEST_SEQUENCE
        more["offsets"] = np.concatenate([[0], np.cumsum(lengths)])
        n = int(lengths.sum())
    X = rng.normal(size=(n, d))
    for j in range(1, d):  # correlated with the column before, so that weights come and go
        X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    X = np.round(X * np.linspace(0.5, 2.0, d), 2)
    m = 1 if kind in ("binary", "regression") else OUTPUTS_OF_CASE
    Z = X @ rng.normal(size=(d, m))
    noisy = Z / Z.std() + 0.7 * rng.normal(size=(n, m))
    if kind == "binary":
        y = np.where(noisy[:, 0] > np.median(noisy), 1, -1)
    elif kind == "regression":
        y = np.round(np.exp(0.5 * noisy[:, 0]), 3)  # above 0, as counts are
    elif kind == "multitask":
        y = np.round(np.exp(0.5 * noisy), 3)
    elif kind == "multilabel":
        y = (noisy > 0.0).astype(int)
    elif kind == "tree":
        more["parents"] = PARENTS_OF_CASE
        leaves = np.setdiff1d(np.arange(PARENTS_OF_CASE.size), PARENTS_OF_CASE)
        y = leaves[(noisy @ rng.normal(size=(m, leaves.size))).argmax(axis=1)]
    else:
        y = noisy.argmax(axis=1)
    return X, y, more


#: Kinds of labels, losses and penalties from which the cases of a solver are taken, in this order.
PAIRS_OF_CASES = (
    ("binary", "logistic", "l1"),
    ("binary", "logistic", "l2"),
    ("regression", "squared", "elastic-net"),
    ("multiclass", "multiclass-squared-hinge", "l1-l2"),
    ("sequences", "chain-crf", "l1"),
    ("binary", "binary-hinge", "l2"),
    ("multiclass", "multiclass-logistic", "l1"),
    ("regression", "squared", "l1"),
    ("multitask", "multitask-squared", "l1-l2"),
    ("regression", "quantile", "l1"),
    ("tree", "tree-softmax", "l2"),
)
