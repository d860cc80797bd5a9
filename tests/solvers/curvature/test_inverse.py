import numpy as np
import pytest

from solverscope.solvers.curvature import inverse as module
from solverscope.solvers.curvature.inverse import DenseInverse, Identity
from solverscope.solvers.curvature.memory import PairMemory

D = 7


def pairs(count, seed=0):
    """Pairs of a quadratic with a Hessian that is positive definite, and that Hessian."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(D, D))
    H = root @ root.T + np.eye(D)
    S = rng.normal(size=(count, D))
    return S, S @ H, H


def matrix(B):
    return np.stack([B.inverse_product(e) for e in np.eye(D)], axis=1)


def test_the_update_is_that_of_the_paper():
    """Equation (6) of Yu et al. 2010, written with matrices."""
    S, Y, _ = pairs(5)
    B, expected, one = DenseInverse(D), np.eye(D), np.eye(D)
    for s, y in zip(S, Y, strict=True):
        assert B.push(s, y) == pytest.approx(s @ y)
        rho = 1.0 / (y @ s)
        left = one - rho * np.outer(s, y)
        expected = left @ expected @ left.T + rho * np.outer(s, s)
        np.testing.assert_allclose(matrix(B), expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(B.inverse_product(y), s, rtol=1e-8, atol=1e-10)
        assert np.linalg.eigvalsh(matrix(B)).min() > 0.0


def test_with_all_its_pairs_it_is_limited_memory_bfgs():
    """Whose first matrix is scaled by the newest pair, so that one pair is to be compared."""
    S, Y, _ = pairs(1)
    dense, limited = DenseInverse(D, scaled=True), PairMemory(5)
    dense.push(S[0], Y[0])
    limited.push(S[0], Y[0])
    np.testing.assert_allclose(matrix(dense), matrix(limited), rtol=1e-10)


def test_unscaled_limited_memory_is_bfgs_while_all_pairs_are_kept():
    """Mathur and Chakrabarti 2006, II-A.3: for the first m iterations both are the same."""
    S, Y, _ = pairs(4)
    dense, limited = DenseInverse(D), PairMemory(4, scaled=False)
    for s, y in zip(S, Y, strict=True):
        dense.push(s, y)
        limited.push(s, y)
        np.testing.assert_allclose(matrix(dense), matrix(limited), rtol=1e-8, atol=1e-10)
    assert limited.scaling("yy/sy") == 1.0


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kind", [DenseInverse, PairMemory])
def test_pairs_keep_the_bounds_of_eq_29(kind, scale):
    rng = np.random.default_rng(3)
    h, H = 0.5 / scale, 2.0 / scale
    B, admitted, skipped = kind(D, h=h, H=H), 0, 0
    for _ in range(60):
        s = rng.normal(size=D)
        y = scale * (rng.uniform(0.1, 3.0) * s + 0.3 * rng.normal(size=D))
        before = matrix(B)
        if B.push(s, y) is None:
            assert s @ y < s @ s / H
            np.testing.assert_array_equal(matrix(B), before)
            skipped += 1
            continue
        admitted += 1
        entered = B.inverse_product(y)  # the secant equation: s as it entered B
        assert entered @ y >= h * (y @ y) * (1 - 1e-9)
        assert s @ y >= s @ s / H
    assert min(admitted, skipped) > 5


def test_exact_steps_along_conjugate_directions_find_the_inverse_of_a_quadratic():
    _, _, H = pairs(0)
    B, w = DenseInverse(D), np.ones(D)
    for _ in range(D):
        g = H @ w
        p = -B.inverse_product(g)
        s = p * (-(g @ p) / (p @ H @ p))
        B.push(s, H @ s)
        w = w + s
    np.testing.assert_allclose(matrix(B), np.linalg.inv(H), rtol=1e-5, atol=1e-7)
    assert np.abs(w).max() < 1e-8


def test_a_pair_without_curvature_changes_nothing():
    S, Y, _ = pairs(2)
    B = DenseInverse(D)
    B.push(S[0], Y[0])
    before = matrix(B)
    for s, y in [(S[1], -Y[1]), (S[1], np.zeros(D)), (np.eye(D)[0], np.eye(D)[1])]:
        assert B.push(s, y) is None
    np.testing.assert_array_equal(matrix(B), before)
    assert len(B) == 1


def test_work_in_slabs_is_the_same_and_lets_a_run_stop(monkeypatch):
    S, Y, _ = pairs(3)
    whole, calls = DenseInverse(D), []
    monkeypatch.setattr(module, "ENTRIES_PER_PULSE", 2 * D)
    slabs = DenseInverse(D, pulse=lambda: calls.append(1))
    for s, y in zip(S, Y, strict=True):
        slabs.push(s, y)
    monkeypatch.undo()
    for s, y in zip(S, Y, strict=True):
        whole.push(s, y)
    np.testing.assert_allclose(matrix(slabs), matrix(whole), rtol=1e-12)
    assert len(calls) >= 3 * 4


@pytest.mark.parametrize("B", [Identity(), DenseInverse(D)])
def test_without_pairs_it_is_the_identity(B):
    v = np.arange(D, dtype=float)
    B.clear()
    product = B.inverse_product(v)
    np.testing.assert_array_equal(product, v)
    assert product is not v
    assert len(B) == 0


def test_clearing_forgets_the_pairs_and_identity_never_has_any():
    S, Y, _ = pairs(1)
    dense, one = DenseInverse(D), Identity()
    for B in (dense, one):
        assert B.push(S[0], Y[0]) == pytest.approx(S[0] @ Y[0])
    assert (len(dense), len(one)) == (1, 0)
    dense.clear()
    np.testing.assert_array_equal(matrix(dense), np.eye(D))
