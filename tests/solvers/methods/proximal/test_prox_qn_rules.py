"""Prox-QN on the working sets of other rules than the paper's."""

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.working_sets.rules import RULES
from tests.solvers.helpers import MAKERS, problem_of
from tests.solvers.oracles import Oracle

OTHERS = [id for id in RULES if id not in ("zhong", "liblinear", "no-return")]


def solve(problem, tol=1e-9, **params):
    return solvers.solve(problem, solvers.make_solver("prox-qn", **params), tol=tol, max_iter=3_000)


@pytest.mark.parametrize("rule", OTHERS)
@pytest.mark.parametrize("penalty", ["l1", "elastic-net"])
@pytest.mark.parametrize("kind", ["binary", "multiclass", "sequences"])
def test_every_rule_leads_to_the_same_optimum(kind, penalty, rule):
    data = MAKERS[kind](d=60)
    problem = problem_of(data, penalty=penalty)
    found, best = solve(problem, rule=rule), solve(problem)
    assert found.status == best.status == "converged"
    assert found.result["objective"] == pytest.approx(best.result["objective"], rel=1e-12)
    oracle = Oracle(data, data.loss, penalty, problem.lam, problem.average)
    assert oracle.violation(found.w) <= 1.1e-9 * oracle.violation(np.zeros_like(found.w))


def test_without_a_rule_all_weights_stay_and_the_iterates_are_those_without_shrinking():
    problem = problem_of("sequences", d=60)
    none, plain = solve(problem, rule="none"), solve(problem, shrinking=False)
    assert set(none.working_set) == {problem.size}
    np.testing.assert_array_equal(none.objective, plain.objective)
    for field in ("gamma", "curvature", "memory_pairs", "inner_iterations", "step"):
        np.testing.assert_array_equal(getattr(none, field), getattr(plain, field))


def test_pairs_are_kept_while_the_set_shrinks_and_without_keep_pairs_cleared_where_a_weight_is_new():
    problem = problem_of("sequences", d=200)
    safe, growing = solve(problem, rule="gap-safe"), solve(problem, rule="growing", keep_pairs=False)
    assert safe.working_set[-1] < safe.working_set[0]
    assert all(np.diff(safe.working_set) <= 0)
    assert all(np.diff(safe.memory_pairs) >= 0)
    assert safe.memory_pairs[-1] > 5
    cleared = np.array(["memory-cleared" in events for events in growing.events])
    assert cleared[np.diff(growing.working_set, prepend=growing.working_set[0]) > 0].all()
    assert cleared.any()
    assert set(growing.memory_pairs[cleared]) == {0}


def test_pairs_outlive_the_growth_of_the_set():
    kept = solve(problem_of("sequences", d=200), rule="growing", memory=30)
    grown = np.flatnonzero(np.diff(kept.working_set) > 0) + 1
    assert grown.size > 0
    assert not any("memory-cleared" in events for events in kept.events)
    assert (kept.memory_pairs[grown] >= kept.memory_pairs[grown - 1]).all()


def test_what_is_left_out_without_return_is_said():
    lost = solve(problem_of("sequences", d=60), rule="no-return")
    assert lost.status in ("converged", "stalled")
    assert "over all weights" in lost.message


def test_a_warm_up_runs_before_any_rule():
    problem = problem_of("sequences", n=120, d=60)
    ahead, alone = solve(problem, rule="growing", start="samples"), solve(problem, rule="growing")
    assert ahead.phase[0].startswith("prox-qn of 1/4")
    assert list(ahead.iteration) == list(range(len(ahead)))
    assert all(np.diff(ahead.epoch) >= 0)
    assert ahead.result["objective"] == pytest.approx(alone.result["objective"], rel=1e-12)


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"rule": "liblinear"}, "rule=liblinear would clear the pairs before each step: choose another rule"),
        ({"rule": "growing", "shrinking": False}, "rule=none and no-return do what"),
        ({"rule": "growing", "look_back": False}, "rule=none and no-return do what"),
    ],
)
def test_what_does_not_go_together_is_refused_in_a_sentence(params, told):
    assert told in solvers.make_solver("prox-qn", **params).refuses(problem_of("binary"))


def test_a_rule_by_the_dual_needs_a_penalty_that_sets_weights_to_zero():
    solver = solvers.make_solver("prox-qn", rule="gap-safe")
    assert "l2 does not" in solver.refuses(problem_of("binary", penalty="l2"))
