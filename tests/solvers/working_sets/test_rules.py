"""Slack of a block, and what each rule makes of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solverscope.solvers.linalg.row_norms import NO_FACTORS
from solverscope.solvers.linalg.working_set import WorkingSet
from solverscope.solvers.working_sets.rules import RULES
from solverscope.solvers.working_sets.screening import (
    SafeBall,
    ScreeningContext,
    largest_violation,
    slack_of,
    weigh,
)
from tests.solvers.oracles import row_violation

STRENGTHS = [(0.7, 0.0, 0.0), (0.0, 0.7, 0.0), (0.3, 0.5, 0.0), (0.0, 0.0, 0.7)]


def context(zero, slack, *, active=None, previous=np.inf, all_remaining=True, instances=10, ball=None):
    """Blocks of one weight with these slacks, for λ = 1; ``active`` marks the working set before."""
    zero, slack = np.array(zero, dtype=bool), np.array(slack, dtype=float)
    before = None
    if active is not None:
        before = WorkingSet(np.flatnonzero(active), zero.size, 1, zero.size)
    return ScreeningContext(
        np.where(zero, 0.0, 1.0)[:, None],
        1.0 - slack[:, None],
        (1.0, 0.0, 0.0),
        previous_set=before,
        screened=WorkingSet(None, zero.size, 1, zero.size),
        previous_violation=previous,
        threshold=previous / instances,
        all_remaining=all_remaining,
        ball=ball,
    )


@pytest.mark.parametrize("strengths", STRENGTHS)
@settings(deadline=None)
@given(seed=st.integers(0, 10_000), m=st.integers(1, 6), share=st.floats(0.0, 0.999))
def test_zero_stays_optimal_while_the_gradient_moves_by_less_than_the_slack(strengths, seed, m, share):
    rng = np.random.default_rng(seed)
    g, move = rng.normal(size=m) * rng.uniform(0.01, 1.0), rng.normal(size=m)
    slack = slack_of(g, *strengths)
    optimal = row_violation(np.zeros(m), g, *strengths) <= 1e-14
    assert optimal == (slack >= -1e-14)
    if slack > 0.0:
        g = g + share * slack * move / np.linalg.norm(move)
        assert row_violation(np.zeros(m), g, *strengths) <= 1e-14


@pytest.mark.parametrize("strengths", STRENGTHS[:2])
def test_of_one_norm_the_slack_is_no_less_than_it_can_be(strengths):
    rng = np.random.default_rng(0)
    for _ in range(20):
        g = rng.normal(size=3)
        g *= 0.6 * rng.random() / np.linalg.norm(g)
        slack = slack_of(g, *strengths)
        assert slack > 0.0
        outwards = g if strengths[1] else np.sign(g) * (np.abs(g) == np.abs(g).max())
        beyond = g + 1.001 * slack * outwards / np.linalg.norm(outwards)
        assert row_violation(np.zeros(3), beyond, *strengths) > 0.0


@pytest.mark.parametrize("strengths", STRENGTHS)
@pytest.mark.parametrize("m", [1, 3])
def test_violations_are_those_of_the_optimality_conditions(strengths, m):
    rng = np.random.default_rng(1)
    W, G = rng.normal(size=(30, m)) * (rng.random((30, 1)) < 0.5), rng.normal(size=(30, m))
    slack, violation, zero = np.empty(30), np.empty(30), np.empty(30, dtype=bool)
    weigh(W, G, *strengths, NO_FACTORS, slack, violation, zero)
    if any(strengths[1:]):
        expected = [row_violation(w, g, *strengths) for w, g in zip(W, G, strict=True)]
    else:  # each weight counts alone
        single = zip(W.reshape(-1, 1), G.reshape(-1, 1), strict=True)
        expected = np.max(np.reshape([row_violation(w, g, *strengths) for w, g in single], (30, m)), axis=1)
    np.testing.assert_allclose(violation, expected, atol=1e-8)
    np.testing.assert_array_equal(zero, ~W.any(axis=1))
    assert np.all((violation[zero] > 0.0) == (slack[zero] < 0.0))
    if m == 1 and not any(strengths[1:]):
        assert largest_violation(W[:, 0], G[:, 0], strengths[0]) == violation.max()


def test_shrinking_rules_keep_what_has_less_slack_than_the_violation_before_over_n():
    look = context([1, 1, 1], [0.05, 0.2, -1.0], active=[1, 1, 1], previous=1.0)
    for id in ("zhong", "no-return", "blondel", "liblinear"):
        np.testing.assert_array_equal(RULES[id]().keeps(look), [True, False, True])
        np.testing.assert_array_equal(RULES[id]().select(look), [True, False, True])
    assert not RULES["no-return"].reactivates
    assert RULES["liblinear"].dynamic


def test_at_the_end_of_an_epoch_blondel_keeps_all_and_zhong_tests_at_once():
    look = context([1, 1, 1], [0.05, 0.2, -1.0], active=[1, 0, 1], previous=1.0)
    np.testing.assert_array_equal(RULES["zhong"]().keeps(look), [True, False, True])
    assert RULES["blondel"]().keeps(look).all()


def test_the_strong_rule_is_two_lambda_minus_the_one_before():
    """At an optimum of λ' = 1, with λ = 0.8: the most violated has |g| = λ', those below 2λ - λ' leave."""
    lam, before = 0.8, 1.0
    g = np.array([1.0, 0.7, 0.59, 0.61, 0.1])
    start = context(np.ones(5), lam - g)
    np.testing.assert_array_equal(RULES["strong"]().keeps(start), g >= 2.0 * lam - before)
    check = context(np.ones(5), [0.1, 0.1, -0.01, 0.1, 0.1], active=[1, 1, 0, 1, 0])
    np.testing.assert_array_equal(RULES["strong"]().keeps(check), [True, True, True, True, False])


def test_a_growing_set_holds_what_is_not_zero_and_as_many_again_of_the_most_violated():
    zero, slack = np.ones(60, dtype=bool), np.linspace(-1.0, 1.0, 60)
    np.testing.assert_array_equal(
        np.flatnonzero(RULES["growing"]().keeps(context(zero, slack))), np.arange(30)
    )
    zero[40:] = False
    kept = np.flatnonzero(RULES["growing"]().keeps(context(zero, slack)))
    np.testing.assert_array_equal(kept, [*range(20), *range(40, 60)])
    assert RULES["growing"]().keeps(context(zero, slack, all_remaining=False)).all()


def test_growing_by_the_dual_goes_by_distance_and_not_by_slack():
    """Slack over the length of the column: a short column is far from its constraint."""
    ball = SafeBall(np.linspace(0.1, 1.0, 50), np.linspace(0.05, 1.5, 50), 1.0, 1.0)
    kept = RULES["growing-dual"]().keeps(context(np.ones(50), ball.slack[::-1], ball=ball))
    nearest = np.argsort(ball.slack / ball.max_change)[:30]
    np.testing.assert_array_equal(np.flatnonzero(kept), np.sort(nearest))
    far = int(np.argmax(ball.slack / ball.max_change))
    violated = np.where(np.arange(50) == far, -1e-3, ball.slack[::-1])
    assert not kept[far]
    assert RULES["growing-dual"]().keeps(context(np.ones(50), violated, ball=ball))[far]


@pytest.mark.parametrize("id", RULES)
def test_only_rules_with_a_ball_prove_anything_and_they_prove_what_it_cannot_touch(id):
    ball = SafeBall(np.array([0.5, 0.5, -0.1]), np.array([0.4, 0.6, 0.1]), 1.0, 1.0)
    look = context([1, 1, 1], [0.5, 0.5, -0.1], ball=ball)
    proved = RULES[id]().proves(look)
    if RULES[id].needs_safe_ball:
        np.testing.assert_array_equal(proved, [True, False, False])
    else:
        assert proved is None
    part = context([1, 1, 1], [0.5, 0.5, -0.1], all_remaining=False)
    assert RULES[id]().proves(part) is None, "without a ball nothing"
