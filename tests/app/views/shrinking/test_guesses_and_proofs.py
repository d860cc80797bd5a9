"""What the views tell of rules that guess and of rules that prove, on runs of newton-cd."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

from solverscope import solvers
from solverscope.app import ui
from solverscope.app.views import Shrinking
from solverscope.app.views.base.cursor import Cursor
from solverscope.app.views.base.run_events import returns
from solverscope.app.views.base.states import NONZERO, OUTSIDE_STATES, PROVED, RETURNED, SHRUNK, states
from solverscope.app.views.shrinking.why_it_left import WhyLeft, block_states
from solverscope.app.views.shrinking.why_it_left import tests as course_of
from solverscope.solvers import ACTIVE, SHRINKING, Trace
from solverscope.solvers.working_sets.rules import RULES
from tests.app.helpers import drawn, figures, said, text
from tests.solvers.helpers import multiclass
from tests.solvers.methods.test_working_sets import correlated


@cache
def problem(penalty: str = "l1") -> solvers.Problem:
    if penalty == "l1":
        return correlated(60, 40, 1, 0.99)
    return solvers.make_problem(multiclass(n=60, d=12, m=3), penalty=penalty, lam_ratio=0.2)


@cache
def run(rule: str, penalty: str = "l1") -> Trace:
    """A run whose models are solved coarsely, so that guesses fail."""
    solver = solvers.make_solver("newton-cd", rule=rule, inner=0.9, covariance_updates=False)
    return solvers.solve(problem(penalty), solver, tol=1e-10, probes=(ACTIVE, SHRINKING))


def at(trace: Trace, iteration: int = -1) -> Shrinking:
    last = int(trace.iteration[iteration])
    return Shrinking(trace, Cursor(run=trace, iteration=last, follow=False))


@pytest.mark.parametrize("rule", ["zhong", "growing", "growing-dual", "gap-safe"])
def test_what_is_proved_has_another_colour_than_what_is_guessed_and_stays_out(rule):
    trace, everyone = run(rule), np.arange(problem().size)
    before = np.zeros(everyone.size, dtype=bool)
    for k in trace.iteration.tolist():
        codes = states(trace, k, everyone)
        assert np.count_nonzero(~np.isin(codes, OUTSIDE_STATES)) == trace.working_set[k]
        proved = codes == PROVED
        assert not (before & ~proved).any(), "never back"
        before = proved
    assert before.any() == RULES[rule].needs_safe_ball
    assert not trace.w[before].any()
    guessed = any((states(trace, k, everyone) == SHRUNK).any() for k in trace.iteration.tolist())
    assert guessed == (rule != "gap-safe")
    view = at(trace)
    assert ("never back" in text(view.map)) == RULES[rule].needs_safe_ball


def test_the_map_paints_what_is_proved_and_the_hover_names_it():
    view = at(run("gap-safe")).map
    (source,) = {drawn(view.figure, "names")}
    assert (source.data["image"][0] == PROVED).any()
    args = view.figure.hover.formatters["@image"].args
    assert "proved" in args["states"][PROVED]
    assert view.figure.hover.formatters["@dw"].args["out"] == [SHRUNK, PROVED]


@pytest.mark.parametrize("rule", ["zhong", "gap-safe"])
def test_wrong_guesses_are_counted_up_to_the_cursor(rule):
    trace = run(rule)
    back = returns(trace.since(None)[0])
    assert (back.sum() > 0) == (rule != "gap-safe")
    for row in (0, len(trace) // 2, len(trace) - 1):
        count = int(back[: row + 1].sum())
        wrong = "1 wrong guess" if count == 1 else f"{ui.number(count)} wrong guesses"
        assert f"{wrong} so far" in text(at(trace, row).map)


@pytest.mark.parametrize("penalty", ["l1", "l1-l2", "sparse-group"])
@pytest.mark.parametrize("rule", ["gap-safe", "growing-dual"])
def test_the_gradient_at_the_optimum_is_within_the_ball_that_is_drawn(rule, penalty):
    """By the definition of the ball, with a gradient from a solver that goes by no rule."""
    trace, one = run(rule, penalty), problem(penalty)
    best = solvers.solve(one, solvers.make_solver("newton-cd", rule="none"), tol=1e-12).w
    width = one.design.n_outputs if penalty != "l1" else 1
    g = one.at(best).gradient().reshape(-1, width)
    if penalty == "sparse-group":  # what of λ the room leaves: ‖S(g, λρ)‖ beyond λρ, else the largest
        l1 = one.penalty.row_norms[0]
        beyond = np.linalg.norm(np.maximum(np.abs(g) - l1, 0.0), axis=1)
        size = np.where(np.abs(g).max(axis=1) <= l1, np.abs(g).max(axis=1), l1 + beyond)
    else:
        size = np.linalg.norm(g, axis=1)
    radii = []
    for _, seen in trace.probes.entries("shrinking"):
        if "radius" in seen:
            away = np.abs(seen["centre"] - size[seen["members"]])
            assert np.all(away <= seen["reach"] * (1.0 + 1e-6) + 1e-7)
            assert np.all(seen["centre"] <= seen["l1"] * (1.0 + 1e-6))
            radii.append(float(seen["radius"]))
    assert len(radii) > 3
    assert radii[-1] < 1e-3 * radii[0]


@pytest.mark.parametrize("penalty", ["l1", "l1-l2"])
def test_why_it_left_writes_the_inequality_of_a_proof_with_its_numbers(penalty):
    trace, width = run("gap-safe", penalty), 1 if penalty == "l1" else 3
    proved = np.flatnonzero(states(trace, int(trace.iteration[-1]), np.arange(trace.w.size)) == PROVED)
    for weight in proved[:6].tolist():
        course = course_of(trace, weight)
        (left,) = np.flatnonzero(np.diff(course["proved"], prepend=0.0) > 0)
        assert course["centre"][left] + course["reach"][left] < course["l1"][left]
        assert np.all(course["farthest"][:left] >= course["l1"][:left] * (1.0 - 1e-6)), "not before"
        view = WhyLeft(trace, Cursor(run=trace, iteration=0, follow=False), weight=weight)
        numbers = (course[name][left] for name in ("centre", "reach", "farthest", "l1"))
        centre, reach, farthest, l1 = map(ui.number, numbers)
        bar = "|" if width == 1 else "‖"
        told = f"{bar}xⱼᵀθ{bar} + r‖xⱼ‖ = {centre} + {reach} = {farthest} &lt; λ = {l1}"
        assert told in text(view)
        assert "xⱼᵀθ" in view.figure.yaxis[0].axis_label


@pytest.mark.parametrize("rule", [id for id in RULES if id != "none"])
def test_a_weight_leaves_by_a_guess_exactly_below_the_bound_that_is_told(rule):
    trace = run(rule)
    bounds = []
    for k, seen in trace.probes.entries("shrinking"):
        codes, g = block_states(trace, k, seen), np.abs(seen["gradient"])
        bound = float(seen["bound"])
        if np.isnan(bound):
            assert rule == "growing-dual", "which goes by the distance"
            continue
        proved = states(trace, k, seen["members"]) == PROVED
        guessed = (codes == SHRUNK) & ~proved
        np.testing.assert_array_equal(guessed, (codes != NONZERO) & ~proved & (g <= bound))
        bounds.append(bound)
    if rule == "gap-safe":
        assert set(bounds) == {-np.inf}, "it never guesses"


def test_zhongs_bound_is_lambda_minus_the_violation_before_over_n():
    trace, largest = run("zhong"), np.inf
    one = problem()
    seen_finite = 0
    for k, seen in trace.probes.entries("shrinking"):
        if "epoch-start" not in trace.events[k]:
            assert float(seen["bound"]) == pytest.approx(one.penalty.lam - largest / 60, abs=1e-15)
            seen_finite += 1
        largest = float(seen["largest"])
    assert seen_finite > 3


@pytest.mark.parametrize(
    ("rule", "told"), [("gap-safe", "proved to be zero"), ("zhong", "λ − M̂/N"), ("growing", "|g| up to")]
)
def test_the_sentence_says_how_they_left(rule, told):
    view, at_each = at(run(rule)), []
    for k in run(rule).iteration.tolist():
        view.cursor.place(run(rule), k)
        view.update()
        at_each.append(said(view))
    assert any(told in one for one in at_each)
    assert all(re.search("Iteration", one) for one in at_each)


def test_the_radius_is_drawn_for_rules_with_a_ball_alone():
    assert "sphere-radius" in figures(at(run("gap-safe")))
    assert "sphere-radius" not in figures(at(run("zhong")))
    view = at(run("gap-safe"))
    source = drawn(figures(view)["sphere-radius"], "radius")
    assert source.data["radius"][-1] < source.data["radius"][0]


def test_rows_leave_together_and_are_zero_together():
    trace = run("zhong", "l1-l2")
    for k, seen in trace.probes.entries("shrinking"):
        assert int(seen["width"]) == 3
        codes = block_states(trace, k, seen)
        weights = 3 * seen["members"][:, None] + np.arange(3)
        each = states(trace, k, weights.ravel()).reshape(-1, 3)
        assert (np.isin(each, (NONZERO, RETURNED)).any(axis=1) == (codes == NONZERO)).all()
        assert (np.isin(each, OUTSIDE_STATES).all(axis=1) == (codes == SHRUNK)).all()


def test_weights_of_a_row_share_its_test():
    trace = run("gap-safe", "l1-l2")
    first, last = course_of(trace, 6), course_of(trace, 8)
    for name in ("gradient", "centre", "reach", "proved"):
        np.testing.assert_array_equal(first[name], last[name])
