"""A run goes on from one of its iterates: with the same solver bit for bit, with others from its weights."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers import FIELDS, WEIGHTS, Interrupted, Run, Stopping, Trace
from tests.solvers.helpers import HERE, MAKERS

#: Small problems, one of which every solver takes: the first that fits.
PROBLEMS = (
    ("sequences", "chain-crf", "l1"),
    ("binary", "logistic", "l1"),
    ("multiclass", "multiclass-squared-hinge", "l1-l2"),
    ("binary", "logistic", "l2"),
    ("binary", "binary-hinge", "l2"),
    ("regression", "squared", "l1"),
    ("multitask", "multitask-squared", "l1-l2"),
    ("regression", "quantile", "l1"),
)
LAST, FROM = 14, 6
#: Fields that depend on how much time a run had: clocks, and what it measures now and then.
TIMED = {"cpu_seconds", "wall_seconds", "violation", "dual_gap"}


def fits(id):
    """The kind of labels, the loss and the penalty of the problem for a solver."""
    return next(p for p in PROBLEMS if id in solvers.compatible(p[1], p[2]))


@functools.cache
def problem_for(id):
    kind, loss, penalty = fits(id)
    known = solvers.PENALTIES[penalty].sparse and solvers.Trait.SMOOTH in solvers.LOSSES[loss].traits
    strength = {"lam_ratio": 0.02} if known else {"lam": 1e-3, "average": True}
    return solvers.make_problem(MAKERS[kind](), loss=loss, penalty=penalty, **strength)


def run(problem, solver, origin=None, **how):
    how = {"stopping": Stopping(max_iter=LAST), "probes": [WEIGHTS]} | how
    return Run(problem, solver, origin=origin, **how)


@functools.cache
def old_run(id, **params):
    return run(problem_for(id), solvers.make_solver(id, **params)).execute()


def weights(trace, iteration):
    at, seen = trace.probes.last("weights", iteration)
    assert at == iteration
    w = np.zeros(int(seen["size"]))
    w[seen["indices"]] = seen["values"]
    return w


def assert_same(branch, old, iterations):
    """Bit for bit, in all that does not depend on the time a run had, and in the weights."""
    for name in FIELDS.keys() - TIMED:
        for n in iterations:
            mine, theirs = (trace[name][trace.iteration == n][0] for trace in (branch, old))
            assert mine == theirs or (mine != mine and theirs != theirs), (name, n, mine, theirs)
    for n in iterations:
        np.testing.assert_array_equal(weights(branch, n), weights(old, n))


@pytest.mark.parametrize("id", HERE)
def test_a_branch_with_unchanged_settings_is_the_old_run_bit_for_bit(id):
    old = old_run(id)
    row = min(FROM, len(old) // 2)
    n = int(old.iteration[row])
    branch = run(problem_for(id), solvers.make_solver(id), solvers.origin_of(old, n)).execute()
    np.testing.assert_array_equal(branch.iteration, old.iteration[row:])
    assert len(branch) > 1
    assert_same(branch, old, branch.iteration)
    np.testing.assert_array_equal(branch.w, old.w)
    assert (branch.status, branch.message) == (old.status, old.message)
    assert branch.objective[-1] != old.objective[0]


OTHERS = {
    "another memory": ("prox-qn", {"memory": 1}),
    "no shrinking": ("prox-qn", {"shrinking": False}),
    "another solver": ("owl-qn", {}),
    "a solver whose iterates are observed by the run": ("sgd-l1", {"eta0": 0.1}),
}


@pytest.mark.parametrize("choice", OTHERS)
def test_a_branch_with_other_settings_begins_at_the_old_iterate_and_goes_elsewhere(choice):
    id, params = OTHERS[choice]
    old = old_run("prox-qn")
    branch = run(
        problem_for("prox-qn"), solvers.make_solver(id, **params), solvers.origin_of(old, FROM)
    ).execute()
    assert_same(branch, old, [FROM])
    np.testing.assert_array_equal(branch.iteration, np.arange(FROM, LAST + 1))
    assert branch.objective[1] != old.objective[FROM + 1]
    assert branch.objective[-1] < branch.objective[0]
    for clock in ("cpu_seconds", "wall_seconds", "passes"):
        assert branch[clock][0] == old[clock][FROM]
        assert np.all(np.diff(branch[clock]) > 0)


def test_another_solver_starts_as_it_would_from_these_weights():
    old, problem = old_run("prox-qn"), problem_for("owl-qn")
    branch = run(problem, solvers.make_solver("owl-qn"), solvers.origin_of(old, FROM)).execute()
    fresh = run(problem, solvers.make_solver("owl-qn"), w0=weights(old, FROM)).execute()
    np.testing.assert_array_equal(branch.objective[1:], fresh.objective[1 : len(branch)])


@pytest.mark.parametrize(("first", "then", "last"), [(4, 8, "prox-qn"), (4, 4, "prox-gd"), (0, 3, "owl-qn")])
def test_a_branch_of_a_branch_replays_both_also_from_what_a_file_says(first, then, last):
    problem = problem_for("prox-qn")
    middle = run(
        problem, solvers.make_solver("owl-qn"), solvers.origin_of(old_run("prox-qn"), first)
    ).execute()
    middle.info = solvers.RunInfo.of(json.loads(json.dumps(middle.info.record())))
    branch = run(problem, solvers.make_solver(last), solvers.origin_of(middle, then)).execute()
    assert_same(branch, middle, [then])
    again = run(problem, solvers.make_solver("owl-qn"), solvers.origin_of(middle, then)).execute()
    assert_same(again, middle, again.iteration)


def altered(old, **changes):
    """A trace that says something else of the iterates than the run did."""
    records = [record | changes.get(f"at_{record['iteration']}", {}) for record in old.records()]
    return Trace.from_records(records[: changes.get("rows")], **old.info.record())


def test_a_replay_that_is_not_the_old_run_says_so_and_ends():
    old, problem = old_run("prox-qn"), problem_for("prox-qn")
    wrong = altered(old, at_3={"objective": float(np.nextafter(old.objective[3], 0.0))})
    branch = run(problem, old_solver := solvers.make_solver("prox-qn"), solvers.origin_of(wrong, FROM))
    trace = branch.execute()
    assert (trace.status, len(trace)) == ("failed", 0)
    assert "the replay is not prox-qn: at iteration 3 f is" in trace.message
    assert branch.replayed == 2
    before = run(problem, old_solver, solvers.origin_of(altered(old, at_9={"objective": 0.0}), FROM))
    assert before.execute().status == old.status


def test_an_objective_that_only_the_run_knows_is_compared_as_well():
    old, problem = old_run("sgd-l1"), problem_for("sgd-l1")
    wrong = altered(old, at_6={"objective": 1.0})
    trace = run(problem, solvers.make_solver("sgd-l1"), solvers.origin_of(wrong, FROM)).execute()
    assert (trace.status, len(trace)) == ("failed", 0)
    assert "at iteration 6 f is" in trace.message


def test_a_replay_that_ends_too_early_says_so():
    old = solvers.solve(problem_for("prox-qn"), solvers.make_solver("prox-qn", tol=0.5), tol=1e-9)
    longer = Trace.from_records(
        [*old.records(), *old_run("prox-qn").records()][: len(old)], **old.info.record()
    )
    longer.append({"iteration": 50, "objective": 1.0, "cpu_seconds": 1.0, "wall_seconds": 1.0})
    trace = run(
        problem_for("prox-qn"), solvers.make_solver("owl-qn"), solvers.origin_of(longer, 50)
    ).execute()
    assert trace.status == "failed"
    assert "ended after iteration" in trace.message
    assert "iteration 50 was recorded" in trace.message


def test_a_condition_that_ended_the_old_run_does_not_end_its_branch_at_once():
    stops = Stopping(max_iter=LAST, breaks=(solvers.Condition.parse(f"iteration >= {FROM}"),))
    problem, solver = problem_for("prox-qn"), solvers.make_solver("prox-qn")
    old = run(problem, solver, stopping=stops).execute()
    assert old.iteration[-1] == FROM
    branch = run(problem, solver, solvers.origin_of(old, FROM), stopping=stops).execute()
    assert branch.iteration[-1] == LAST


class StopsAt(solvers.Gate):
    """Ends a run in the middle of its replay."""

    def __init__(self):
        self.run, self.seen = None, []

    def pulse(self):
        self.seen.append(self.run.trace.status)
        if self.run.trace.status == "replaying" and self.run.replayed >= 2:
            raise Interrupted


def test_a_replay_can_be_stopped():
    gate = StopsAt()
    gate.run = run(
        problem_for("prox-qn"),
        solvers.make_solver("prox-qn"),
        solvers.origin_of(old_run("prox-qn"), FROM),
        gate=gate,
    )
    trace = gate.run.execute()
    assert (trace.status, len(trace), gate.run.replayed) == ("stopped", 0, 2)


@pytest.mark.parametrize("id", ["prox-qn", "owl-qn"])
def test_a_replay_touches_no_more_of_the_data_than_the_old_run_up_to_there(id):
    old = old_run(id)
    branch = run(problem_for(id), solvers.make_solver(id), solvers.origin_of(old, LAST))
    branch.execute()
    assert branch.problem.passes == old.passes[-1] > 2


@pytest.mark.parametrize(
    ("iteration", "said"),
    [
        (99, "prox-qn has no record of iteration 99: it has 15 from 0 to 14, the nearest is 14"),
        (-1, "the nearest is 0"),
        (7, "f of prox-qn is not finite at iteration 7: choose an earlier one"),
    ],
)
def test_an_iterate_that_no_branch_can_leave_from_gets_one_sentence(iteration, said):
    trace = altered(old_run("prox-qn"), at_7={"objective": float("nan")})
    with pytest.raises(ValueError, match=said):
        solvers.origin_of(trace, iteration)


def test_a_run_without_iterates_or_from_other_weights_has_no_origins():
    problem, solver = problem_for("prox-qn"), solvers.make_solver("prox-qn")
    fresh = run(problem, solver)
    with pytest.raises(ValueError, match="prox-qn has no iterate yet"):
        solvers.origin_of(fresh.trace, 0)
    warm = run(problem, solver, w0=np.ones(problem.size)).execute()
    with pytest.raises(ValueError, match="did not start where its problem does"):
        solvers.origin_of(warm, 0)
    with pytest.raises(ValueError, match="leave w0 out"):
        run(problem, solver, solvers.origin_of(old_run("prox-qn"), 0), w0=np.ones(problem.size))
