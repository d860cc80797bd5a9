"""The exponential of whole arrays, against the C library's in long double."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope.solvers.compute.exponential import PIECE, exp_in_place

EPS = np.finfo(np.float64).eps


def exponential(x):
    result = np.array(x, dtype=np.float64)
    exp_in_place(result)
    return result


@pytest.mark.parametrize("reach", [1e-12, 0.4, 30.0, 708.0])
def test_it_is_exact_to_two_units_in_the_last_place(reach):
    x = np.random.default_rng(0).uniform(-reach, reach, 100_000)
    exact = np.exp(x.astype(np.longdouble))
    assert float(np.abs(exponential(x) / exact - 1.0).max()) < 2.0 * EPS


def test_multiples_of_half_log_2_where_the_rounding_turns_are_exact_too():
    x = np.arange(-2040, 2040) * 0.5 * np.log(2.0)
    x = np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)])
    x = x[np.abs(x) <= 708.0]
    exact = np.exp(x.astype(np.longdouble))
    assert float(np.abs(exponential(x) / exact - 1.0).max()) < 2.0 * EPS


def test_one_is_exact_and_what_is_too_small_is_zero_and_nan_stays():
    assert exponential([0.0, -0.0, 5e-324]).tolist() == [1.0, 1.0, 1.0]
    assert exponential([-708.1, -745.0, -1e300, -np.inf]).tolist() == [0.0] * 4
    assert np.isnan(exponential([-1.0, np.nan])).tolist() == [False, True]


@pytest.mark.parametrize("size", [0, 1, 3, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 5])
def test_arrays_of_any_size_are_done_to_their_end(size):
    x = -np.arange(size) / 100.0
    np.testing.assert_allclose(exponential(x), np.exp(x), rtol=2.0 * EPS)


def test_rows_of_a_matrix_are_done_in_place_and_a_part_of_the_columns_is_refused():
    x = np.full((5, 4), -1.0)
    exp_in_place(x[1:3])
    np.testing.assert_allclose(x[1:3], np.exp(-1.0), rtol=2.0 * EPS)
    assert (x[[0, 3, 4]] == -1.0).all()
    with pytest.raises(ValueError, match="contiguous"):
        exp_in_place(x[:, :2])
    assert (x[[0, 3, 4]] == -1.0).all()
