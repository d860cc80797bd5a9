"""Cutting planes: the minimum of their model, and bounds that hold whatever the quadratic program returns."""

import cvxpy as cp
import numpy as np
import pytest

from solvers.parts import cuts as module
from solvers.parts.cuts import Cuts

RIDGE = 0.3


def random_cuts(t, d=5, seed=0, **options):
    rng = np.random.default_rng(seed)
    cuts = Cuts(RIDGE, **options)
    for _ in range(t):
        assert cuts.add(rng.normal(size=d), float(rng.normal()))
    return cuts


def least(cuts):
    """The minimum of the model by another program."""
    w = cp.Variable(cuts.A[0].size)
    planes = cp.max(np.array(cuts.A) @ w + cuts.b)
    return cp.Problem(cp.Minimize(0.5 * RIDGE * cp.sum_squares(w) + planes)).solve(solver=cp.CLARABEL)


def model(cuts, w):
    return 0.5 * RIDGE * w @ w + np.max(np.array(cuts.A) @ w + cuts.b)


@pytest.mark.parametrize("t", [1, 2, 7, 40])
@pytest.mark.parametrize("most", [0, module.ACTIVE_SET], ids=["interior point", "active set"])
def test_the_minimum_of_the_model_is_that_of_another_program(t, most, monkeypatch):
    monkeypatch.setattr(module, "ACTIVE_SET", most)
    cuts = random_cuts(t, seed=t)
    found = cuts.minimize()
    assert found.bound == pytest.approx(least(cuts), abs=1e-7)
    assert model(cuts, found.w) == pytest.approx(found.bound, abs=1e-7)
    assert cuts.alpha.min() >= 0.0
    assert cuts.alpha.sum() == pytest.approx(1.0, abs=1e-12)


def test_a_bound_from_a_program_stopped_early_is_low_but_true(monkeypatch):
    """Any point of the simplex gives a bound, and it never falls while cuts are added."""
    rng = np.random.default_rng(1)
    monkeypatch.setattr(module, "simplex_program", lambda H, b, start: [rng.dirichlet(np.ones(b.size))])
    cuts, bounds = Cuts(RIDGE), []
    for _ in range(25):
        cuts.add(rng.normal(size=5), float(rng.normal()))
        bounds.append(cuts.minimize().bound)
    assert np.diff(bounds).min() >= 0.0
    assert bounds[-1] <= least(cuts) + 1e-9
    assert bounds[-1] < least(cuts) - 1e-3


def test_a_program_that_fails_leaves_the_last_weights(monkeypatch):
    cuts = random_cuts(6)
    first = cuts.minimize()
    monkeypatch.setattr(module, "_by_active_set", lambda H, b, start: (np.full(b.size, np.nan), False))
    monkeypatch.setattr(module, "_by_interior_point", lambda H, b: (np.full(b.size, np.nan), False))
    assert cuts.add(np.ones(5), 10.0)
    again = cuts.minimize()
    assert again.bound == first.bound
    np.testing.assert_array_equal(again.w, first.w)


def test_the_interior_point_takes_over_where_the_active_set_gives_up(monkeypatch):
    cuts = random_cuts(10)
    monkeypatch.setattr(module, "_by_active_set", lambda H, b, start: (np.full(b.size, np.nan), False))
    assert cuts.minimize().bound == pytest.approx(least(cuts), abs=1e-7)


def test_a_cut_that_is_there_is_not_added_again():
    cuts = random_cuts(4)
    assert not cuts.add(cuts.A[2].copy(), cuts.b[2])
    assert cuts.add(cuts.A[2].copy(), cuts.b[2] + 1e-3)
    assert len(cuts) == 5
    assert (cuts.made, cuts.refused) == (5, 1)
    assert cuts.numbers.tolist() == [0, 1, 2, 3, 4]


def test_dropping_cuts_keeps_the_bound():
    """Cuts that only the first points needed go; the bound never falls, and stays below what all of them
    would give."""
    rng = np.random.default_rng(2)
    few, all_of_them, bounds = Cuts(RIDGE, most=10, patience=5), Cuts(RIDGE), []
    for _ in range(80):
        a, b = rng.normal(size=5), float(rng.normal())
        few.add(a, b)
        all_of_them.add(a, b)
        bounds.append(few.minimize().bound)
    assert len(few) < 40
    assert np.diff(bounds).min() >= -1e-12
    assert bounds[-1] <= all_of_them.minimize().bound + 1e-9


def test_cuts_keep_their_numbers_and_those_that_combine_others_are_told():
    rng = np.random.default_rng(2)
    cuts = Cuts(RIDGE, most=10, patience=5)
    before, born = {}, set()
    for _ in range(80):
        cuts.add(rng.normal(size=5), float(rng.normal()))
        cuts.minimize()
        for number, a, combined in zip(cuts.numbers.tolist(), cuts.A, cuts.combined, strict=True):
            assert before.setdefault(number, a) is a, "the same cut under the same number"
            born |= {number} if combined else set()
    assert len(cuts.numbers) == len(cuts) < 40
    assert np.diff(cuts.numbers).min() > 0
    assert cuts.made == 80 + len(born)
    assert born, "some were dropped"
