"""Figures that are known within bounds: what becomes of them together, and where two are compared."""

from __future__ import annotations

import math

import numpy as np

from solverscope.app.papers import bounds
from solverscope.app.papers.bounds import Interval


def exact(*values):
    return [Interval.exact(value) for value in values]


def test_the_median_of_ten_is_the_mean_of_the_fifth_and_sixth():
    seconds = np.random.default_rng(0).permutation([1.0, 2.0, 3.0, 4.0, 5.0, 9.0, 10.0, 11.0, 12.0, 13.0])
    assert bounds.together("median", exact(*seconds)) == Interval.exact(7.0)
    assert bounds.together("median", exact(3.0, 1.0, 2.0)) == Interval.exact(2.0)


def test_a_run_that_was_cut_is_a_lower_bound_in_every_sum():
    cut = Interval.at_least(60.0)
    assert bounds.together("mean", [*exact(20.0), cut]) == Interval.at_least(40.0)
    assert bounds.together("total", [*exact(20.0), cut]) == Interval.at_least(80.0)
    assert bounds.together("least", [*exact(20.0), cut]) == Interval.exact(20.0)
    assert bounds.together("most", [*exact(20.0), cut]) == Interval.at_least(60.0)
    # the middle of these does not hang on the one that was cut, that of the next does
    assert bounds.together("median", [*exact(1.0, 2.0, 3.0), cut]) == Interval.exact(2.5)
    assert bounds.together("median", [*exact(1.0, 2.0), cut, cut]) == Interval.at_least(31.0)
    assert str(bounds.together("median", [cut, cut])) == "over 60"


def test_bounds_decide_only_what_they_can():
    never = Interval.exact(math.inf)
    assert bounds.less(Interval.exact(10.0), Interval.at_least(60.0)) is True
    assert bounds.less(Interval.at_least(60.0), Interval.exact(10.0)) is False
    assert bounds.less(Interval.at_least(60.0), Interval.exact(90.0)) is None
    assert bounds.less(Interval.at_least(60.0), Interval.at_least(60.0)) is None
    assert bounds.less(Interval.exact(10.0), never) is True
    assert bounds.less(never, never) is False
    assert (str(never), str(Interval.exact(0.5) * 3.0)) == ("never", "1.5")
