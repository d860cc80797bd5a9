"""Rules in a run: what is proved is true, guesses are repaired, and all lead to one optimum."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from solverscope import solvers
from solverscope.solvers.methods.coordinate.newton_cd import NewtonCD
from solverscope.solvers.methods.working_sets import Selection, WorkingSetSteps, why_not_rule
from solverscope.solvers.search.outcome import SearchResult
from solverscope.solvers.working_sets.rules import RULES
from tests.solvers.helpers import MAKERS, kind_for, multiclass, problem_of
from tests.solvers.oracles import Oracle
from tests.solvers.problems.certificates.test_sphere import solved_chains
from tests.solvers.smooth_programs import LOSSES, minimum

KINDS = {loss: kind_for(loss) for loss in LOSSES if solvers.Trait.LIPSCHITZ in solvers.LOSSES[loss].traits}
PENALTIES = ["l1", "elastic-net", "l1-l2", "sparse-group"]
SAFE = [id for id, rule in RULES.items() if rule.needs_safe_ball]
LIMITS = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def correlated(n, d, seed, share):
    """A problem whose features have much in common, so that guesses from far away are wrong."""
    rng = np.random.default_rng(seed)
    X = share * rng.normal(size=(n, 1)) + np.sqrt(1.0 - share**2) * rng.normal(size=(n, d))
    w = rng.normal(size=d) * (rng.random(d) < 0.3)
    y = np.where(X @ w + rng.normal(size=n) > 0, 1, -1)
    return solvers.make_problem(X, y, loss="logistic", penalty="l1", lam_ratio=0.05)


def selections(problem, rule, points):
    """The blocks proved to be zero, after a screening at each of these points in turn."""
    selection = Selection(RULES[rule](), problem, 1e-12)
    for w in points:
        selection.choose(problem.at(w))
        yield selection


def check_proofs(loss, penalty, seed, ratio):
    """Along the way from w = 0 to the optimum of another program, on the support of the optimum alone."""
    data = MAKERS[KINDS[loss]](n=25, d=12, seed=seed, **({"m": 3} if KINDS[loss] == "multiclass" else {}))
    problem = problem_of(data, loss, penalty, lam_ratio=ratio)
    oracle = Oracle(data, loss, penalty, problem.lam, problem.average)
    best = minimum(oracle)
    assert oracle.violation(best) <= 1e-9 * oracle.violation(np.zeros_like(best))
    points = [share * best for share in (0.0, 0.5, 0.9, 0.99, 1.0 - 1e-4, 1.0 - 1e-6, 1.0)]
    proved = 0
    for rule in SAFE:
        for selection in selections(problem, rule, points):
            blocks = best.reshape(-1, selection.width)
            assert not blocks[selection.proved].any()
            proved = max(proved, selection.proved.size)
    return proved, int(np.count_nonzero(~blocks.any(axis=1)))


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", KINDS)
def test_no_block_of_the_optimum_is_proved_to_be_zero_and_at_the_optimum_the_others_are(loss, penalty):
    proved, zero = check_proofs(loss, penalty, 0, 0.3)
    assert proved == zero > 0


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_no_weight_of_the_optimum_of_chains_is_proved_to_be_zero(penalty, ends):
    problem, found = solved_chains(penalty, 0, 0.3, ends)
    points = [share * found.w for share in (0.0, 0.5, 0.9, 0.99, 1.0 - 1e-4, 1.0 - 1e-6, 1.0)]
    for rule in SAFE:
        for selection in selections(problem, rule, points):
            blocks = found.w.reshape(-1, selection.width)
            assert not blocks[selection.proved].any()
        if penalty == "l1":
            assert (selection.proved >= problem.design.n_features * 3).any(), "of transitions too"
            assert selection.proved.size == np.count_nonzero(found.w == 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", KINDS)
@settings(max_examples=40, **LIMITS)
@given(seed=st.integers(0, 10_000), ratio=st.floats(0.02, 0.999))
def test_no_block_of_any_optimum_is_proved_to_be_zero(loss, penalty, seed, ratio):
    check_proofs(loss, penalty, seed, ratio)


@pytest.mark.parametrize(
    "rule", ["zhong", "blondel", "liblinear", "strong", "growing", "growing-dual", "gap-safe"]
)
def test_mistakes_of_a_guess_are_repaired(rule):
    """The same optimum and support as without a rule; the model is solved coarsely, so that guesses fail."""
    problem = correlated(40, 20, 1, 0.99)
    best = solvers.solve(problem, solvers.make_solver("newton-cd", rule="none"), tol=1e-10)
    found = solvers.solve(
        problem, solvers.make_solver("newton-cd", rule=rule, inner=0.0), tol=1e-10, max_iter=500
    )
    assert found.status == "converged"
    assert found.result["objective"] == pytest.approx(best.result["objective"], rel=1e-13)
    np.testing.assert_array_equal(found.w != 0.0, best.w != 0.0)
    mistaken = {"zhong": True, "blondel": True, "liblinear": False}
    if rule in mistaken:
        assert (found.returned.max() > 0) == mistaken[rule]


def test_without_return_the_wrong_optimum_is_found_and_reported_as_such():
    problem = correlated(40, 20, 1, 0.99)
    best = solvers.solve(problem, solvers.make_solver("newton-cd", rule="zhong", inner=0.0), tol=1e-8)
    lost = solvers.solve(problem, solvers.make_solver("newton-cd", rule="no-return", inner=0.0), tol=1e-8)
    assert lost.status == "stalled"
    assert "over all weights the violation is" in lost.message
    assert lost.result["objective"] > best.result["objective"] + 1e-3
    assert lost.epoch.max() == 0 < best.epoch.max()


def test_a_strong_rule_that_fails_is_found_out():
    """From the optimum at λ' = λ/0.6 a weight is left out whose gradient moves faster than λ."""
    rng = np.random.default_rng(73)
    rng.normal(size=(8, 8))
    X = rng.normal(size=(8, 3)) @ rng.normal(size=(3, 8)) + 0.1 * rng.normal(size=(8, 8))
    y = np.where(rng.random(8) > 0.5, 1, -1)
    before = solvers.make_problem(X, y, loss="logistic", penalty="l1", lam_ratio=0.2)
    start = solvers.solve(before, solvers.make_solver("newton-cd"), tol=1e-9).w
    problem = before.at_lam(0.6 * before.lam)
    found = solvers.solve(problem, solvers.make_solver("newton-cd", rule="strong"), tol=1e-9, w0=start)
    best = solvers.solve(problem, solvers.make_solver("newton-cd", rule="none"), tol=1e-9)
    assert found.working_set[0] < problem.size
    assert found.returned.max() > 0
    assert found.result["objective"] == pytest.approx(best.result["objective"], rel=1e-12)


def test_what_is_proved_never_comes_back_and_what_is_guessed_does():
    problem = correlated(60, 30, 2, 0.5)
    best = solvers.solve(problem, solvers.make_solver("newton-cd"), tol=1e-12).w
    for rule in ("gap-safe", "zhong"):
        sizes = [
            (selection.proved.size, selection.guessed.size, len(selection.active))
            for selection in selections(problem, rule, [np.zeros(30), best, best, best])
        ]
        assert all(sum(size) == 30 for size in sizes)
        assert [p for p, _, _ in sizes] == sorted(p for p, _, _ in sizes)
        assert (sizes[-1][0] > 0) == (rule == "gap-safe")
        assert (sizes[-1][1] > 0) == (rule == "zhong")


@pytest.mark.parametrize("rule", RULES)
def test_blocks_that_are_not_zero_stay_whatever_the_rule(rule):
    problem = problem_of("multiclass", penalty="l1-l2")
    w = np.zeros(problem.size)
    w[:4] = 1e-3
    *_, selection = selections(problem, rule, [np.zeros(problem.size), w, w, w])
    assert 0 in selection.active.coordinates
    assert np.all(np.isin(np.flatnonzero(w), selection.members.coordinates))


def test_a_rule_of_ones_own_is_chosen_by_its_id(registries):
    @solvers.register
    @dataclass(frozen=True)
    class Half(solvers.Rule):
        id, name, summary = "half", "Half", "the half of the blocks that is nearest to moving"

        def keeps(self, context):
            if not context.all_remaining:
                return super().keeps(context)
            return context.slack <= np.median(context.slack)

    problem = correlated(60, 30, 2, 0.5)
    found = solvers.solve(problem, solvers.make_solver("newton-cd", rule="half"), tol=1e-9)
    best = solvers.solve(problem, solvers.make_solver("newton-cd", rule="none"), tol=1e-9)
    assert found.result["objective"] == pytest.approx(best.result["objective"], rel=1e-12)
    assert 0 < found.working_set.min() < problem.size
    (declared,) = (p for p in solvers.parameters(solvers.SOLVERS["newton-cd"]) if p.name == "rule")
    assert "half" in declared.range


def test_a_rule_without_a_ball_is_refused_in_a_sentence():
    problem = problem_of("binary", penalty="l2")
    solver = solvers.make_solver("newton-cd", rule="gap-safe")
    told = "rule=gap-safe needs a penalty that sets weights to zero, and l2 does not: choose another rule"
    assert solver.refuses(problem) == why_not_rule("gap-safe", problem) == told
    with pytest.raises(ValueError, match="rule must be one of none, zhong"):
        solvers.make_solver("newton-cd", rule="zhang")


class Failing(WorkingSetSteps):
    """The steps of another, but for one on a part of the blocks."""

    def __init__(self, steps):
        super().__init__()
        self.steps, self.failed = steps, 0

    def step(self, point, state):
        if not state.all_remaining and not self.failed:
            self.failed += 1
            return SearchResult(point, 0.0, None, 0)
        return self.steps.step(point, state)


def test_if_no_step_helps_on_a_part_all_are_screened_and_the_run_goes_on(monkeypatch):
    made, begin = [], NewtonCD.begin
    monkeypatch.setattr(NewtonCD, "begin", lambda *args: made.append(Failing(begin(*args))) or made[-1])
    found = solvers.solve(correlated(60, 80, 2, 0.5), solvers.make_solver("newton-cd"), tol=1e-9)
    assert made[-1].failed == 1
    assert found.status == "converged"


@pytest.mark.parametrize("rule", SAFE)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_gaps_in_the_record_are_above_what_is_left(rule, penalty):
    problem = problem_of("multiclass", penalty=penalty, n=60, d=10, m=3)
    best = solvers.solve(problem, solvers.make_solver("newton-cd"), tol=1e-11).result["objective"]
    seen = 0
    for it in itertools.islice(solvers.make_solver("newton-cd", rule=rule).iterate(problem), 30):
        if not np.isnan(it.dual_gap):
            seen += 1
            assert it.dual_gap >= it.objective - best - 1e-14
    assert seen > 1


@pytest.mark.parametrize("rule", ["none", "growing", "gap-safe", "growing-dual"])
@pytest.mark.parametrize(
    ("id", "penalty"),
    [
        *[("newton-cd", "l1"), ("newton-cd", "elastic-net"), ("newton-cd", "l1-l2"), ("ssn", "l1")],
        *[("ssn", "elastic-net"), ("anderson-bcd", "l1"), ("anderson-bcd", "l1-l2"), ("prox-qn", "l1")],
    ],
)
def test_a_violation_is_the_largest_entry_or_row_of_the_shortest_subgradient(id, penalty, rule):
    """Of several outputs too: rows count where the penalty has a norm of rows, and else single weights."""
    data = multiclass(n=60, d=10, m=3)
    problem = problem_of(data, penalty=penalty)
    oracle = Oracle(data, data.loss, penalty, problem.lam, problem.average)
    known = 0
    for it in itertools.islice(solvers.make_solver(id, rule=rule, tol=1e-9).iterate(problem), 40):
        if not np.isnan(it.violation):
            known += 1
            assert it.violation == pytest.approx(oracle.violation(it.w), rel=1e-6, abs=1e-12)
    assert known > 1  # also where blocks are proved to be zero: the first iterate and the last


@pytest.mark.parametrize("rule", SAFE)
def test_what_a_rule_has_proved_is_measured_now_and_then(rule, monkeypatch):
    monkeypatch.setattr("solverscope.solvers.runs.observer.OPTIMALITY_SHARE", np.inf)
    problem = problem_of("binary", n=60, d=40, penalty="l1")
    trace = solvers.solve(problem, solvers.make_solver("newton-cd", rule=rule), tol=1e-9)
    assert not np.isnan(trace.violation).any()
    assert trace.status == "converged"
    assert trace.violation[-1] <= 1e-9 * trace.violation[0] < trace.violation[-2]


def test_the_message_of_a_limit_has_no_advice_for_authors():
    problem = problem_of("binary", penalty="l1")
    start = np.ones(problem.size)
    trace = solvers.solve(problem, solvers.make_solver("bcd-ls"), tol=1e-9, max_iter=2, w0=start)
    assert trace.message == "2 iterations done; no iterate has a violation to compare tol with"
