"""The solvers as scikit-learn's estimators: ``fit`` runs one, and what it learned has the usual names.

>>> from solverscope.solvers.estimators import SparseLogistic
>>> SparseLogistic(lam_ratio=0.1).fit(X, y).coef_

An intercept of a classifier is what the data sets' option ``bias=1`` makes: the weight of a last, constant
feature of ones, penalised like all other weights. liblinear has the same intercept; scikit-learn's other
solvers do not penalise theirs. :class:`SparseRegressor` does not either. There is none with
``fit_intercept=False``.
"""

from .base import Estimator
from .chains import ChainCRF
from .classifiers import SparseLogistic, SparseMulticlass, SparseMultilabel
from .regression import SparseRegressor

__all__ = [
    "ChainCRF",
    "Estimator",
    "SparseLogistic",
    "SparseMulticlass",
    "SparseMultilabel",
    "SparseRegressor",
]
