"""The shrinking stop from epoch to epoch."""

import pytest

from solverscope.solvers.parts.epochs import Cooling


def test_the_stop_falls_by_the_factor_or_by_what_was_met_and_not_below_its_least():
    cooling = Cooling(0.1, 0.5, 0.01, 20.0)
    assert (cooling.target, cooling.epoch) == (2.0, 0)
    cooling.end_epoch(30.0)  # more than the target: by the factor
    assert cooling.target == pytest.approx(1.0)
    cooling.end_epoch(0.6)  # less: half of what was met
    assert cooling.target == pytest.approx(0.3)
    cooling.end_epoch(0.0)
    assert (cooling.target, cooling.epoch) == (pytest.approx(0.2), 3)


def test_a_problem_without_violation_at_zero_has_a_target():
    cooling = Cooling(0.1, 0.1, 1e-9, 0.0)
    cooling.end_epoch(0.0)
    assert 0.0 <= cooling.target < 1e-300
