import math

import numpy as np
import pytest

from solverscope.solvers.search.line_search import (
    INEXACT,
    OBJECTIVE_ROUNDING,
    Armijo,
    Wolfe,
    backtrack,
    decreases,
)
from solverscope.solvers.search.outcome import SearchLog, Trial


def along(phi, **params):
    """An Armijo search on a function of t that promises a decrease of 1; it leads to minus t."""
    return Armijo(**params).search(lambda t: (-t, phi(t)), SearchLog(phi(0.0)), -1.0)


def test_backtracking_tries_a_geometric_sequence_and_tells_it():
    def attempt(t):
        return Trial(f"at {t}", 10.0 * t, 3.0, t < 0.3)

    found = backtrack(attempt, SearchLog(0.0), 2.0, beta=0.5, max_trials=9)
    assert (found.point, found.t, found.trials, found.backtracked) == ("at 0.25", 0.25, 4, True)
    assert found.search.trials == [(2.0, 20.0), (1.0, 10.0), (0.5, 5.0), (0.25, 2.5)]
    assert found.search.allowed == [3.0] * 4


def test_a_first_step_that_is_taken_is_no_backtracking():
    found = backtrack(lambda t: Trial(None, 0.0, 0.0, True), SearchLog(0.0), 2.0, beta=0.5, max_trials=9)
    assert (found.t, found.trials, found.backtracked) == (2.0, 1, False)


def test_a_search_without_success_gives_no_step():
    found = backtrack(lambda t: Trial("there", 1.0, 0.0, False), SearchLog(0.0), beta=0.5, max_trials=7)
    assert (found.point, found.t, found.trials, found.backtracked) == (None, 0.0, 7, False)


def test_armijo_accepts_the_first_step_below_the_line():
    found = along(lambda t: 10 * t * t - t, beta=0.5, sigma=0.1)
    t = found.t
    assert (found.point, t, found.trials) == (-0.0625, 0.0625, 5)
    assert 10 * t * t - t <= 0.1 * t * -1.0
    assert 10 * (2 * t) ** 2 - 2 * t > 0.1 * 2 * t * -1.0
    assert found.search.allowed == [pytest.approx(-0.1 * t) for t, _ in found.search.trials]


def test_sigma_and_beta_are_obeyed():
    """φ(t) = t² - t falls by (1 - t) t: what is asked decides which t is short enough."""
    lax = along(lambda t: t * t - t, beta=0.9, sigma=0.01).t
    strict = along(lambda t: t * t - t, beta=0.9, sigma=0.5).t
    assert lax == 0.9
    assert strict == pytest.approx(0.9**7)


def test_rounding_of_the_objective_is_forgiven_and_more_is_not():
    f = 1e6
    assert decreases(f * (1 + 0.5 * OBJECTIVE_ROUNDING), f, -1e-12)
    assert not decreases(f * (1 + 3 * OBJECTIVE_ROUNDING), f, -1e-12)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_no_number_is_never_accepted(value):
    found = Armijo(0.5, 0.1).search(lambda t: (t, value), SearchLog(1.0), -1.0)
    assert (found.t, found.trials) == (0.0, 49)  # a 50th would promise less than rounding


def kinked(t):
    """|t - 3| + t²/8, and its derivative from the right."""
    return abs(t - 3.0) + t * t / 8.0, (1.0 if t >= 3.0 else -1.0) + t / 4.0


def searched(rule, first):
    log = SearchLog(kinked(0.0)[0])
    log.slope = kinked(0.0)[1]
    return rule.search(lambda t: (-t, kinked(t)[0]), lambda t: kinked(t)[1], log, first=first)


@pytest.mark.parametrize("decay", [0.0, 0.9])
@pytest.mark.parametrize("first", [0.01, 1.0, 40.0])
@pytest.mark.parametrize("c2", [0.8, 0.1])
def test_the_wolfe_conditions_hold_at_a_kink_from_any_first_step(decay, first, c2):
    found = searched(Wolfe(1e-3, c2, decay), first)
    value, slope = kinked(found.t)
    assert value <= 3.0 - 1e-3 * found.t
    assert slope >= -c2
    assert (found.point, found.kind, found.trials) == (-found.t, "wolfe", len(found.search.trials))
    assert found.search.trials[0][0] == first
    for (t, phi), allowed, seen in zip(
        found.search.trials, found.search.allowed, found.search.slopes, strict=True
    ):
        assert (phi, allowed) == (kinked(t)[0], 3.0 - 1e-3 * t)
        assert seen == kinked(t)[1] if phi <= allowed else math.isnan(seen)


def test_with_a_decay_the_search_starts_where_the_slope_has_risen_and_shrinks_the_step():
    found = searched(Wolfe(1e-3, 0.1, 0.9), 1.0)
    assert [t for t, _ in found.search.trials] == [1.0, 2.0, 4.0, 3.6]
    found = searched(Wolfe(0.3, 0.4, 0.9), 8.0)
    np.testing.assert_allclose([t for t, _ in found.search.trials], 8.0 * 0.9 ** np.arange(found.trials))
    assert found.backtracked


def test_a_ray_without_a_minimum_has_no_step_and_nor_has_one_that_rises():
    falls, rises = SearchLog(0.0), SearchLog(0.0)
    falls.slope, rises.slope = -1.0, 0.5
    assert Wolfe().search(lambda t: (t, -t), lambda t: -1.0, falls).t == math.inf
    found = Wolfe().search(lambda t: (t, t), lambda t: 1.0, rises)
    assert (found.point, found.t, found.trials, found.backtracked) == (None, 0.0, 0, False)


@pytest.mark.parametrize("beta", [0.1, 0.5, 0.9])
def test_armijo_ends_where_a_step_promises_no_more_than_rounding(beta):
    """Not after a number of trials: a step that is 1e12 times too long is no reason to give up."""
    found = along(lambda t: 1.0 + 1e12 * t * t - t, beta=beta, sigma=0.1)
    assert beta * 0.9e-12 < found.t <= 0.9e-12
    stuck = along(lambda t: 2.0 if t else 1.0, beta=beta, sigma=0.1)
    last = stuck.search.trials[-1][0]
    assert stuck.t == 0.0
    assert stuck.trials == 30 or beta * last <= OBJECTIVE_ROUNDING < last / beta


def test_the_inexact_search_is_the_one_of_the_paper():
    assert Wolfe(c1=1e-3, c2=0.8, decay=0.9) == INEXACT
    assert Wolfe() == Wolfe(c1=1e-4, c2=0.9, decay=0.0)
