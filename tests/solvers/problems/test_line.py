"""φ(t) = f(w + t d): slopes, breakpoints and the searches that use them, for every loss that gives them."""

from dataclasses import dataclass

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.search.line_search import Armijo, Exact, Wolfe
from tests.solvers.helpers import MAKERS, chains, losses_with, slopes_after

KINKED, SMOOTH = losses_with(solvers.Trait.DIRECTIONAL_DERIVATIVE), losses_with(solvers.Trait.SMOOTH)


def line(kind, loss, penalty="l2", seed=0, **options):
    """A random direction along which f falls, from a random point."""
    lam = None if penalty == "none" else 0.01
    problem = solvers.make_problem(MAKERS[kind](**options), loss=loss, penalty=penalty, lam=lam, average=True)
    rng = np.random.default_rng(seed)
    point = problem.at(rng.normal(size=problem.size))
    d = rng.normal(size=problem.size)
    return problem.line(point, d if point.gradient() @ d < 0.0 else -d)


@pytest.mark.parametrize(("kind", "loss"), KINKED)
def test_the_slope_rises_by_the_jump_at_each_breakpoint_and_is_straight_in_between(kind, loss):
    phi = line(kind, loss)
    marks = phi.breakpoints()
    assert marks.t.size > 20
    assert (np.diff(marks.t) >= 0.0).all()
    assert (marks.jump > 0.0).all()
    assert phi.slope() == pytest.approx(marks.slope, rel=1e-12)
    middles = 0.5 * (marks.t[1:] + marks.t[:-1])
    wide = np.diff(marks.t) > 1e-6
    after = slopes_after(marks)
    expected = after[:-1] + marks.curvature * (middles - marks.t[:-1])
    for t, slope in zip(middles[wide], expected[wide], strict=True):
        assert phi.slope(t) == pytest.approx(slope, rel=1e-9, abs=1e-11)
        assert phi.slope(t, -1) == pytest.approx(slope, rel=1e-9, abs=1e-11)
    beyond = marks.t[-1] + 1.0
    assert phi.slope(beyond) == pytest.approx(after[-1] + marks.curvature, rel=1e-9)


@pytest.mark.parametrize(("kind", "loss"), KINKED)
@pytest.mark.parametrize("penalty", ["l2", "none"])
@pytest.mark.parametrize("seed", range(5))
def test_an_exact_step_is_no_higher_than_any_breakpoint_or_segment(kind, loss, penalty, seed):
    phi = line(kind, loss, penalty, seed)
    marks = phi.breakpoints()
    values = [phi(t) for t in marks.t]
    found = phi.exact()
    assert found.kind == "exact"
    if found.t == np.inf:
        assert penalty == "none"
        assert slopes_after(marks)[-1] < 0.0
        assert found.point is phi.point
        return
    assert found.point.objective <= min(values) + 1e-12
    assert phi.problem.at(found.point.w).objective == pytest.approx(found.point.objective, rel=1e-11)
    assert found.search.segment[0] <= found.t <= found.search.segment[1]
    assert found.search.trials == [(found.t, found.point.objective)]


@pytest.mark.parametrize(("kind", "loss"), KINKED)
def test_after_an_exact_step_the_kink_is_met_exactly_and_the_gradient_is_the_steepest(kind, loss):
    phi = line(kind, loss, "none", seed=1)
    found = phi.exact(Exact(to_last_kink=True))
    assert 0.0 < found.t < np.inf
    on = phi.problem.line(found.point, phi.d)
    assert on.slope(0.0, 1) - on.slope(0.0, -1) > 1e-6, "the breakpoint that the search met"
    assert found.point.gradient() @ phi.d == pytest.approx(on.slope(), rel=1e-10, abs=1e-13)
    sup = on.problem.loss.subgradient_sup(on.point.scores, on.delta)
    np.testing.assert_allclose(on.point.adjoint_gradient(sup), found.point.gradient(), atol=1e-14)
    again = on.exact(Exact(to_last_kink=True))
    assert again.t == 0.0 or again.t > 1e-9, "the same kink is not met once more"


@pytest.mark.parametrize(("kind", "loss"), KINKED + SMOOTH)
def test_searches_leave_where_f_rises(kind, loss):
    phi = line(kind, loss)
    up = phi.problem.line(phi.point, -phi.d)
    assert up.slope() > 0.0
    w = phi.point.w.copy()
    for found in (up.exact(), up.wolfe(Wolfe())):
        assert (found.t, found.point) == (0.0, up.point)
        np.testing.assert_array_equal(found.point.w, w)


@pytest.mark.parametrize(("kind", "loss"), KINKED + SMOOTH)
@pytest.mark.parametrize("decay", [0.0, 0.9])
def test_the_wolfe_conditions_hold_at_the_step_found(kind, loss, decay):
    phi = line(kind, loss)
    f, start = phi.point.objective, phi.slope()
    found = phi.wolfe(Wolfe(1e-3, 0.8, decay))
    assert found.point.objective <= f + 1e-3 * found.t * start
    assert found.point.gradient() @ phi.d >= 0.8 * start
    assert found.search.trials[-1] == (found.t, pytest.approx(found.point.objective, rel=1e-12))
    fresh = phi.problem.at(found.point.w)
    assert found.point.objective == pytest.approx(fresh.objective, rel=1e-12)
    if phi.problem.smooth:
        np.testing.assert_allclose(found.point.gradient(), fresh.gradient(), atol=1e-12)


@pytest.mark.parametrize(("kind", "loss"), SMOOTH)
def test_an_exact_step_of_a_smooth_loss_has_no_slope(kind, loss):
    phi = line(kind, loss)
    start = phi.slope()
    found = phi.exact()
    assert abs(found.point.gradient() @ phi.d) <= 1e-9 * abs(start)
    assert len(found.search.slopes) == found.trials


@pytest.mark.parametrize("penalty", solvers.PENALTIES)
@pytest.mark.parametrize("t", [0.0, 0.3])
def test_the_slope_knows_the_kinks_of_the_penalty(penalty, t):
    rng = np.random.default_rng(0)
    lam = None if penalty == "none" else 0.3
    problem = solvers.make_problem(
        MAKERS["multiclass"](), loss="multiclass-logistic", penalty=penalty, lam=lam
    )
    w, d = rng.normal(size=problem.size), rng.normal(size=problem.size)
    W = w.reshape(-1, problem.design.n_outputs)
    W[::3] = 0.0
    W[1, 0] = 0.0
    W[4] = [-2.0, 2.0] + [0.5] * (W.shape[1] - 2)
    phi = problem.line(problem.at(w - t * d), d)
    for side in (1, -1):
        difference = (phi(t + side * 1e-7) - phi(t)) * side * 1e7
        assert phi.slope(t, side) == pytest.approx(difference, rel=1e-4, abs=1e-5)


def test_a_run_can_stop_between_any_two_chunks_of_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100_000, 2)), rng.choice([-1, 1], 100_000)
    problem, calls = solvers.make_problem(X, y, loss="binary-hinge", penalty="l2", lam=1e-4), []
    mine = problem.with_pulse(lambda: calls.append(None))
    point = mine.at(np.array([1.0, -1.0]))
    line = mine.line(point, -point.gradient())
    for work in (line.breakpoints, line.slope, lambda: mine.loss.settle(point.scores)):
        calls.clear()
        work()
        assert len(calls) >= 3, "100,000 rows are four chunks"


def test_the_step_tried_first_brings_its_residual_along(monkeypatch):
    problem = solvers.make_problem(chains(), lam_ratio=0.1)
    calls, loss = [], type(problem.loss)
    for name in ("value", "residual", "value_and_residual"):
        plain = getattr(loss, name)
        monkeypatch.setattr(loss, name, lambda *a, plain=plain, name=name: calls.append(name) or plain(*a))
    point = problem.at()
    g = point.gradient()
    calls.clear()
    found = problem.line(point, -1e-3 * g).armijo(-1e-3 * g @ g, Armijo(0.5, 0.01))
    assert found.t == 1.0
    there = found.point.gradient()
    assert calls == ["value_and_residual"]
    np.testing.assert_allclose(there, problem.at(found.point.w.copy()).gradient(), rtol=0, atol=1e-10)


@dataclass(frozen=True)
class Length(solvers.Penalty):
    """λ‖w‖ of all weights: it has a kink at zero, and does not separate."""

    id, name, summary, sparse = "length", "Length", "λ‖w‖", True
    traits = solvers.Trait.PROX

    def value(self, w):
        return self.lam * float(np.linalg.norm(w))

    def slope(self, w, d, side=1):
        length = np.linalg.norm(w)
        return self.lam * float(w @ d / length if length else side * np.linalg.norm(d))


def test_an_exact_step_counts_a_penalty_that_does_not_separate(registries):
    solvers.register(Length)
    problem = solvers.make_problem(MAKERS["binary"](), loss="binary-hinge", penalty="length", lam=0.05)
    d = -problem.at().gradient()
    found = problem.line(problem.at(), d).exact()
    values = [problem.at(t * d).objective for t in np.linspace(0.0, 2.0 * found.t, 401)]
    assert not problem.penalty.smooth
    assert found.t > 0.0
    assert found.point.objective <= min(values) + 1e-12
