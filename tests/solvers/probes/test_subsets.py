"""Sets of weights in little memory: whatever their form, they say the same."""

import itertools

import numpy as np
import pytest

from solverscope.solvers.probes import subsets
from solverscope.solvers.probes.subsets import (
    INSIDE,
    OUTSIDE,
    UNKNOWN,
    contains,
    known_members,
    packed,
    rank,
    sampled,
)


def random_set(size, count, seed=0):
    return np.unique(np.random.default_rng(seed).integers(0, size, count))


@pytest.mark.parametrize(
    ("size", "count", "form"),
    [(100, 60, "bits"), (100, 2, "members"), (20_910, 8_000, "bits"), (121_866_804, 9_000, "members")],
)
def test_a_set_is_kept_whole_in_the_smaller_form(size, count, form):
    members = random_set(size, count)
    seen = packed(members, size)
    assert form in seen
    assert seen["count"] == members.size
    assert sum(array.nbytes for array in seen.values()) <= min(size // 8, 4 * members.size) + 17
    np.testing.assert_array_equal(known_members(seen), members)
    asked = np.concatenate([members[:50], random_set(size, 500, seed=1)])
    np.testing.assert_array_equal(contains(seen, asked) == INSIDE, np.isin(asked, members))


def test_all_weights_take_no_room():
    seen = packed(None, 121_866_804)
    assert seen["count"] == 121_866_804
    assert known_members(seen) is None
    assert (contains(seen, np.array([0, 121_866_803])) == INSIDE).all()


def test_of_a_set_too_large_a_sample_is_kept_and_of_other_weights_nothing_is_claimed(monkeypatch):
    monkeypatch.setattr(subsets, "MOST_MEMBERS", 100)
    monkeypatch.setattr(subsets, "MAX_SUBSET_BYTES", 100)
    size, members = 100_000, random_set(100_000, 5_000)
    seen = packed(members, size)
    assert known_members(seen) is None
    assert 40 < seen["members"].size < 200
    answers, truth = contains(seen, np.arange(size)), np.isin(np.arange(size), members)
    assert set(answers.tolist()) == {INSIDE, OUTSIDE, UNKNOWN}
    known = answers != UNKNOWN
    assert known.mean() == pytest.approx(float(seen["share"]), rel=0.1)
    np.testing.assert_array_equal(answers[known] == INSIDE, truth[known])


def test_a_small_sample_is_part_of_every_larger_one():
    members = random_set(10**8, 50_000)
    samples = [sampled(members, most)[0] for most in (100, 1_000, 10_000, 10**6)]
    for small, large in itertools.pairwise(samples):
        assert np.isin(small, large).all()
    assert samples[-1] is members
    assert rank(samples[0]).max() < rank(members).max()


def test_weights_of_a_regular_pattern_are_sampled_evenly():
    """Weights of one output are evenly spaced in w: a sample of them must not be none or all."""
    for step in (2, 16, 26, 64):
        kept, share = sampled(np.arange(0, step * 100_000, step), 10_000)
        assert kept.size == pytest.approx(100_000 * share, rel=0.05)
