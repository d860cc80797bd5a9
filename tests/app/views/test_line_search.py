"""The line search of every solver that searches, along whatever path it does."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import solvers
from app.views import LineSearch
from app.views.cursor import Cursor
from solvers import LINE, Run, Stopping, Trace
from tests.solvers.helpers import MAKERS

#: Solvers whose searches are those of single rows of W, many in an iterate.
BY_ROWS = {"bcd-ls", "crf-bcd"}


@functools.cache
def run(id: str) -> Trace:
    """The solver's first twelve iterates on a small problem that fits it."""
    for kind, make in MAKERS.items():
        for loss in solvers.losses_for(kind):
            for penalty in ("l1", "l1-l2", "l2"):
                if id in solvers.compatible(loss=loss, penalty=penalty):
                    ratio = {"lam": 0.01} if penalty == "l2" else {"lam_ratio": 0.05}
                    problem = solvers.make_problem(make(), loss=loss, penalty=penalty, **ratio)
                    limit = Stopping(max_iter=12)
                    made = Run(problem, solvers.make_solver(id), stopping=limit, probes=(LINE,))
                    return made.execute()
    raise AssertionError(f"no problem fits {id}")


@pytest.mark.parametrize("id", list(solvers.SOLVERS))
def test_whoever_records_trials_shows_them(id):
    trace = run(id)
    searched = trace.iteration[trace.ls_trials > 0]
    view = LineSearch(trace, Cursor(run=trace, follow=False))
    assert view.has_content() == (len(searched) > 0)
    for k in searched:
        view.cursor.place(trace, int(k))
        data = view._trials.data
        row = int(np.searchsorted(trace.iteration, k))
        shown, counted = len(data["t"]), int(trace.ls_trials[row])
        assert shown <= counted if id in BY_ROWS else shown == counted
        assert (np.diff(data["t"]) < 0).all(), "a search tries shorter and shorter steps"
        allowed = view._rule.data["phi"][1:]
        order = np.argsort(data["t"])
        rounding = 1e-9 * max(1.0, abs(float(trace.objective[row])))
        refused = data["phi"][order] > np.asarray(allowed) + rounding
        assert not refused[np.argmax(data["alpha"][order])], "the one taken is below the rule"
        if id not in BY_ROWS:
            assert data["t"][-1] == pytest.approx(trace.step[row])
            seen = trace.probes.last("line", int(k))[1]
            assert trace.objective[row] == pytest.approx(float(seen["phi"][-1]), rel=1e-12)


def test_the_registry_has_solvers_that_search_along_every_kind_of_path():
    searching = {id for id in solvers.SOLVERS if (run(id).ls_trials > 0).any()}
    assert searching >= {"prox-qn", "owl-qn", "prox-gd", "fista-ls", "sparsa", "bcd-ls", "crf-bcd"}


@pytest.mark.parametrize("id", sorted(BY_ROWS))
def test_of_the_searches_of_a_pass_the_longest_is_shown_and_its_row_named(id):
    trace = run(id)
    k = int(trace.iteration[np.argmax(trace.ls_trials)])
    view = LineSearch(trace, Cursor(run=trace, iteration=k, follow=False))
    row = int(trace.probes.last("line", k)[1]["block"])
    assert 0 <= row <= trace.info["problem"]["n_features"]
    name = "transitions" if row == trace.info["problem"]["n_features"] else trace.names.feature(row)
    assert name in view._said.object
    assert "longest" in view._said.object
