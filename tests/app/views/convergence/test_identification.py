"""When a run has the support of the optimum, and how far its weights are from it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from solverscope import solvers
from solverscope.app.views import Convergence
from solverscope.app.views.base.cursor import Cursor
from solverscope.app.views.convergence.identification import Aways, nearest
from solverscope.solvers import SUPPORT, WEIGHTS, Trace
from solverscope.solvers.probes import probe
from tests.app.helpers import drawn
from tests.solvers.methods.test_working_sets import correlated


@cache
def problem() -> solvers.Problem:
    return correlated(60, 30, 1, 0.9)


@cache
def runs() -> list[Trace]:
    """One that is solved well, and two on their way."""
    made = [("newton-cd", {}, 1e-11), ("fista-cst", {}, 1e-7), ("bcd-ls", {}, 1e-6)]
    return [
        solvers.solve(
            problem(), solvers.make_solver(id, **params), tol=tol, max_iter=5_000, probes=(SUPPORT, WEIGHTS)
        )
        for id, params, tol in made
    ]


def weights(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Iterations, and w at each, a row."""
    found = trace.probes.entries("weights")
    W = np.zeros((len(found), problem().size))
    for row, (_, seen) in zip(W, found, strict=True):
        row[seen["indices"]] = seen["values"]
    return np.array([k for k, _ in found]), W


def test_w_star_is_that_of_the_run_with_the_least_violation():
    assert all(nearest(trace, runs()) is runs()[0] for trace in runs())
    other = solvers.solve(
        problem().at_lam(2.0 * problem().lam), solvers.make_solver("newton-cd"), tol=1e-9, probes=(SUPPORT,)
    )
    assert nearest(other, runs()) is None, "it has another problem"
    cut = solvers.solve(problem(), solvers.make_solver("fista-cst"), max_iter=3, probes=(SUPPORT,))
    assert nearest(cut, [cut]) is None, "it has not converged"


def test_distances_and_supports_are_those_of_the_weights():
    star = runs()[0].w
    for trace in runs()[1:]:
        at, distances, differences = Aways().of(trace, runs()[0])
        iterations, W = weights(trace)
        np.testing.assert_array_equal(at, iterations)
        np.testing.assert_array_equal(differences, ((W != 0) != (star != 0)).sum(axis=1))
        expected = np.linalg.norm(W - star, axis=1) / np.linalg.norm(star)
        known = np.isfinite(distances)
        np.testing.assert_allclose(distances[known], expected[known], rtol=1e-10)
        assert known[: len(known) // 2].all()


def test_the_support_is_found_where_it_is_that_of_the_optimum_from_there_on():
    star = runs()[0].w
    for trace in runs()[1:]:
        iterations, W = weights(trace)
        same = ((W != 0) == (star != 0)).all(axis=1)
        since = Aways().identified(trace, runs()[0])
        row = np.flatnonzero(iterations == since)[0]
        assert same[row:].all()
        assert row > 0
        assert not same[row - 1]
    early = solvers.solve(problem(), solvers.make_solver("fista-cst"), max_iter=5, probes=(SUPPORT,))
    assert Aways().identified(early, runs()[0]) is None, "not yet"


@pytest.mark.parametrize("measure", ["weights", "support"])
def test_the_measures_are_drawn_and_the_place_is_marked(measure):
    view = Convergence(
        runs(), Cursor(run=runs()[1], iteration=2, follow=False), measure=measure, x="iteration"
    )
    assert view.scale == ("linear" if measure == "support" else "log")
    assert view.figure.yaxis[0].axis_label.startswith("weights" if measure == "support" else "‖w")
    (diamonds,) = (
        glyph for glyph in view.figure.renderers if getattr(glyph.glyph, "marker", "") == "diamond"
    )
    found = [Aways().identified(trace, runs()[0]) for trace in runs()]
    assert diamonds.data_source.data["x"] == found
    curve = next(iter(view.curves.values()))
    assert np.isfinite(curve.feed.source.data["y"]).any()
    view.measure = "relative"
    assert diamonds.data_source.data["x"] == []


def test_until_a_run_has_converged_nothing_is_drawn():
    early = solvers.solve(problem(), solvers.make_solver("fista-cst"), max_iter=5, probes=(SUPPORT,))
    view = Convergence(early, measure="weights", x="iteration")
    assert not np.isfinite(drawn(view.figure, "iteration", "y").data["y"]).any()


def test_weights_of_an_iterate_that_is_not_sparse_are_not_kept(monkeypatch):
    monkeypatch.setattr(probe, "MAX_SUPPORT_WEIGHTS", 3)
    trace = solvers.solve(problem(), solvers.make_solver("fista-cst"), max_iter=20, probes=(SUPPORT, WEIGHTS))
    kept = set(trace.probes.iterations("support"))
    for k, seen in trace.probes.entries("weights"):
        assert (k in kept) == (seen["indices"].size <= 3)
