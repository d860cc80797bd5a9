"""Regression of numeric targets."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..linalg.arrays import NUMERIC_KINDS
from ..registry import LOSSES, lookup
from .base import AUTO, Estimator, checked_weights

#: The loss of which several targets are known: its id for one target, and for several.
LEAST_SQUARES = ("squared", "multitask-squared")


@dataclass(eq=False, repr=False)
class SparseRegressor(RegressorMixin, Estimator):
    """Linear regression with any compatible loss and penalty: by default the Lasso.

    ``loss`` is ``squared``, ``huber``, ``poisson``, ``quantile`` or ``epsilon-insensitive``. With ``squared``
    y may have several targets, (n, n_targets), for penalties such as ``l1-l2``, which leaves out whole
    features. With ``poisson`` predictions are means, the exponentials of the scores.

    f is the mean loss plus λR(w), so ``lam`` is ``alpha`` of scikit-learn's ``Lasso`` and ``ElasticNet``. The
    other parameters and the attributes are those of :class:`Estimator`, with these differences.

    Parameters
    ----------
    solver : str
        The id of a solver, or ``auto``: the fastest of this package that accepts loss and penalty.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
        The weights.
    intercept_ : float or array of shape (n_targets,)
        The scores at x = 0.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from solverscope.solvers.estimators import SparseRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SparseRegressor(lam=0.5).fit(X, y)
    >>> int((model.coef_ != 0.0).sum()), round(float(model.intercept_), 2), round(model.score(X, y), 2)
    (4, 152.13, 0.46)
    """

    solver: str = AUTO
    _: KW_ONLY
    loss: str = "squared"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = self._least_squares
        tags.target_tags.positive_only = self.loss == "poisson"
        return tags

    @property
    def _least_squares(self) -> bool:
        return self.loss in LEAST_SQUARES

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to ``X``, (n, d), NumPy or SciPy sparse, and targets ``y``.

        y is (n,) or, with ``squared``, (n, n_targets); ``sample_weight``, (n,), has a weight for each sample.
        """
        several = self._least_squares
        kinds = lookup(LOSSES, "loss", self.loss).kinds
        if not set(kinds) & set(NUMERIC_KINDS):
            raise ValueError(f"loss {self.loss} is not one of numeric targets: take squared or huber")
        X, y = self._checked_rows(X, y, y_numeric=True, multi_output=several)
        shape = y.shape
        y = np.asarray(y, dtype=np.float64) if several else column_or_1d(y, dtype=np.float64)
        single = y.ndim == 1 or shape[1] == 1
        y = y.reshape(-1) if single else y
        loss = (LEAST_SQUARES[0] if single else LEAST_SQUARES[1]) if several else self.loss
        params: dict[str, Any] = {"sample_weight": checked_weights(sample_weight, X)}
        if self.lam is None and (y == (y[0] if self.fit_intercept else 0.0)).all():
            params |= {"lam": 1.0, "lam_ratio": None}  # there is no λ_max: the intercept alone is optimal
        self._solve(X, y, loss, **params)
        if len(shape) == 1:
            self.coef_, self.intercept_ = self.coef_[0], self.intercept_[0]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted targets, (n,) or (n, n_targets)."""
        check_is_fitted(self)
        Z = self._scores(self._checked_rows(X, reset=False))
        return np.exp(Z) if self.loss == "poisson" else Z
