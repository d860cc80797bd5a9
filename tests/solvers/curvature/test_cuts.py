"""Cutting planes: the minimum of their model, and bounds that hold however exactly it is found."""

import cvxpy as cp
import numpy as np
import pytest

from solverscope.solvers.curvature.cuts import Cuts, simplex_step
from solverscope.solvers.curvature.inverse import DenseInverse

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
def test_the_minimum_of_the_model_is_that_of_another_program(t):
    cuts = random_cuts(t, seed=t)
    found = cuts.minimize()
    assert found.bound == pytest.approx(least(cuts), abs=1e-7)
    assert model(cuts, found.w) == pytest.approx(found.bound, abs=1e-12)
    assert cuts.alpha.min() >= 0.0
    assert cuts.alpha.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("t", [2, 7, 40])
def test_a_matrix_in_place_of_the_ridge_gives_the_minimum_of_another_program(t):
    cuts, rng = random_cuts(t, seed=t), np.random.default_rng(t)
    B, root = DenseInverse(5), rng.normal(size=(5, 5))
    for s in rng.normal(size=(3, 5)):
        B.push(s, root @ (root.T @ s) + 0.1 * s)
    other = Cuts(RIDGE, B=B)
    for a, b in zip(cuts.A, cuts.b, strict=True):
        assert other.add(a, b)
    found = other.minimize()
    H, w = RIDGE * np.linalg.inv(B.matrix), cp.Variable(5)
    planes = np.array(cuts.A) @ w + cuts.b
    value = 0.5 * cp.sum_squares(np.linalg.cholesky(H).T @ w) + cp.max(planes)
    assert found.bound == pytest.approx(cp.Problem(cp.Minimize(value)).solve(solver=cp.CLARABEL), abs=1e-6)
    reached = 0.5 * found.w @ H @ found.w + np.max(np.array(cuts.A) @ found.w + cuts.b)
    assert reached == pytest.approx(found.bound, abs=1e-10)


@pytest.mark.parametrize(
    ("size", "within"), [(1e-6, 1e-6), (1.0, 1e-6), (1e3, 1e-6), (1e4, 1e-4), (1e6, np.inf)]
)
def test_a_minimum_and_its_gap_hold_however_long_the_cuts_are(size, within):
    """Of hinge losses: entries of Q/λ are up to 1e13, and then 1e17, where α has too few digits for a minimum
    of order 1; the bound and the gap are true there too. The model at w and the bound are computed here from
    the cuts, with more digits."""
    rng, ridge = np.random.default_rng(3), 1e-5
    X = size * rng.normal(size=(50, 6)) * [1.0, 1e-3, 1.0, 1e-1, 1.0, 1.0]
    y = np.where(X[:, 0] + X[:, 2] + 0.5 * size * rng.normal(size=50) > 0.0, 1.0, -1.0)
    cuts = Cuts(ridge)
    cuts.add(np.zeros(6), 0.0)
    w = np.zeros(6)
    for _ in range(60):
        lacking = y * (X @ w) < 1.0
        cuts.add(-(y * lacking) @ X / 50, lacking.mean())
        w = cuts.minimize().w
    found = cuts.minimize()
    exact, A = found.w.astype(np.longdouble), np.array(cuts.A, dtype=np.longdouble)
    alpha = cuts.alpha.astype(np.longdouble)
    norm = ridge * exact @ exact / 2
    above = np.max(A @ exact + cuts.b) + norm
    combined = alpha @ A
    below = cuts.b @ alpha - combined @ combined / ridge / 2
    assert below > 0.01
    assert above - below <= within * below
    assert found.bound == pytest.approx(float(below), rel=1e-6)
    assert found.gap == pytest.approx(float(above - below), abs=1e-6 * float(below))


@pytest.mark.parametrize("seed", range(40))
def test_cuts_of_opposite_slopes_have_their_kink_as_minimum(seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=3) * 10.0 ** rng.integers(-3, 4)
    cuts = Cuts(RIDGE)
    assert cuts.add(a, 0.0)
    assert cuts.add(-a, 0.0)
    found = cuts.minimize()
    np.testing.assert_allclose(cuts.alpha, 0.5, rtol=1e-12)
    assert found.gap <= 1e-12 * (a @ a)


def test_cuts_without_slopes_have_the_highest_as_their_minimum():
    cuts = Cuts(RIDGE)
    for height in (0.0, 1.0, 0.5):
        cuts.add(np.zeros(3), height)
    found = cuts.minimize()
    assert (found.bound, found.gap) == (1.0, 0.0)
    np.testing.assert_array_equal(found.w, np.zeros(3))


def test_a_minimum_within_a_distance_is_low_but_true():
    """Whatever was left undone, the bound is below the minimum and the gap tells by how much at most."""
    cuts, rough = random_cuts(40), random_cuts(40)
    found, exact = rough.minimize(within=1.0), cuts.minimize()
    assert found.bound <= exact.bound
    assert exact.bound - found.bound <= found.gap <= 1.0
    assert model(rough, found.w) == pytest.approx(found.bound + found.gap, rel=1e-12)


def test_the_bound_never_falls_while_cuts_are_added():
    cuts, rng, bounds = Cuts(RIDGE), np.random.default_rng(1), []
    for _ in range(25):
        cuts.add(rng.normal(size=5), float(rng.normal()))
        bounds.append(cuts.minimize().bound)
    assert np.diff(bounds).min() >= -1e-14


def test_a_matrix_that_is_not_positive_definite_gives_no_step():
    H = np.array([[1.0, 2.0], [2.0, 1.0]])
    assert simplex_step(H, np.array([0.0, 1.0]), np.array([0.5, 0.5])) == (None, 1)


@pytest.mark.parametrize("seed", range(5))
def test_a_step_maximizes_over_the_simplex(seed):
    rng = np.random.default_rng(seed)
    root, v, alpha = rng.normal(size=(8, 8)), rng.normal(size=8), rng.dirichlet(np.ones(8))
    H = root @ root.T
    there, iterations = simplex_step(H, v, alpha)
    assert 1 <= iterations < 90
    moved = cp.Variable(8)
    delta = moved - alpha
    value = v @ delta - 0.5 * cp.sum_squares(root.T @ delta)
    best = cp.Problem(cp.Maximize(value), [moved >= 0, cp.sum(moved) == 1]).solve(solver=cp.CLARABEL)
    own = v @ (there - alpha) - 0.5 * (there - alpha) @ H @ (there - alpha)
    assert there.min() >= 0.0
    assert there.sum() == pytest.approx(1.0, abs=1e-14)
    assert own == pytest.approx(best, abs=1e-7)


def test_two_cuts_that_differ_by_less_than_their_products_tell_are_two():
    """One large slope hides a small one in the products."""
    cuts = Cuts(1e-6)
    cuts.add(np.array([1e6, 4e-3]), 0.0)
    assert cuts.add(np.array([1e6, -4e-3]), 0.0)
    assert not cuts.add(np.array([1e6, -4e-3]), 0.0)


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
