"""Weights that move in groups: their clusters, what becomes of these, and whose weights are looked at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solverscope import solvers
from solverscope.app.papers import Exhibit, groups, papers
from solverscope.app.papers.claims import NO_WEIGHTS, Claim
from solverscope.app.papers.drawing import ExhibitOutcome, groups_of_weights
from solverscope.app.papers.groups import GroupWatch
from solverscope.app.papers.measures import cases
from solverscope.app.sweep.spec import Spec
from tests.app.papers import made

WATCH = GroupWatch(size=10, at=(5, 20, 60), later=20)


def moving(crossing=0):
    """Twenty weights that go up and twenty that go down, and some of the first change sides at 30."""
    t = np.arange(101.0)[:, None]
    noise = 1e-3 * np.random.default_rng(0).normal(size=40)
    W = np.where(np.arange(40) < 20, 1.0, -1.0) * t * (1.0 + noise)
    W[30:, :crossing] *= -1.0
    return W


def test_what_moves_together_is_one_cluster_and_stays_one():
    found = groups.groups(moving(), replace(WATCH, size=20))
    assert [(row.t, row.clusters) for row in found.rows] == [(5, 2), (20, 2), (60, 2)]
    assert found.inside < 1e-4
    assert found.stays < 1e-4
    assert found.crossed == 0.0


def test_weights_that_change_sides_cross_over_and_clusters_fall_apart():
    found = groups.groups(moving(crossing=5), replace(WATCH, size=20))
    assert [row.crossed for row in found.rows] == [0.0, 5 / 40, 0.0]
    assert found.inside < 1e-4 < 0.1 < found.stays


def test_iterates_that_a_run_did_not_come_to_are_left_out():
    assert [row.t for row in groups.groups(moving()[:40], WATCH).rows] == [5, 20]
    none = groups.groups(moving()[:3], WATCH)
    assert (none.inside, none.stays, none.crossed) == (None, None, None)


def test_weights_are_those_of_the_run():
    given = {"data": "breast-cancer", "loss": "logistic", "penalty": "l2", "lam": 0.01, "solvers": ["bfgs"]}
    (cell,) = Spec.of(given).cells
    found = groups.of_run(cell, replace(WATCH, size=5), 30)
    problem = cell.problem.make(cell.problem.load())
    w = solvers.solve(problem, solvers.make_solver("bfgs"), max_iter=30).w
    assert found.W.shape == (31, 30)
    np.testing.assert_allclose(found.W[-1], w, rtol=1e-6)
    few = groups.of_run(cell, replace(WATCH, size=5, most=7), 30)
    np.testing.assert_array_equal(np.sort(few.W[-1]), np.sort(found.W[-1, np.argsort(-np.abs(w))[:7]]))


def test_of_a_chain_the_emissions_of_one_label_are_looked_at():
    given = {"data": "digit-strings,n_samples=30", "penalty": "l2", "lam": 0.1, "solvers": ["lbfgs"]}
    (cell,) = Spec.of(given).cells
    problem = cell.problem.make(cell.problem.load())
    name = list(problem.names.outputs)[3]
    found = groups.of_run(cell, replace(WATCH, output=name, most=3000), 10)
    emissions, _ = problem.unpack(solvers.solve(problem, solvers.make_solver("lbfgs"), max_iter=10).w)
    np.testing.assert_allclose(found.W[-1], emissions[:, 3], rtol=1e-5, atol=1e-7)


def test_claims_on_weights_are_judged_where_these_were_looked_at():
    claim = Claim.of(
        {"text": "they move in groups.", "lies": {"runs": ["a"], "field": "inside", "below": 0.1}}
    )
    run = made.run("a", [2.0, 1.0])
    assert claim.judge(cases([run])).numbers == (NO_WEIGHTS,)
    seen = replace(run, groups=groups.groups(moving(), WATCH))
    assert claim.judge(cases([seen])).word == "seen"


def test_runs_on_different_data_are_compared_across_them():
    less = {"first": ["b"], "than": ["a"], "field": "crossed", "more": True, "across": True}
    claim = Claim.of({"text": "more cross over in b.", "less": less})
    few = replace(made.run("a", [1.0]), groups=groups.groups(moving(), replace(WATCH, size=20)))
    many = replace(
        made.run("b", [1.0], data="w8a"), groups=groups.groups(moving(crossing=5), replace(WATCH, size=20))
    )
    verdict = claim.judge(cases([few, many]))
    assert (verdict.word, verdict.numbers) == ("seen", ("a9a, λ = 0.0001, w8a, λ = 0.0001: 0.04167 / 0",))


def test_lines_and_clusters_are_drawn():
    exhibit = papers()["mathur2006"].exhibit("figure-2")
    run = replace(made.run("bfgs", [2.0, 1.0], data="reuters"), groups=groups.groups(moving(), WATCH))
    run = replace(run, record={**run.record, "problem": {"n_samples": 7_775}})
    outcome = ExhibitOutcome.of(exhibit, [run])
    (section,) = groups_of_weights(outcome.cases)
    assert section.heading == "reuters, λ = 0.0001, bfgs: weights"
    lines = [line for r in section.figure.renderers for line in r.data_source.data["ys"]]
    assert len(lines) == 40
    assert [verdict.word for verdict in outcome.verdicts] == ["seen"]


@pytest.mark.parametrize("id", ["figure-2", "figure-3", "figure-10", "figure-11"])
def test_weights_of_the_figures_are_looked_at(id):
    exhibit = papers()["mathur2006"].exhibit(id)
    assert isinstance(exhibit, Exhibit)
    assert exhibit.weights is not None
    assert exhibit.claims
