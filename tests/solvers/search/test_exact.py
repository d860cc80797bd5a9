import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solverscope.solvers.search.line_search import Exact
from solverscope.solvers.search.outcome import NO_BREAKPOINTS as NONE
from solverscope.solvers.search.outcome import Breakpoints

#: Few values, so that breakpoints coincide, slopes vanish and bottoms are flat.
STEPS = st.lists(st.integers(1, 6), max_size=8)
JUMPS = st.lists(st.integers(0, 4), min_size=8, max_size=8)


def made(slope, steps, jumps, curvature):
    t = np.sort(np.array(steps, dtype=float)) / 4.0
    return Breakpoints(float(slope), t, np.array(jumps[: t.size], dtype=float), float(curvature))


def value(b, t):
    """The function by its formula, 0 at 0."""
    return b.slope * t + 0.5 * b.curvature * t * t + np.sum(b.jump * np.maximum(t - b.t, 0.0))


def zero_slope(slope, b):
    return Exact().by_slopes(slope, b, smooth=True)


def slope_of(b):
    def slope(t, side):
        passed = b.t <= t if side > 0 else b.t < t
        return b.slope + b.curvature * t + b.jump[passed].sum()

    return slope


def least(b):
    """The minimum over all breakpoints and the lowest points of all segments; -inf where there is none."""
    if b.curvature == 0.0 and b.slope + b.jump.sum() < 0.0:
        return -math.inf
    ends = np.concatenate([[0.0], b.t, [np.inf]])
    candidates = [0.0, *b.t]
    for k, (lo, hi) in enumerate(itertools.pairwise(ends)):
        if b.curvature > 0.0:
            candidates.append(min(max(-(b.slope + b.jump[:k].sum()) / b.curvature, lo), hi))
    return min(value(b, t) for t in candidates if math.isfinite(t))


@settings(max_examples=2000, deadline=None)
@given(st.integers(-12, 4), STEPS, JUMPS, st.sampled_from([0, 1, 3]))
def test_the_step_is_a_minimum_over_all_breakpoints_and_segments(slope, steps, jumps, curvature):
    b = made(slope, steps, jumps, curvature)
    found, best = Exact().by_breakpoints(b), least(b)
    if best == -math.inf:
        assert found.step == math.inf
        return
    assert value(b, found.step) == pytest.approx(best, rel=1e-12, abs=1e-12)
    if found.step > 0.0:
        assert slope_of(b)(0.999 * found.step, 1) < 0.0, "the first of a flat bottom"
        assert found.segment[0] <= found.step <= found.segment[1]


@settings(max_examples=2000, deadline=None)
@given(st.integers(-12, 4), STEPS, JUMPS, st.sampled_from([0, 1, 3]))
def test_slopes_alone_lead_to_the_same_minimum(slope, steps, jumps, curvature):
    b = made(slope, steps, jumps, curvature)
    found, best = zero_slope(slope_of(b), b), least(b)
    if best == -math.inf:
        assert found.step == math.inf
    else:
        assert value(b, found.step) == pytest.approx(best, rel=1e-12, abs=1e-12)


def test_random_functions_with_thousands_of_breakpoints():
    rng = np.random.default_rng(0)
    for _ in range(50):
        r = int(rng.integers(1, 3000))
        t, jump = np.sort(rng.exponential(size=r)), rng.exponential(size=r)
        b = Breakpoints(-rng.random() * jump.sum(), t, jump, rng.choice([0.0, 1.0, 100.0]))
        step = Exact().by_breakpoints(b).step
        grid = np.concatenate([t, step * np.linspace(0.9, 1.1, 21)])
        assert value(b, step) <= min(value(b, s) for s in grid) + 1e-12 * jump.sum()


def test_a_flat_end_that_rounding_makes_fall_is_no_ray():
    jump = np.full(10, 0.1)
    b = Breakpoints(-1.0, np.arange(1.0, 11.0), jump)
    assert b.slope + math.fsum([0.1] * 9) < 0.0
    assert -1.0 + np.cumsum(jump)[-1] != 0.0, "the sum misses zero"
    assert Exact().by_breakpoints(b).step == 10.0


def test_what_was_visited_ends_with_the_target_segment():
    b = Breakpoints(-3.0, np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.5, 5.0]), 1.0)
    found = Exact().by_breakpoints(b)
    assert (found.step, found.segment, found.visited) == (2.0, (1.0, 2.0), 2)


def test_a_smooth_function_is_followed_as_far_as_it_falls():
    found = zero_slope(lambda t, side: math.expm1(t - 50.0), Breakpoints(math.expm1(-50.0), NONE, NONE))
    assert found.step == pytest.approx(50.0, rel=1e-12)
    assert zero_slope(lambda t, side: -1.0, Breakpoints(-1.0, NONE, NONE)).step == math.inf


def test_a_limit_below_zero_ends_the_search_beyond_the_last_breakpoint():
    looked = []

    def slope(t, side):
        looked.append(t)
        return -2.0 if t < 1.0 else -1.0

    b = Breakpoints(-2.0, np.array([1.0]), np.array([1.0]), limit=-1.0)
    assert zero_slope(slope, b).step == math.inf
    assert looked == [1.0]


def test_a_zero_that_rounding_puts_next_to_nothing_is_approached_and_no_error():
    def slope(t, side):
        return -1.0 if t < 1e-250 else 1.0

    assert zero_slope(slope, Breakpoints(-1.0, NONE, NONE)).step < 1e-20


@pytest.mark.parametrize("beyond", [math.inf, math.nan])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3, 1e24])
def test_a_slope_that_overflows_far_out_has_its_zero_found_near_the_start(unit, beyond):
    def slope(t, side):
        return math.exp(unit * t) - 2.0 if unit * t < 700.0 else beyond

    found = zero_slope(slope, Breakpoints(-1.0, NONE, NONE))
    assert found.step * unit == pytest.approx(math.log(2.0), rel=1e-6)
    lo, hi = found.segment
    assert lo <= found.step <= hi
    assert math.isfinite(slope(hi, 1))
