"""Penalties with a norm of each row, against numeric minimisation and enumeration."""

import numpy as np
import pytest
from scipy.optimize import minimize

from solverscope import solvers
from solverscope.solvers.linalg.row_norms import simplex_threshold
from solverscope.solvers.problems.penalties import L1L2, L1Linf, SparseGroup
from tests.solvers.oracles import row_violation

PENALTIES = [L1L2(0.7), L1Linf(0.7), SparseGroup(0.7), SparseGroup(0.7, rho=0.0), SparseGroup(0.7, rho=1.0)]
by_name = pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: f"{p.id}-{getattr(p, 'rho', '')}")


def norms(penalty, v):
    """λR of one row, from the contract's definitions."""
    l1, l2, sup = np.abs(v).sum(), np.linalg.norm(v), np.abs(v).max()
    rho = getattr(penalty, "rho", None)
    mixed = {"l1-l2": l2, "l1-linf": sup} if rho is None else {"sparse-group": rho * l1 + (1 - rho) * l2}
    return penalty.lam * mixed[penalty.id]


def numeric_prox(penalty, v, step):
    """argmin ½‖u - v‖² + step λR(u) by repeated simplex search, from v and from zero."""

    def f(u):
        return 0.5 * ((u - v) ** 2).sum() + step * norms(penalty, u)

    options = {"xatol": 1e-11, "fatol": 1e-15, "maxiter": 20_000, "maxfev": 20_000}
    best = np.zeros_like(v)
    for start in (v, 0.5 * v):
        for _ in range(4):
            start = minimize(f, start, method="Nelder-Mead", options=options).x
        best = min(best, start, key=f)
    return best, f


@by_name
def test_value_is_the_sum_over_rows(penalty):
    W = np.random.default_rng(0).normal(size=(5, 3))
    W[2] = 0.0
    assert penalty.over(3).value(W.ravel()) == pytest.approx(sum(norms(penalty, w) for w in W), rel=1e-14)


@by_name
def test_prox_is_the_numeric_minimum(penalty):
    rng = np.random.default_rng(1)
    for step in (0.3, 1.5):
        for _ in range(4):
            v = rng.normal(size=3) * 1.5
            found = penalty.over(3).prox(v, step)
            best, f = numeric_prox(penalty, v, step)
            assert f(found) <= f(best) + 1e-12
            np.testing.assert_allclose(found, best, atol=1e-5)


@by_name
def test_prox_moves_each_row_by_itself_and_leaves_its_argument(penalty):
    V = np.random.default_rng(2).normal(size=(6, 4))
    before = V.copy()
    whole = penalty.over(4).prox(V.ravel(), 0.5).reshape(6, 4)
    for v, row in zip(V, whole, strict=True):
        np.testing.assert_array_equal(penalty.over(4).prox(v, 0.5), row)
    np.testing.assert_array_equal(V, before)


@by_name
def test_small_rows_become_exact_zeros(penalty):
    v = np.array([0.01, -0.02, 0.0, 0.015])
    out = penalty.over(4).prox(v, 1.0)
    assert out.tolist() == [0.0] * 4
    assert penalty.over(4).prox(np.zeros(4), 1.0).tolist() == [0.0] * 4


@by_name
def test_subgradient_is_the_steepest_descent_and_violation_its_norm(penalty):
    """-v of smallest norm is the steepest descent direction: along it the slope of g'u + λR is -‖v‖², and
    no unit direction falls faster than ‖v‖."""
    rng, penalty = np.random.default_rng(3), penalty.over(3)
    rows = [np.zeros(3), np.array([0.5, 0.0, -1.0]), np.array([1.0, -1.0, 0.2]), rng.normal(size=3)]
    for w in rows:
        for g in rng.normal(size=(6, 3)):
            v = penalty.subgradient(w, g)

            def slope(u, w=w, g=g, h=1e-7):
                return g @ u + (penalty.value(w + h * u) - penalty.value(w)) / h

            assert slope(-v) == pytest.approx(-(v @ v), abs=1e-5)
            directions = rng.normal(size=(300, 3))
            directions /= np.linalg.norm(directions, axis=1)[:, None]
            assert min(slope(u) for u in directions) >= -np.linalg.norm(v) - 1e-5
            assert penalty.violation(w, g) == pytest.approx(np.linalg.norm(v), rel=1e-14)
            expected = row_violation(w, g, *penalty.row_norms)
            assert penalty.violation(w, g) == pytest.approx(expected, abs=1e-12)


def test_sparse_group_ends_in_its_two_parts():
    g = np.random.default_rng(6).normal(size=20)
    assert SparseGroup(rho=0.0).over(4).lam_max(g) == pytest.approx(L1L2().over(4).lam_max(g), rel=1e-14)
    assert SparseGroup(rho=1.0).over(4).lam_max(g) == pytest.approx(np.abs(g).max(), rel=1e-14)


def test_rows_keep_their_width_at_another_strength():
    penalty = SparseGroup(1.0, rho=0.25).over(3).at_lam(8.0)
    assert penalty.width == 3
    assert penalty.row_norms == (2.0, 6.0, 0.0)


def test_solvers_of_single_weights_say_why_they_cannot_take_rows():
    reason = "needs a penalty that is separable by weights"
    assert solvers.why_not_solver("prox-qn", "multiclass-logistic", "l1-l2") == reason
    assert solvers.why_not_solver("prox-gd", "multiclass-logistic", "l1-l2") is None


def test_a_threshold_is_found_where_rounding_brings_an_entry_back():
    """The last entry is the threshold of all: above it by rounding in one pass, and below it in the next."""
    u, total = np.array([0.2, 0.1, 0.3, 0.10000000000000005]), 0.29999999999999993
    theta = simplex_threshold(u, total)
    assert np.maximum(u - theta, 0.0).sum() == pytest.approx(total, rel=1e-14)
