"""Algorithm 2 and the exact QP (19) against the minimum of M over all extreme points, by another program."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solverscope.solvers.curvature.direction import CLOSED_GAP, COMBINING, descent_direction, quasi_newton
from solverscope.solvers.curvature.inverse import DenseInverse, Identity

BOTH = pytest.mark.parametrize("combining", COMBINING)


class Corners:
    """Subgradients fixed + Σ_i β_i x_i, β_i in {0, 1}: those of a binary hinge with a few margin points."""

    def __init__(self, seed, points=8, d=6):
        self.rng = np.random.default_rng(seed)
        X = self.rng.normal(size=(int(self.rng.integers(1, points + 1)), d))
        self.all = self.rng.normal(size=d) + np.array(list(itertools.product([0.0, 1.0], repeat=len(X)))) @ X
        self.calls = 0

    def sup(self, p):
        self.calls += 1
        products = self.all @ p
        return self.all[products.argmax()], float(products.max())

    def inverse(self):
        """Random B after a few pairs of a quadratic."""
        d = self.all.shape[1]
        B, root = DenseInverse(d), self.rng.normal(size=(d, d))
        H = root @ root.T + 0.1 * np.eye(d)
        for s in self.rng.normal(size=(3, d)):
            B.push(s, H @ s)
        return B

    def least_model(self, B):
        """min M(p) = -½ min ‖L G α‖² over shares α of the corners, B = Lᵀ L."""
        d = self.all.shape[1]
        L = np.linalg.cholesky(np.stack([B.inverse_product(e) for e in np.eye(d)])).T
        alpha = cp.Variable(len(self.all), nonneg=True)
        problem = cp.Problem(cp.Minimize(cp.sum_squares((self.all @ L.T).T @ alpha)), [cp.sum(alpha) == 1.0])
        return -0.5 * float(problem.solve(solver=cp.CLARABEL))


@BOTH
@pytest.mark.parametrize("seed", range(12))
def test_the_model_is_within_epsilon_of_its_minimum(seed, combining):
    corners, epsilon = Corners(seed), 2e-3
    B = corners.inverse() if seed % 3 else Identity()
    found = descent_direction(
        corners.all[0], B, corners.sup, epsilon=epsilon, kmax=20_000, combining=combining
    )
    least = corners.least_model(B)
    assert least - 1e-7 <= found.model <= least + epsilon + 1e-7
    assert found.model - least <= found.gap + 1e-7
    assert found.gap <= max(epsilon, CLOSED_GAP * abs(found.model))


@pytest.mark.parametrize("seed", range(12))
def test_the_qp_finds_the_minimum_itself_in_far_fewer_steps(seed):
    corners = Corners(seed)
    B = corners.inverse()
    rough, exact = (
        descent_direction(corners.all[0], B, corners.sup, epsilon=epsilon, kmax=20_000, combining=combining)
        for epsilon, combining in ((1e-3, "algorithm-2"), (0.0, "qp"))
    )
    assert exact.model == pytest.approx(corners.least_model(B), abs=1e-7)
    assert exact.gap <= 1e-12 * (1.0 + abs(exact.model))
    assert exact.steps <= min(rough.steps, len(corners.all))
    assert exact.steps <= exact.qp_iterations
    assert rough.qp_iterations == -1
    # optimality of (19): subgradients with a share are steepest along p, and none is steeper
    products = np.array(exact.met) @ exact.p
    np.testing.assert_allclose(products[exact.weights > 1e-9], exact.sup, atol=1e-8)
    assert (corners.all @ exact.p).max() <= exact.sup + 1e-9


@BOTH
@pytest.mark.parametrize("seed", range(12, 40))
def test_the_direction_descends_where_zero_is_no_subgradient(seed, combining):
    corners = Corners(seed)
    if corners.least_model(Identity()) > -1e-6:
        pytest.skip("0 is a subgradient")
    B = corners.inverse()
    found = descent_direction(corners.all[0], B, corners.sup, epsilon=1e-2, kmax=10_000, combining=combining)
    assert found.descends
    assert found.sup == pytest.approx((corners.all @ found.p).max())
    assert found.sup < 0.0


@given(st.integers(0, 10_000), st.sampled_from(list(COMBINING)))
@settings(max_examples=60, deadline=None)
def test_the_direction_is_minus_b_times_the_combination_of_what_was_met(seed, combining):
    corners = Corners(seed, points=5)
    B = corners.inverse()
    found = descent_direction(corners.all[-1], B, corners.sup, epsilon=1e-3, kmax=300, combining=combining)
    assert len(found.met) == found.weights.size <= found.steps + 1
    assert found.weights.min() >= 0.0
    assert found.weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found.weights @ np.array(found.met), found.combination, atol=1e-10)
    np.testing.assert_allclose(found.p, -B.inverse_product(found.combination), atol=1e-9)
    model = -0.5 * found.p @ found.combination + (corners.all @ found.p).max()
    assert found.model == pytest.approx(model, abs=1e-9)
    assert found.least <= found.combination @ found.combination + 1e-12


@BOTH
def test_zero_among_the_subgradients_ends_without_a_direction_and_says_how_short_they_get(combining):
    corners = Corners(0)
    corners.all = np.array([[10.0, 1.0], [10.0, -1.0], [-10.0, 1.0], [-10.0, -1.0]])
    found = descent_direction(
        corners.all[0], Identity(), corners.sup, epsilon=1e-5, kmax=5000, combining=combining
    )
    assert not found.descends
    assert found.least < 1e-6


@BOTH
def test_where_zero_is_a_subgradient_the_search_ends_once_it_is_found_up_to_rounding(combining):
    """Subgradients of 10|x| + |y| at its minimum, under the B that two exact steps from (1, 1) leave."""
    corners, B = Corners(0), DenseInverse(2)
    corners.all = np.array([[10.0, 1.0], [10.0, -1.0], [-10.0, 1.0], [-10.0, -1.0]])
    B.push(np.array([-1.0, -0.1]), np.array([-20.0, 0.0]))
    B.push(np.array([0.0, -0.9]), np.array([20.0, -2.0]))
    found = descent_direction(corners.all[1], B, corners.sup, epsilon=1e-5, kmax=1000, combining=combining)
    assert not found.descends
    assert found.least < 1e-28
    assert corners.calls < 50


@BOTH
def test_one_subgradient_takes_one_look_and_no_step(combining):
    corners = Corners(0)
    corners.all = corners.all[:1]
    B = corners.inverse()
    found = descent_direction(corners.all[0], B, corners.sup, epsilon=0.0, kmax=1000, combining=combining)
    plain = quasi_newton(corners.all[0], B)
    np.testing.assert_array_equal(found.p, plain.p)
    assert (found.steps, corners.calls) == (0, 1)
    assert found.descends
    assert np.isnan(plain.sup)


def test_a_sup_of_exactly_zero_is_no_descent_and_is_gone_on_from():
    """The printed line 6 would leave the loop here, and line 15 would call it a failure."""
    corners = Corners(0)
    corners.all = np.array([[1.0, 0.0], [0.0, 1.0]])
    found = descent_direction(corners.all[0], Identity(), corners.sup, epsilon=1e9, kmax=10)
    assert corners.all[1] @ -corners.all[0] == 0.0
    assert found.steps == 1
    np.testing.assert_allclose(found.p, [-0.5, -0.5])


def test_it_takes_at_most_kmax_looks_and_a_large_epsilon_takes_one():
    corners = Corners(3)
    few = descent_direction(corners.all[0], Identity(), corners.sup, epsilon=0.0, kmax=7)
    assert few.steps <= 6
    assert corners.calls <= 7
    calls = corners.calls
    p = -corners.all.mean(axis=0)
    loose = descent_direction(-p, Identity(), corners.sup, epsilon=1e9, kmax=1000)
    if (corners.all @ p).max() < 0.0:
        assert corners.calls == calls + 1
        assert loose.steps == 0
