"""Relays: legs in turn, on samples and on all, as one run."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers import Run, Stopping, parse_legs
from solverscope.solvers.linalg.design import Design
from tests.solvers.helpers import MAKERS

LEGS = "sgd-l1,eta0=0.1 until iteration >= 2 then prox-qn of 1/2 until iteration >= 3 then prox-qn"


def problem(kind="binary", **how):
    return solvers.make_problem(MAKERS[kind](), penalty="l1", **(how or {"lam_ratio": 0.02}))


def relay(legs=LEGS, **params):
    return solvers.make_solver("relay", legs=legs, **params)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "sequences"])
def test_a_relay_ends_at_the_optimum_that_its_last_solver_finds_alone(kind):
    alone = solvers.solve(problem(kind), solvers.make_solver("prox-qn"), tol=1e-9)
    trace = solvers.solve(problem(kind), relay(), tol=1e-9)
    assert trace.status == alone.status == "converged"
    assert trace.objective[-1] == pytest.approx(alone.objective[-1], rel=1e-12)


def test_iterates_number_on_and_name_their_leg():
    trace = Run(problem(), relay()).execute()
    assert trace.iteration.tolist() == list(range(len(trace)))
    names = trace["phase"].tolist()
    assert names[:6] == ["sgd-l1"] * 3 + ["prox-qn of 1/2"] * 3
    assert set(names[6:]) == {"prox-qn"}
    epochs = trace["epoch"][trace["epoch"] >= 0]
    assert all(a <= b for a, b in pairwise(epochs))


def test_a_leg_starts_where_the_one_before_handed_over():
    """By hand: two passes of SGD, then Prox-QN from there."""
    first = solvers.solve(problem(), solvers.make_solver("sgd-l1", eta0=0.1), max_iter=2)
    then = Run(problem(), solvers.make_solver("prox-qn"), w0=first.w, stopping=Stopping(max_iter=5)).execute()
    trace = Run(
        problem(), relay("sgd-l1,eta0=0.1 until iteration >= 2 then prox-qn"), stopping=Stopping(max_iter=7)
    ).execute()
    assert trace.objective[:3].tolist() == first.objective.tolist()
    assert trace.objective[3:].tolist() == then.objective[1:].tolist()


def test_on_a_sample_the_record_has_the_objective_of_all_instances():
    whole = problem()
    legs = "prox-gd of 1/4 until iteration >= 4 then prox-qn"
    for iterate in relay(legs).iterate(whole):
        if iterate.iteration in (1, 4):
            assert "point" not in iterate.live
            assert np.isnan(iterate.objective)
    trace = Run(whole, relay(legs), probes=[solvers.WEIGHTS], stopping=Stopping(max_iter=4)).execute()
    assert trace.objective[-1] == pytest.approx(whole.at(trace.w).objective, rel=1e-12)


def test_passes_count_what_a_sample_touches():
    passes = Run(
        problem(), relay("prox-gd of 1/4 until iteration >= 8 then prox-qn"), stopping=Stopping(max_iter=8)
    ).execute()["passes"]
    alone = Run(problem(), solvers.make_solver("prox-gd"), stopping=Stopping(max_iter=8)).execute()["passes"]
    assert 0.0 < passes[-1] - passes[0] < 0.5 * alone[-1]


def test_a_relay_is_replayed_bit_for_bit_through_all_its_legs():
    old = Run(problem("sequences"), relay(), stopping=Stopping(max_iter=12)).execute()
    for at in (1, 4, 8):
        branch = Run(
            problem("sequences"), relay(), origin=solvers.origin_of(old, at), stopping=Stopping(max_iter=12)
        ).execute()
        assert branch.objective.tolist() == old.objective[at:].tolist()


def test_a_rule_may_read_what_a_solver_does_not_know():
    trace = Run(
        problem(), relay("sgd-l1,eta0=0.1 until objective < 0.9 * prev.objective then prox-qn")
    ).execute()
    f = trace.objective
    handed = trace["phase"].tolist().index("prox-qn") - 1
    falls = [n for n in range(1, len(f)) if f[n] < 0.9 * f[n - 1]]
    assert handed == falls[0]


def test_larger_samples_of_a_seed_hold_the_smaller_ones_and_have_lam_in_proportion():
    whole = problem(lam=2.0, average=False)
    some, more = (whole.sample(share, seed=3) for share in (0.25, 0.5))
    n = whole.loss.n_instances
    assert some.loss.n_instances == round(n / 4)
    assert some.lam == 2.0 * some.loss.n_instances / n
    rows = {tuple(row) for row in dense(more.design)}
    assert all(tuple(row) in rows for row in dense(some.design))
    assert whole.sample(0.25, seed=4).at(None).gradient().tolist() != some.at(None).gradient().tolist()
    averaged = problem(lam=0.1, average=True)
    assert averaged.sample(0.25).lam == 0.1


def dense(design):
    """X, a column at a time."""
    X = np.zeros((design.n_rows, design.n_features))
    for j in range(design.n_features):
        rows, values = design.column(j)
        X[rows, j] = values
    return X


def test_rows_taken_out_of_a_design_are_its_rows(monkeypatch):
    monkeypatch.setattr("solverscope.solvers.linalg.storage.rows_of_block", lambda *sizes: 7)
    rng = np.random.default_rng(0)
    for X in (rng.normal(size=(40, 6)), (rng.random((40, 6)) < 0.4).astype(float)):
        rows = np.sort(rng.permutation(40)[:17])
        taken = Design(X, 2).take(rows)
        assert dense(taken).tolist() == X[rows].tolist()


@pytest.mark.parametrize(
    ("legs", "said"),
    [
        ("prox-qn then lbfgs", "prox-qn never hands over: write prox-qn until iteration >= 15 then"),
        ("prox-qn until iteration >= 3", "the last leg runs to the end"),
        ("prox-qn of 1/4", "the last leg runs to the end on all instances"),
        ("prox-qn until cpu_seconds > 1 then prox-qn", "depends on the clock, and a relay is replayed"),
        ("prox-qn of 5/4 until iteration >= 1 then prox-qn", "'5/4' is not a share of the instances"),
        ("prox-qn of half until iteration >= 1 then prox-qn", "'half' is not a share of the instances"),
        ("newton until iteration >= 1 then prox-qn", "there is no solver 'newton'"),
        ("relay until iteration >= 1 then prox-qn", "a relay cannot be a leg of a relay"),
        ("prox-qn until later then prox-qn", "'later' is no condition to break at"),
        ("prox-qn,memory=x until iteration >= 1 then prox-qn", "memory must be"),
    ],
)
def test_legs_that_cannot_be_run_get_one_sentence(legs, said):
    with pytest.raises(ValueError, match=said):
        parse_legs(legs)
    with pytest.raises(ValueError, match=said):
        relay(legs)


def test_a_relay_with_a_leg_that_does_not_fit_the_problem_is_refused():
    hinge = solvers.make_problem(MAKERS["binary"](), loss="binary-hinge", penalty="l2", lam=0.1)
    assert relay("sublbfgs until iteration >= 3 then ocas").refuses(hinge) is None
    assert relay().refuses(hinge).startswith("sgd-l1 needs")


def test_a_leg_that_fails_ends_the_relay_with_its_reason():
    trace = Run(problem(), relay("sgd-l1,eta0=1e308 until iteration >= 3 then prox-qn")).execute()
    assert trace.status == "failed"
    assert "diverged" in trace.message


def test_without_legs_it_begins_on_samples_that_are_large_enough():
    few = problem()
    assert few.loss.n_instances < 480
    names = [leg.name for leg in solvers.make_solver("relay").chosen(few)]
    assert names[-1] == "prox-qn"
    assert "prox-qn of 1/16" not in names
    many = solvers.make_problem(MAKERS["binary"](n=500), penalty="l1", lam=0.1)
    assert [leg.name for leg in solvers.make_solver("relay").chosen(many)] == [
        *("prox-qn of 1/16", "prox-qn of 1/4", "prox-qn"),
    ]
