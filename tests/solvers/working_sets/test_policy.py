"""The policy of shrinking: the threshold, the target from epoch to epoch, and when all weights come back."""

import numpy as np
import pytest

from solverscope.solvers.working_sets.policy import Cooling, FixedShare, ShrinkingPolicy


def test_the_target_falls_by_the_factor_or_by_the_violation_met_and_not_below_its_least():
    cooling = Cooling(0.1, 0.5, 0.01, 20.0)
    assert cooling.target == 2.0
    cooling.end_epoch(30.0)  # more than the target: by the factor
    assert cooling.target == pytest.approx(1.0)
    cooling.end_epoch(0.6)  # less: half of what was met
    assert cooling.target == pytest.approx(0.3)
    cooling.end_epoch(0.0)
    assert cooling.target == pytest.approx(0.2)


def test_the_target_of_cooling_is_not_below_rounding():
    cooling = Cooling(0.1, 0.1, 0.0, 1.0, noise=0.005)
    cooling.end_epoch()
    assert cooling.target == pytest.approx(0.01)
    cooling.end_epoch()
    assert cooling.target == 0.005


def test_a_problem_without_violation_at_zero_has_a_target():
    cooling = Cooling(0.1, 0.1, 1e-9, 0.0)
    cooling.end_epoch(0.0)
    assert 0.0 <= cooling.target < 1e-300


def test_the_target_of_a_fixed_share_is_set_when_all_weights_are_screened():
    schedule = FixedShare(0.1, 1e-3)
    schedule.screen_all(2.0)
    schedule.end_epoch(0.5)
    assert schedule.target == pytest.approx(0.2)
    schedule.screen_all(1e-4)
    assert schedule.target == 1e-3


def test_the_threshold_is_the_last_violation_over_the_number_of_instances():
    policy = ShrinkingPolicy(FixedShare(0.1, 0.0), 10)
    assert policy.threshold == np.inf
    policy.last_violation = 2.0
    assert policy.threshold == 0.2
    off = ShrinkingPolicy(FixedShare(0.1, 0.0), 10, enabled=False, violation=2.0)
    assert off.threshold == np.inf


@pytest.mark.parametrize("resets", [False, True])
def test_an_epoch_ends_when_a_part_is_done_or_stuck_and_not_without_looking_back(resets):
    policy = ShrinkingPolicy(Cooling(0.1, 0.1, 0.0, 1.0), 10, resets=resets, epoch=3, violation=2.0)
    assert policy.epoch_is_over(0.1, whole=False)
    assert not policy.epoch_is_over(0.2, whole=False)
    assert policy.epoch_is_over(0.2, whole=False, stuck=True)
    assert not policy.epoch_is_over(0.0, whole=True)
    policy.end_epoch(0.1)
    assert (policy.epoch, policy.schedule.target) == (4, pytest.approx(0.01))
    assert policy.threshold == (np.inf if resets else 0.2)
    never = ShrinkingPolicy(Cooling(0.1, 0.1, 0.0, 1.0), 10, reactivates=False)
    assert not never.epoch_is_over(0.0, whole=False, stuck=True)
