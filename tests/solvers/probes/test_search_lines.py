"""The lines that searches went along, rebuilt from what the LINE probe has kept of them."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.solvers import LINE, WEIGHTS
from solverscope.solvers.probes import search_lines as lines
from tests.solvers.helpers import binary, chains


def observed(problem, id, max_iter=12, **params):
    solver = solvers.make_solver(id, **params)
    return solvers.solve(problem, solver, max_iter=max_iter, probes=(LINE, WEIGHTS))


def chain_problem():
    return solvers.make_problem(chains(), penalty="l1", lam_ratio=0.05)


def ridge_problem():
    return solvers.make_problem(binary(), penalty="l2", lam=0.01)


@pytest.mark.parametrize(("make", "id"), [(chain_problem, "prox-qn"), (ridge_problem, "owl-qn")])
def test_a_rebuilt_line_has_the_values_that_the_search_has_met(make, id):
    problem = make()
    trace = observed(problem, id)
    entries = trace.probes.entries("line")
    assert len(entries) == 12
    for _, seen in entries:
        assert seen["straight"]
        line = lines.rebuild(problem, seen)
        assert line(0.0) == pytest.approx(float(seen["start"][0]), rel=1e-12)
        for t, phi in zip(seen["t"], seen["phi"], strict=True):
            assert line(t) == pytest.approx(phi, rel=1e-12)


def test_a_line_begins_at_one_iterate_and_leads_to_the_next():
    problem = chain_problem()
    trace = observed(problem, "prox-qn")
    weights = dict(trace.probes.entries("weights"))
    for k, seen in trace.probes.entries("line"):
        line, found = lines.rebuild(problem, seen), {}
        for at in (k - 1, k):
            found[at] = np.zeros(problem.size)
            found[at][weights[at]["indices"]] = weights[at]["values"]
        np.testing.assert_allclose(line.point.w, found[k - 1], rtol=1e-12, atol=1e-15)
        assert ((line.point.w != 0.0) == (found[k - 1] != 0.0)).all()
        np.testing.assert_allclose(line.point.w + seen["t"][-1] * line.d, found[k], rtol=1e-12, atol=1e-15)


def test_the_promise_of_a_search_is_what_its_rule_asks_a_share_of():
    trace = observed(chain_problem(), "prox-qn", sigma=0.1)
    for _, seen in trace.probes.entries("line"):
        allowed = seen["start"][0] + 0.1 * seen["t"] * seen["promised"]
        np.testing.assert_allclose(seen["allowed"], allowed, rtol=1e-14)
        assert seen["promised"] < 0.0


@pytest.mark.parametrize("id", ["owl-qn", "prox-gd", "crf-bcd"])
def test_a_path_that_is_no_line_is_not_kept_as_one(id):
    trace = observed(chain_problem(), id)
    assert len(trace.probes.entries("line")) > 5
    for _, seen in trace.probes.entries("line"):
        assert not seen["straight"]
        assert "d" not in seen


def test_a_line_with_too_many_entries_or_of_too_many_weights_leaves_its_trials_alone(monkeypatch):
    problem = chain_problem()
    whole = observed(problem, "prox-qn").probes.bytes
    for name in ("MAX_LINE_WEIGHTS", "MOST_ENTRIES"):
        with monkeypatch.context() as patch:
            patch.setattr(lines, name, 3)
            trace = observed(problem, "prox-qn")
        assert trace.probes.bytes < whole
        for _, seen in trace.probes.entries("line"):
            assert seen["straight"]
            assert seen["t"].size
            assert "d" not in seen


def test_a_trace_knows_its_problem_and_does_not_keep_it():
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam_ratio=0.1)
    trace = observed(problem, "prox-qn", max_iter=2)
    assert trace.problem is problem
    del problem
    gc.collect()
    assert trace.problem is None
    assert solvers.Trace().problem is None
