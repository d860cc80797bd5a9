"""Algorithm 4 against all crossings of two lines, and what it costs."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solverscope.solvers.problems.losses import envelope as module
from solverscope.solvers.problems.losses.envelope import envelope


def segmented(a, b, compute=envelope):
    r = len(a)
    order, t, line = np.empty(r, np.int64), np.empty(r), np.empty(r, np.int64)
    n = compute(a, b, r, order, t, line)
    return t[:n], line[:n]


def check(a, b):
    """The active line is the highest at every crossing and in between; the slope rises at each step."""
    t, line = segmented(a, b)
    assert t[0] == 0.0
    assert (np.diff(t) > 0.0).all()
    assert (np.diff(a[line]) > 0.0).all()
    crossings = {0.0}
    for i, j in itertools.combinations(range(len(a)), 2):
        if a[i] != a[j] and (b[j] - b[i]) / (a[i] - a[j]) > 0.0:
            crossings.add((b[j] - b[i]) / (a[i] - a[j]))
    crossings = np.array(sorted(crossings))
    for x in np.concatenate([crossings, 0.5 * (crossings[1:] + crossings[:-1]), [2.0 * crossings[-1] + 1.0]]):
        active = line[np.searchsorted(t, x, side="right") - 1]
        height = np.max(b + x * a)
        assert b[active] + x * a[active] == pytest.approx(height, rel=1e-12, abs=1e-12 * (1.0 + x))


NUMBERS = st.integers(-3, 3)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=9))
def test_ties_duplicates_and_parallel_lines(lines):
    a, b = np.array(lines, dtype=float).T
    check(a.copy(), b.copy())


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_random_lines(seed, r):
    rng = np.random.default_rng(seed)
    check(rng.normal(size=r), rng.normal(size=r))


HELPERS = {name: getattr(module, name) for name in ("sort", "later")}


class Counted(float):
    """A number that counts comparisons."""

    count = 0

    def __lt__(self, other):
        Counted.count += 1
        return float(self) < float(other)

    def __gt__(self, other):
        Counted.count += 1
        return float(self) > float(other)


def comparisons(r, monkeypatch):
    """Comparisons for r tangents of a parabola, each of which is active somewhere, in random order."""
    for name, kernel in HELPERS.items():
        monkeypatch.setattr(module, name, kernel.py_func)
    slopes = np.random.default_rng(0).permutation(r) / r
    a, b = (np.array([Counted(x) for x in v], dtype=object) for v in (slopes, -(slopes**2)))
    Counted.count = 0
    t, _ = segmented(a, b, envelope.py_func)
    assert len(t) == r
    return Counted.count


def test_counted_comparisons_grow_as_r_log_r(monkeypatch):
    few, many = comparisons(64, monkeypatch), comparisons(1024, monkeypatch)
    assert many / few <= 1.3 * (1024 * math.log(1024)) / (64 * math.log(64))
    assert many <= 5 * 1024 * math.log2(1024)
