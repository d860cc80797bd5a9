"""The solvers as scikit-learn estimators: ``fit`` runs one, and fitted attributes have the usual names.

>>> from solverscope.solvers.estimators import SparseLogistic
>>> SparseLogistic(lam_ratio=0.1).fit(X, y).coef_

With ``fit_intercept``, the default, an unpenalised constant is fitted for each output. liblinear penalises
the constant; for the same result add a column of ones to X, and set ``fit_intercept=False``.
"""

from .base import Estimator
from .chains import ChainCRF
from .classifiers import SparseLogistic, SparseMulticlass, SparseMultilabel
from .fit_watch import FitWatch
from .regression import SparseRegressor

__all__ = [
    "ChainCRF",
    "Estimator",
    "FitWatch",
    "SparseLogistic",
    "SparseMulticlass",
    "SparseMultilabel",
    "SparseRegressor",
]
