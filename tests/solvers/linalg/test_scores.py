"""Scores, and the memory of arrays as large as they are."""

import threading

import numpy as np
import pytest

from solverscope.solvers.linalg import scores
from solverscope.solvers.linalg.scores import Scores, recycled

SHAPE = (scores.RECYCLED[0] // 16, 16)


def place_of(array):
    return array.__array_interface__["data"][0]


def held(count):
    """As many arrays, all in use, and where they are."""
    arrays = [recycled(*SHAPE) for _ in range(count)]
    return arrays, {place_of(a) for a in arrays}


def test_memory_is_used_again_only_once_no_view_of_it_is_left():
    first = recycled(*SHAPE)
    first[:] = 7.0
    place, row = place_of(first), first[3:5]
    del first
    others, places = held(4)
    assert place not in places
    np.testing.assert_array_equal(row, 7.0)
    for other in others:
        other[:] = 1.0
    np.testing.assert_array_equal(row, 7.0)
    del row, others, other
    assert recycled(*SHAPE).shape == SHAPE


def test_an_array_that_was_left_is_the_next_one():
    array = recycled(*SHAPE)
    place = place_of(array)
    del array
    again = recycled(*SHAPE)
    assert place_of(again) == place
    assert again.flags.c_contiguous
    assert again.flags.writeable


def test_a_thread_keeps_a_few_arrays_of_the_last_size():
    arrays, places = held(scores.SPARE + 3)
    del arrays
    again, taken = held(scores.SPARE)
    assert taken <= places
    del again
    other = recycled(SHAPE[0] + 1, SHAPE[1])
    assert other.shape == (SHAPE[0] + 1, SHAPE[1])


@pytest.mark.parametrize("size", [scores.RECYCLED[0] - 1, scores.RECYCLED[1] + 1])
def test_small_and_huge_arrays_are_as_numpy_makes_them(size):
    assert recycled(1, size).base is None


def test_an_array_may_be_left_by_another_thread():
    box = [recycled(*SHAPE)]
    place = place_of(box[0])
    other = threading.Thread(target=box.clear)
    other.start()
    other.join()
    assert place_of(recycled(*SHAPE)) == place


def test_scores_move_in_place_and_as_new():
    here, delta = Scores(np.ones((3, 2)), np.ones(4)), Scores(np.full((3, 2), 2.0), np.full(4, 3.0))
    there = here.plus(0.5, delta)
    np.testing.assert_array_equal(here.Z, 1.0)
    here.move(0.5, delta)
    np.testing.assert_array_equal(here.Z, there.Z)
    np.testing.assert_array_equal(here.tail, there.tail)
    assert there.dot(delta) == 3 * 2 * 2.0 * 2.0 + 4 * 2.5 * 3.0
    assert (-there).largest() == 2.5
