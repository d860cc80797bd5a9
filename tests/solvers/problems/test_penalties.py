import numpy as np
import pytest

from solverscope.solvers.problems.penalties import L1, L2, ElasticNet, NoPenalty, soft_threshold

PENALTIES = [NoPenalty(), L2(0.7), L1(0.7), ElasticNet(0.7, rho=0.3), ElasticNet(0.7, rho=1.0)]
by_name = pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: f"{p.id}-{getattr(p, 'rho', '')}")


@by_name
def test_value_is_the_formula_of_the_contract(penalty):
    w = np.array([1.5, -2.0, 0.0, 0.25])
    l1, l2 = np.abs(w).sum(), 0.5 * w @ w
    expected = {
        "none": 0.0,
        "l2": 0.7 * l2,
        "l1": 0.7 * l1,
        "elastic-net": 0.7 * (getattr(penalty, "rho", 0) * l1 + (1 - getattr(penalty, "rho", 0)) * l2),
    }
    assert penalty.value(w) == pytest.approx(expected[penalty.id], rel=1e-14)


@by_name
@pytest.mark.parametrize("step", [0.1, 2.0])
def test_prox_is_the_minimum_over_a_grid(penalty, step):
    """The part with kinks only: the ridge belongs to the smooth part."""
    grid = np.linspace(-4, 4, 80_001)
    for v in (-2.3, -0.07, 0.0, 0.5, 1.9):
        best = grid[np.argmin(0.5 * (grid - v) ** 2 + step * penalty.l1 * np.abs(grid))]
        assert penalty.prox(np.array([v]), step)[0] == pytest.approx(best, abs=1e-4)


def test_prox_gives_exact_zeros_without_a_sign():
    out = soft_threshold(np.array([0.3, -0.3, -0.0, 0.5, -0.5]), 0.5)
    assert out.tolist() == [0.0] * 5
    assert not np.signbit(out).any()


def test_violation_of_no_weights_is_zero():
    assert L1(1.0).violation(np.zeros(0), np.zeros(0)) == 0.0


@pytest.mark.parametrize("penalty", [NoPenalty(), L2(1.0)], ids=lambda p: p.id)
def test_smooth_penalties_have_no_lam_max(penalty):
    assert penalty.lam_max(np.ones(3)) is None


def test_another_strength_keeps_the_other_parameters():
    penalty = ElasticNet(1.0, rho=0.25).at_lam(8.0)
    assert (penalty.l1, penalty.ridge) == (2.0, 6.0)


@pytest.mark.parametrize("rho", [0.0, 1.5, "much"])
def test_a_share_outside_its_range_is_refused_in_one_sentence(rho):
    with pytest.raises(ValueError, match=f"rho={rho}: rho must be a number above 0 to 1"):
        ElasticNet(1.0, rho=rho)


def test_a_ridge_over_weights_that_stand_for_several_is_that_over_all_of_them():
    rng = np.random.default_rng(0)
    times = np.array([3.0, 1.0, 2.0])
    place = np.repeat(np.arange(3), times.astype(int))
    gamma, d = rng.normal(size=3), rng.normal(size=3)
    for penalty in (L2(lam=0.7), NoPenalty()):
        few, all_ = penalty.repeated(times), penalty
        assert few.value(gamma) == pytest.approx(all_.value(gamma[place]))
        assert few.slope(gamma, d) == pytest.approx(all_.slope(gamma[place], d[place]))
        sums = np.bincount(place, all_.ridge_gradient(gamma[place]))
        assert few.ridge_gradient(gamma) == pytest.approx(sums)
        assert few.ridge_product(gamma, d) == pytest.approx(all_.ridge_product(gamma[place], d[place]))
        parts = [few.on(slice(0, 2)).value(gamma[:2]), few.on(np.array([2])).value(gamma[2:])]
        assert sum(parts) == pytest.approx(few.value(gamma))
    assert L2(lam=1.0).on(slice(0, 1)) == L2(lam=1.0)


def test_a_penalty_with_kinks_counts_no_weight_several_times():
    with pytest.raises(TypeError, match="elastic-net has kinks"):
        ElasticNet(lam=1.0).repeated(np.ones(3))
