import numpy as np
import pytest

from solverscope.solvers.curvature import memory as module
from solverscope.solvers.curvature.memory import PairMemory, spectrum

D = 12


def pairs(k, seed=0):
    """Pairs of a quadratic with eigenvalues from 1 to 100."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(D, D))
    H = root @ np.diag(np.geomspace(0.1, 1, D)) @ root.T + np.eye(D)
    S = rng.normal(size=(k, D))
    return [(s, H @ s) for s in S]


def filled(k, size=None, seed=0):
    memory, given = PairMemory(size), pairs(k, seed)
    for s, y in given:
        memory.push(s, y)
    return memory, given


def bfgs(given, gamma):
    """B of Nocedal and Wright (6.19), from γI."""
    B = gamma * np.eye(D)
    for s, y in given:
        Bs = B @ s
        B = B - np.outer(Bs, Bs) / (s @ Bs) + np.outer(y, y) / (s @ y)
    return B


def inverse_bfgs(given, gamma):
    """H of (6.17), from I/γ."""
    H = np.eye(D) / gamma
    for s, y in given:
        V = np.eye(D) - np.outer(y, s) / (s @ y)
        H = V.T @ H @ V + np.outer(s, s) / (s @ y)
    return H


def dense(compact, n):
    if compact.rank == 0:
        return compact.gamma * np.eye(n)
    return compact.gamma * np.eye(n) - compact.Q @ compact.Q_hat.T


@pytest.mark.parametrize("k", [1, 2, 5, 9])
@pytest.mark.parametrize("gamma", [0.01, 1.0, 300.0])
def test_compact_form_is_the_bfgs_recursion(k, gamma):
    memory, given = filled(k)
    B = memory.compact(gamma)
    np.testing.assert_allclose(dense(B, D), bfgs(given, gamma), rtol=1e-7, atol=1e-8 * gamma)
    np.testing.assert_allclose(B.diagonal, np.diag(dense(B, D)), rtol=1e-8)


def test_without_pairs_it_is_a_multiple_of_the_identity():
    memory = PairMemory(3)
    assert memory.compact(2.0).rank == 0
    assert memory.compact(2.0).gamma == 2.0
    np.testing.assert_array_equal(memory.inverse_product(np.arange(4.0)), np.arange(4.0))


@pytest.mark.parametrize("k", [1, 4, 9])
def test_two_loops_are_the_inverse_recursion(k):
    memory, given = filled(k)
    s, y = given[-1]
    H = inverse_bfgs(given, (y @ y) / (s @ y))
    v = np.random.default_rng(1).normal(size=D)
    np.testing.assert_allclose(memory.inverse_product(v), H @ v, rtol=1e-9)


def test_compact_and_two_loop_forms_are_inverses_of_each_other():
    memory, _ = filled(5)
    B = dense(memory.compact(memory.scaling("yy/sy")), D)
    HB = np.stack([memory.inverse_product(column) for column in B.T], axis=1)
    np.testing.assert_allclose(HB, np.eye(D), atol=1e-8)


def test_on_fewer_rows_it_is_the_principal_submatrix_and_positive_definite():
    memory, given = filled(5)
    whole, mask = bfgs(given, 0.5), np.arange(D) % 3 != 0
    memory.carry(mask, np.ones(mask.sum(), dtype=bool))
    B = dense(memory.compact(0.5), mask.sum())
    np.testing.assert_allclose(B, whole[np.ix_(mask, mask)], rtol=1e-8)
    assert np.linalg.eigvalsh(B).min() > 0


def test_rows_that_come_in_are_zero_in_all_pairs_and_rows_of_their_own():
    """Even one that was held before: B is that of pairs in which the new row is one more."""
    memory, given = filled(4)
    kept, known = np.arange(D) != 5, np.array([True] * 5 + [False] + [True] * (D - 6) + [False])
    memory.carry(kept, known)
    rows = np.where(known, np.r_[0:5, 5, 6:D, 5], -1)
    B, whole = dense(memory.compact(0.7), known.size), bfgs(given, 0.7)
    np.testing.assert_allclose(B[np.ix_(known, known)], whole[np.ix_(rows[known], rows[known])], rtol=1e-8)
    np.testing.assert_array_equal(B[~known], 0.7 * np.eye(known.size)[~known])
    assert np.linalg.eigvalsh(B).min() > 0


def test_rows_in_another_unit_give_the_matrix_of_the_pairs_in_that_unit():
    memory, given = filled(4)
    factors = np.geomspace(0.1, 50.0, D)
    held = np.arange(D) < 9
    memory.carry(held, np.ones(9, dtype=bool))
    memory.rescale(factors[held])
    unit = np.where(held, factors, 1.0)
    whole = bfgs([(unit * s, y / unit) for s, y in given], 1.5)
    B = dense(memory.compact(1.5), 9)
    np.testing.assert_allclose(B, whole[np.ix_(held, held)], rtol=1e-7, atol=1e-8)
    assert memory.YY[-1] == pytest.approx(np.sum((given[-1][1] / unit) ** 2))


def test_rows_of_no_pairs_may_change_their_unit():
    memory = PairMemory(3)
    memory.carry(np.ones(3, dtype=bool), np.array([True, False, True, True]))
    memory.rescale(np.full(4, 2.0))
    assert memory.compact(2.0).rank == 0


def test_pairs_that_come_in_on_fewer_rows_count_as_padded_with_zeros():
    memory, given = filled(3)
    mask = np.arange(D) < 8
    memory.carry(mask, np.ones(mask.sum(), dtype=bool))
    padded = []
    for s, y in pairs(3, seed=1):
        s = s * mask
        y = (y + 3 * s) * mask
        padded.append((s, y))
        assert memory.push(s[mask], y[mask]) == pytest.approx(s @ y)
    # products of old pairs with new ones are those of the padded vectors too
    whole = bfgs(given + padded, 2.0)
    B = dense(memory.compact(2.0), 8)
    np.testing.assert_allclose(B, whole[np.ix_(mask, mask)], rtol=1e-7, atol=1e-8)
    assert np.linalg.eigvalsh(B).min() > 0


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_a_pair_is_refused_for_want_of_curvature_whatever_its_scale(scale):
    memory, s = PairMemory(3), np.eye(D)[0]
    across = np.eye(D)[1]
    for y in (-s, across, across + 1e-11 * s, 0 * s, s * np.nan):
        assert memory.push(scale * s, scale * y) is None
    assert len(memory) == 0
    assert memory.push(scale * s, scale * (across + 1e-9 * s)) == pytest.approx(1e-9 * scale**2)


def test_the_oldest_pair_goes_when_there_is_no_room():
    memory, given = filled(7, size=3)
    assert len(memory) == 3
    np.testing.assert_allclose(dense(memory.compact(1.0), D), bfgs(given[-3:], 1.0), rtol=1e-8)
    memory.drop_oldest()
    np.testing.assert_allclose(dense(memory.compact(1.0), D), bfgs(given[-2:], 1.0), rtol=1e-8)


def test_without_a_size_all_pairs_stay():
    memory, _ = filled(11, size=None)
    assert len(memory) == 11
    memory.clear()
    assert len(memory) == 0


def test_scaling_comes_from_the_newest_pair():
    memory, given = filled(4)
    s, y = given[-1]
    assert memory.scaling("ys/ss") == pytest.approx((y @ s) / (s @ s))
    assert memory.scaling("yy/sy") == pytest.approx((y @ y) / (s @ y))
    assert memory.scaling("y/s") == pytest.approx(np.linalg.norm(y) / np.linalg.norm(s))


def test_pairs_that_repeat_each_other_do_not_make_it_singular():
    memory, given = filled(2)
    for _ in range(3):
        memory.push(*given[-1])
    B = memory.compact(1.0)
    assert np.isfinite(B.Q_hat).all()
    assert np.linalg.eigvalsh(dense(B, D)).min() > 0


def test_matrices_show_the_inner_products():
    memory, given = filled(3)
    S, Y = (np.stack(column) for column in zip(*given, strict=True))
    shown = memory.matrices()
    np.testing.assert_allclose(shown["SS"], S @ S.T)
    np.testing.assert_allclose(shown["SY"], S @ Y.T)
    np.testing.assert_allclose(shown["YY"], (Y**2).sum(axis=1))


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("gamma", [0.5, 40.0])
def test_the_spectrum_is_that_of_the_matrix_on_the_span_of_the_pairs(k, gamma):
    memory, given = filled(k)
    U, _ = np.linalg.qr(np.array([v for pair in given for v in pair]).T)
    shown = spectrum(memory.SS, memory.SY, memory.gram(), gamma)
    np.testing.assert_allclose(shown, np.linalg.eigvalsh(U.T @ bfgs(given, gamma) @ U), rtol=1e-6)


def test_the_spectrum_on_fewer_rows_is_that_of_the_submatrix():
    memory, given = filled(2)
    mask = np.arange(D) % 4 != 0
    memory.carry(mask, np.ones(mask.sum(), dtype=bool))
    U, _ = np.linalg.qr(np.array([v[mask] for pair in given for v in pair]).T)
    shown = spectrum(memory.SS, memory.SY, memory.gram(), 3.0)
    B = bfgs(given, 3.0)[np.ix_(mask, mask)]
    np.testing.assert_allclose(shown, np.linalg.eigvalsh(U.T @ B @ U), rtol=1e-7)


def test_pairs_that_repeat_each_other_add_nothing_to_the_spectrum():
    memory, given = filled(2)
    once = spectrum(memory.SS, memory.SY, memory.gram(), 1.0)
    memory.push(3.0 * given[-1][0], 3.0 * given[-1][1])
    again = spectrum(memory.SS, memory.SY, memory.gram(), 1.0)
    assert again.size == once.size


@pytest.mark.parametrize(("limit", "value"), [("GRAM_LIMIT", 2 * 3 * D - 1), ("GRAM_PAIRS", 2)])
def test_pairs_too_long_or_too_many_are_not_multiplied_for_an_observer(monkeypatch, limit, value):
    memory, _ = filled(3)
    assert memory.gram().shape == (6, 6)
    monkeypatch.setattr(module, limit, value)
    assert memory.gram() is None
