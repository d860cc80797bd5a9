"""λ is changed while a run is at work: it goes on from its weights, and what it records stays true."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers import Stopping, Trace
from solverscope.solvers.traces.reading import read
from solverscope.solvers.traces.segments import about_at, segments, update_f_stars
from solverscope.solvers.traces.trace import lines
from tests.solvers.helpers import HERE, Dial, binary
from tests.solvers.runs.test_branch import assert_same, fits, problem_for, run

#: Solvers whose problem has an ℓ1, ℓ2 or ℓ1/ℓ2 penalty with a λ, and that can start from weights of another.
TURNED = [id for id in HERE if solvers.SOLVERS[id].takes_start and solvers.PENALTIES[fits(id)[2]].takes_lam]
#: This one is at the optimum before the change.
TURNED = [id for id in TURNED if id != "skglm-multitask-lasso"]
AT = 4
#: Solvers that make dual variables of the weights that they start from, and weights of these.
DUAL = {"dual-cd"}
#: Who finds the optimum that the others are held against.
PRECISE = ("prox-qn", "bcd-ls", "lbfgs", "dual-cd")


def turned(problem, solver, lams, *, stopping=None, limits=None, **how):
    """A run whose λ is changed after these iterations; ``stopping`` makes its limits from then on."""
    how |= {} if limits is None else {"stopping": limits}
    return run(problem, solver, gate=Dial(lams, stopping=stopping), **how)


@functools.cache
def optimum(key, lam):
    """f* of one of the problems at a λ."""
    problem = next(p for p in map(problem_for, TURNED) if p.key == key).at_lam(lam)
    able = solvers.compatible(problem.loss.id, problem.penalty.id)
    solver = solvers.make_solver(next(id for id in PRECISE if id in able))
    return solvers.solve(problem, solver, tol=1e-9, max_seconds=20.0).result["objective"]


@pytest.mark.parametrize("id", TURNED)
def test_every_solver_goes_on_to_the_optimum_at_the_new_lambda(id):
    problem, solver = problem_for(id), solvers.make_solver(id)
    other = problem.at_lam(0.25 * problem.lam)
    near = Stopping(gap=1e-5, f_star=optimum(problem.key, other.lam), max_iter=300, max_seconds=2.0)
    fresh = run(other, solver, stopping=near).execute()
    start = Stopping(max_iter=100)
    trace = turned(problem, solver, {AT: other.lam}, stopping=lambda p: near, limits=start).execute()
    new = trace.iteration > AT
    np.testing.assert_array_equal(trace.iteration, np.arange(len(trace)))
    assert [event for event in trace.events[AT + 1] if event.startswith("lam=")] == [f"lam={other.lam:.6g}"]
    # the change acts at the next iterate: the weights are those before it, and f is that of the new λ
    if id not in DUAL:
        assert trace.loss[AT + 1] == pytest.approx(trace.loss[AT], rel=1e-9)
        assert trace.penalty[AT + 1] == pytest.approx(0.25 * trace.penalty[AT], rel=1e-9)
    clocks = ("cpu_seconds", "wall_seconds", *(["passes"] if solver.counts_passes else []))
    for clock in clocks:
        assert np.all(np.diff(trace[clock]) >= 0)
    assert new.sum() > 1
    # those that are too slow for it are as far as they would be from zero
    assert trace.status == "converged" or fresh.status != "converged", trace.message
    assert trace.objective[-1] <= max(near.f_star, 1.01 * fresh.objective[-1]) * (1.0 + near.gap)
    assert other.at(trace.w).objective == pytest.approx(trace.objective[-1], rel=1e-9)


def test_one_that_starts_from_zero_alone_is_refused_in_a_sentence():
    problem = problem_for("sklearn-linear-svc")
    turning = run(problem, solvers.make_solver("sklearn-linear-svc"))
    with pytest.raises(ValueError, match="sklearn-linear-svc starts from zero alone: it cannot go on"):
        turning.set_lam(0.25 * problem.lam)


def test_the_working_set_refills_in_an_epoch_of_its_own():
    problem = problem_for("prox-qn")
    trace = turned(problem, solvers.make_solver("prox-qn"), {8: 0.2 * problem.lam}).execute()
    assert trace.working_set[8] < problem.size
    assert trace.working_set[9] == problem.size
    assert "epoch-start" in trace.events[9]
    assert trace.epoch[9] == trace.epoch[8] + 1
    assert np.all(np.diff(trace.epoch) >= 0)
    assert trace.result["epochs"] == trace.epoch[-1] + 1


@pytest.mark.parametrize("id", ["prox-qn", "owl-qn", "sgd-l1", "bcd-ls"])
def test_iterates_after_the_change_are_those_of_a_fresh_start_from_the_weights(id):
    problem, solver = problem_for(id), solvers.make_solver(id)
    trace = turned(problem, solver, {AT: 0.5 * problem.lam}).execute()
    before = run(problem, solver, stopping=Stopping(max_iter=AT)).execute()
    fresh = run(problem.at_lam(0.5 * problem.lam), solver, w0=before.w).execute()
    n = min(len(fresh), len(trace) - AT - 1)
    assert n > 3
    np.testing.assert_array_equal(trace.objective[AT + 1 : AT + 1 + n], fresh.objective[:n])


def test_the_record_says_which_lambda_it_was_also_in_files(tmp_path):
    problem = problem_for("prox-qn")
    lams = {3: 0.5 * problem.lam, 7: 2.0 * problem.lam}
    trace = turned(problem, solvers.make_solver("prox-qn"), lams).execute()
    assert trace.info.problem["lam"] == problem.lam
    wanted = [(0, problem.lam), (4, lams[3]), (8, lams[7])]
    assert [(s.first, s.lam) for s in segments(trace)] == wanted
    assert about_at(trace, 7) == problem.at_lam(lams[3]).describe()
    for name in ("run.jsonl", "run.npz"):
        trace.save(tmp_path / name)
        (again,) = read(tmp_path / name)
        assert segments(again) == segments(trace)
        assert again.events.tolist() == trace.events.tolist()
    trace.save(tmp_path / "run.csv")
    assert f"lam={lams[3]:.6g}" in (tmp_path / "run.csv").read_text()


@pytest.mark.parametrize(
    "lams",
    ["0.1", [{}], [{"iteration": "x", "lam": 1.0}], [None], 3],
    ids=["text", "empty", "x", "null", "3"],
)
def test_a_file_with_changes_of_lambda_that_are_none_is_refused_in_a_sentence(tmp_path, lams):
    trace = run(problem_for("prox-qn"), solvers.make_solver("prox-qn")).execute()
    problem, opening, *others = map(json.dumps, lines([trace]))
    opening = json.dumps(json.loads(opening) | {"lams": lams})
    (tmp_path / "run.jsonl").write_text("\n".join([problem, opening, *others]))
    with pytest.raises(ValueError, match=r"line 2 (has|is) .* lams"):
        read(tmp_path / "run.jsonl")


def test_the_distance_to_the_optimum_is_measured_against_that_of_the_lambda_in_force():
    problem = problem_for("prox-qn")
    other = problem.at_lam(0.5 * problem.lam)
    known = {problem.key: 3.0, other.key: 2.0}
    gate = Dial({AT: other.lam}, stopping=lambda p: Stopping(max_iter=14, f_star=known[p.key]))
    trace = run(
        problem, solvers.make_solver("prox-qn"), gate=gate, stopping=Stopping(max_iter=14, f_star=3.0)
    ).execute()
    stars = trace.info.along(trace.iteration, "f_star")
    np.testing.assert_array_equal(stars, np.where(trace.iteration <= AT, 3.0, 2.0))
    update_f_stars(trace, {other.key: 1.5, "another": 9.0})
    np.testing.assert_array_equal(trace.info.along(np.array([AT, AT + 1]), "f_star"), [3.0, 1.5])
    update_f_stars(trace, {problem.key: None})
    assert np.isnan(trace.info.along(np.array([0]), "f_star")[0])


def test_the_tolerance_is_relative_to_the_violation_at_zero_at_the_new_lambda():
    """Halfway to λ_max the violation at w = 0 is a fraction of what it was: the same tol asks for more."""
    problem = problem_for("owl-qn").at_lam(0.01 * problem_for("owl-qn").lam_max)
    near = problem.at_lam(0.9 * problem.lam_max)
    stopping = Stopping(tol=1e-3, max_iter=500)
    trace = turned(problem, solvers.make_solver("owl-qn"), {2: near.lam}, limits=stopping).execute()
    assert trace.status == "converged"
    assert trace.violation[-1] <= 1e-3 * near.violation_at_zero() < 1e-3 * problem.violation_at_zero()


def test_a_run_that_is_about_to_converge_goes_on_at_the_lambda_that_is_wanted():
    """By its limit as well as by its solver's own."""
    problem = problem_for("prox-qn")
    for stopping in (Stopping(tol=1e-4), Stopping(max_seconds=60.0)):
        solver = solvers.make_solver("prox-qn", tol=1e-4)
        last = run(problem, solver, stopping=stopping).execute().iteration[-1]
        trace = turned(problem, solver, {last - 1: 0.5 * problem.lam}, limits=stopping).execute()
        assert trace.iteration[-1] > last
        assert segments(trace)[-1].first == last
        assert trace.status == "converged"


@dataclass(frozen=True)
class Short(solvers.Solver):
    """Ends by itself, after a look around."""

    id, name, summary = "short", "Short", "for tests"

    def iterate(self, problem, w0=None):
        for k in range(3):
            yield solvers.Iterate.at(problem.at(w0), k)
        problem.pulse()
        return solvers.Ending("stalled", "there is no more to do")


class AtTheEnd:
    """Changes λ when the solver is about to end."""

    def __init__(self, lam):
        self.lam, self.run = lam, None

    def pulse(self):
        if self.run is not None and len(self.run.trace) == 3:
            self.run.set_lam(self.lam)

    def step(self, run, iterate):
        self.run = run


@pytest.mark.parametrize(("factor", "length"), [(0.5, 6), (1.0, 3)])
def test_a_solver_that_ends_meanwhile_goes_on_if_lambda_is_another_one(factor, length):
    problem = problem_for("prox-qn")
    trace = run(problem, Short(), gate=AtTheEnd(factor * problem.lam)).execute()
    np.testing.assert_array_equal(trace.iteration, np.arange(length))
    assert trace.status == "stalled"
    assert trace.message.startswith("there is no more to do; ")
    assert segments(trace)[-1].lam == factor * problem.lam


@pytest.mark.parametrize("n", [2, 6, 9, 12])
@pytest.mark.parametrize("id", ["prox-qn", "sgd-l1", "bcd-ls"])
def test_a_branch_from_before_between_and_after_the_changes_is_the_old_run_bit_for_bit(id, n):
    """Up to the next change of λ, which belongs to the visitor and not to the solver."""
    problem, solver = problem_for(id), solvers.make_solver(id)
    lams = {5: 0.5 * problem.lam, 9: 0.7 * problem.lam}
    old = turned(problem, solver, lams).execute()
    old.info = solvers.RunInfo.of(json.loads(json.dumps(old.info.record())))
    origin = solvers.origin_of(old, n)
    here = problem.at_lam(segments(old)[(n > 5) + (n > 9)].lam)
    last = next((k for k in (5, 9) if k >= n), old.iteration[-1])
    branch = run(here, origin.solver, origin).execute()
    assert_same(branch, old, range(n, last + 1))
    again = run(here, origin.solver, solvers.origin_of(branch, min(n + 1, branch.iteration[-1]))).execute()
    assert_same(again, branch, again.iteration)


def test_a_branch_is_given_the_problem_at_the_lambda_of_its_iterate():
    problem, solver = problem_for("prox-qn"), solvers.make_solver("prox-qn")
    old = turned(problem, solver, {5: 0.5 * problem.lam}).execute()
    with pytest.raises(ValueError, match="give it at that λ"):
        run(problem, solver, solvers.origin_of(old, 8))


def test_a_branch_can_be_turned_as_well():
    problem, solver = problem_for("prox-qn"), solvers.make_solver("prox-qn")
    old = run(problem, solver).execute()
    branch = run(problem, solver, solvers.origin_of(old, 3), gate=Dial({6: 0.5 * problem.lam})).execute()
    assert [s.first for s in segments(branch)] == [0, 7]
    further = run(problem.at_lam(0.5 * problem.lam), solver, solvers.origin_of(branch, 9)).execute()
    assert_same(further, branch, further.iteration)


def test_what_cannot_be_changed_is_refused_in_a_sentence():
    problem, solver = problem_for("prox-qn"), solvers.make_solver("prox-qn")
    for lam in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="lam must be a number above 0"):
            run(problem, solver).set_lam(lam)
    measured = run(problem, solver, stopping=Stopping(gap=1e-3, f_star=1.0))
    with pytest.raises(ValueError, match="against f\\* of one λ"):
        measured.set_lam(1.0)
    toy = solvers.make_problem(binary(), loss="logistic", penalty="none")
    with pytest.raises(ValueError, match="has no λ"):
        run(toy, solvers.make_solver("gd")).set_lam(1.0)


def test_only_the_newest_lambda_counts():
    problem = problem_for("prox-qn")
    one = run(problem, solvers.make_solver("prox-qn"))
    for lam in (3.0, 2.0, 0.5 * problem.lam):
        one.set_lam(lam)
    trace = one.execute()
    assert [(s.first, s.lam) for s in segments(trace)] == [(0, problem.lam), (1, 0.5 * problem.lam)]


def test_a_trace_without_changes_has_one_segment():
    assert [s.first for s in segments(Trace({}))] == [0]
