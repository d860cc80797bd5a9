"""What a descent knows of the minimum, and of its recent decrease."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.methods.descent.progress import FIRST_SHARE, STAGNATION_WINDOW, DescentProgress
from tests.solvers.helpers import binary


def at(f):
    return SimpleNamespace(objective=f)


def test_the_decrease_is_that_of_the_last_iterations():
    progress = DescentProgress(0.0)
    for k in range(STAGNATION_WINDOW):
        assert math.isnan(progress.update(at(10.0 - k), 1.0))
        assert progress.recent_decrease() == math.inf
    progress.update(at(4.5), 1.0)
    assert progress.recent_decrease() == 5.5
    progress.update(at(4.5), 1.0)
    assert progress.recent_decrease() == 4.5
    assert progress.proved == ""


def test_after_a_rise_the_decrease_is_taken_anew():
    progress = DescentProgress(0.0)
    for f in [6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 3.0]:
        progress.update(at(f), 1.0)
    assert progress.recent_decrease() == math.inf


def test_f_near_zero_is_compared_with_a_share_of_the_first():
    progress = DescentProgress(0.0)
    progress.update(at(10.0), 1.0)
    assert progress.reference == 10.0
    progress.update(at(1e-9), 1.0)
    assert progress.reference == FIRST_SHARE * 10.0


def test_the_largest_bound_of_the_minimum_is_kept():
    problem = solvers.make_problem(binary(), penalty="l2", lam=0.5)
    progress, point = DescentProgress(0.5), problem.at()
    first = progress.update(point, 0.1)
    assert first == pytest.approx(0.1 / (2 * 0.5), rel=1e-6)
    worse = problem.at(np.full(problem.size, 0.01))
    assert worse.objective - progress.update(worse, 100.0) == pytest.approx(point.objective - first)
    assert progress.proved.startswith("; f is proved to be above the minimum by ")
