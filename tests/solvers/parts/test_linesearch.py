import numpy as np
import pytest

from solvers.parts.linesearch import ROUNDING, armijo, backtrack, decreases


def test_backtracking_tries_a_geometric_sequence():
    seen = []
    t, trials = backtrack(lambda t: seen.append(t) or t < 0.3, 2.0, beta=0.5)
    assert (t, trials) == (0.25, 4)
    assert seen == [2.0, 1.0, 0.5, 0.25]


def test_a_search_without_success_gives_no_step():
    assert backtrack(lambda t: False, beta=0.5, max_trials=7) == (0.0, 7)


def test_armijo_accepts_the_first_step_below_the_line():
    t, trials = armijo(lambda t: 10 * t * t - t, 0.0, -1.0, beta=0.5, sigma=0.1)
    assert (t, trials) == (0.0625, 5)
    assert 10 * t * t - t <= 0.1 * t * -1.0
    assert 10 * (2 * t) ** 2 - 2 * t > 0.1 * 2 * t * -1.0


def test_sigma_and_beta_are_obeyed():
    """φ(t) = t² - t falls by (1 - t) t: what is asked decides which t is short enough."""
    lax, _ = armijo(lambda t: t * t - t, 0.0, -1.0, beta=0.9, sigma=0.01)
    strict, _ = armijo(lambda t: t * t - t, 0.0, -1.0, beta=0.9, sigma=0.5)
    assert lax == 0.9
    assert strict == pytest.approx(0.9**7)


def test_rounding_of_the_objective_is_forgiven_and_more_is_not():
    f = 1e6
    assert decreases(f * (1 + 0.5 * ROUNDING), f, -1e-12)
    assert not decreases(f * (1 + 3 * ROUNDING), f, -1e-12)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_no_number_is_never_accepted(value):
    assert armijo(lambda t: value, 1.0, -1.0, beta=0.5, sigma=0.1) == (0.0, 30)
