"""Maxima of lines in the error, next to their kinks, for large targets."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.linalg.scores import Scores
from solverscope.solvers.problems.certificates.certificate import bound_by_convexity

SIZE = 1e8


@pytest.mark.parametrize(("loss", "kink"), [("quantile", 0.0), ("epsilon-insensitive", 0.1)])
def test_next_to_a_kink_the_loss_is_the_maximum(loss, kink):
    """Errors up to 0.02 count as none, and are a loss all the same."""
    errors = kink + np.array([-0.01, 0.0, 0.01])
    problem = solvers.make_problem(np.eye(3), np.full(3, SIZE), loss=loss, penalty="none")
    by_definition = 0.5 * np.abs(errors) if loss == "quantile" else np.maximum(np.abs(errors) - kink, 0.0)
    values = problem.loss.values(problem.at(SIZE + errors).scores)
    np.testing.assert_allclose(values, by_definition, atol=1e-7)  # rounding of the scores
    assert (values >= 0.0).all()


def test_a_bound_allows_for_errors_that_count_as_ties():
    """|w - y| + ½μw² for w just above y: 0 is a combination of the slopes that tie there."""
    y, mu = np.full(2, SIZE), 1e-9
    problem = solvers.make_problem(np.ones((2, 1)), y, loss="quantile", penalty="l2", lam=mu, average=True)
    point = problem.at(np.array([SIZE + 0.01]))
    slopes = [
        float(point.adjoint_gradient(problem.loss.subgradient_sup(point.scores, Scores(d, np.zeros(0))))[0])
        for d in (np.ones((2, 1)), -np.ones((2, 1)))
    ]
    assert slopes[1] < 0.0 < slopes[0]
    assert bound_by_convexity(point, 0.0, tied=True) <= problem.at(np.array([SIZE])).objective
