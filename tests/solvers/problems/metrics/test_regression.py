"""Mean errors are scikit-learn's."""

import numpy as np
import pytest
import sklearn.metrics

from solverscope.solvers.problems.metrics.regression import mean_absolute_error, mean_squared_error


@pytest.mark.parametrize("shape", [(30,), (30, 3)])
@pytest.mark.parametrize("measure", [mean_squared_error, mean_absolute_error])
def test_errors_are_scikit_learns(measure, shape):
    predicted, y = np.random.default_rng(0).normal(size=(2, *shape))
    theirs = getattr(sklearn.metrics, measure.__name__)
    assert measure(predicted, y) == pytest.approx(theirs(y, predicted))
