"""Zhong's rule: the test of lines 3 to 9, and the schedule of epochs."""

import numpy as np
import pytest

from solverscope.solvers.working_sets.policy import Cooling, FixedShare
from solverscope.solvers.working_sets.shrinking import NoReturn, Zhong, shrink_weights


def test_shrinking_is_line_6_and_the_violation_is_equation_16():
    w = np.array([0.0, 0.0, 0.0, 0.0, 2.0, -2.0])
    g = np.array([0.2, -0.95, 1.0, -1.5, -0.7, 1.1])
    keep, M = shrink_weights(w, g, 1.0, 0.1)
    np.testing.assert_array_equal(keep, [False, True, True, True, True, True])
    assert pytest.approx(0.5) == M
    keep, M = shrink_weights(w, g, 1.0, np.inf)
    assert keep.all()
    keep, M = shrink_weights(np.zeros(2), np.array([0.5, -1.0]), 1.0, 0.0)
    assert (keep.tolist(), M) == ([False, False], 0.0)


def test_zhongs_epochs_cool_and_without_a_first_target_end_at_a_tenth():
    cooling = Zhong(0.2, 0.5).schedule(1e-3, 0.02, 10.0)
    assert isinstance(cooling, Cooling)
    assert cooling.target == pytest.approx(2.0)
    cooling.end_epoch(100.0)
    assert cooling.target == pytest.approx(1.0)
    share = Zhong().schedule(1e-3, 0.02, 10.0)
    assert isinstance(share, FixedShare)
    share.screen_all(3.0)
    assert share.target == pytest.approx(0.3)
    assert Zhong.reactivates
    assert not NoReturn.reactivates
