import numpy as np
import pytest

from solverscope.solvers.linalg.working_set import WorkingSet

D, M, TAIL = 6, 4, 3
SIZE = D * M + TAIL


@pytest.fixture
def coordinates():
    return np.array([1, 2, 5, 9, 12, 13, 21, 24, 26])


def test_the_full_set_is_all_coordinates_and_takes_without_a_copy():
    w, everything = np.arange(float(SIZE)), WorkingSet(None, D, M, SIZE)
    assert everything.full
    assert len(everything) == SIZE
    assert everything.take(w) is w
    np.testing.assert_array_equal(everything.coordinates, np.arange(SIZE))


def test_body_and_tail_are_told_apart(coordinates):
    active = WorkingSet(coordinates, D, M, SIZE)
    assert not active.full
    assert active.n_body == 7
    np.testing.assert_array_equal(active.tail, [0, 2])
    np.testing.assert_array_equal(active.take(np.arange(float(SIZE))), coordinates)


@pytest.mark.parametrize("full", [True, False])
def test_restrict_keeps_the_members_of_the_mask(coordinates, full):
    active = WorkingSet(None if full else coordinates, D, M, SIZE)
    mask = np.arange(len(active)) % 3 == 0
    np.testing.assert_array_equal(active.restrict(mask).coordinates, active.coordinates[mask])
    assert active.restrict(np.ones(len(active), dtype=bool)) is active
    assert len(active.restrict(np.zeros(len(active), dtype=bool))) == 0


@pytest.mark.parametrize("ours", ["all", "some", "none"])
@pytest.mark.parametrize("others", ["all", "some", "none"])
def test_overlap_tells_for_both_sets_which_members_are_in_the_other(coordinates, ours, others):
    members = {"all": None, "some": coordinates, "none": coordinates[:0]}
    other_members = members | {"some": np.union1d(coordinates[::2], [3, SIZE - 2])}
    one = WorkingSet(members[ours], D, M, SIZE)
    other = WorkingSet(other_members[others], D, M, SIZE)
    here, there = one.overlap(other)
    np.testing.assert_array_equal(here, np.isin(one.coordinates, other.coordinates))
    np.testing.assert_array_equal(there, np.isin(other.coordinates, one.coordinates))


def test_by_output_regroups_the_body(coordinates):
    active = WorkingSet(coordinates, D, M, SIZE)
    starts, features, order = active.by_output()
    body = coordinates[: active.n_body]
    for c in range(M):
        at = slice(starts[c], starts[c + 1])
        np.testing.assert_array_equal(body[order[at]], features[at] * M + c)
        assert np.all(np.diff(features[at]) > 0)
    np.testing.assert_array_equal(np.sort(order), np.arange(active.n_body))


def test_rows_are_the_features_with_a_member(coordinates):
    active = WorkingSet(coordinates, D, M, SIZE)
    features, place = active.rows()
    np.testing.assert_array_equal(features, [0, 1, 2, 3, 5])
    np.testing.assert_array_equal(features[place], coordinates[: active.n_body] // M)
