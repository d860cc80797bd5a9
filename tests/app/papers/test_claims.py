"""Verdicts on claims, from runs whose numbers are made here: each word of the vocabulary."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from solverscope.app.papers.claims import NOT_JUDGED, NOT_SEEN, SEEN, TESTS, Claim
from solverscope.app.papers.measures import Measure, cases
from tests.app.papers.made import run

FAST, SLOW = [9.0, 1.0, 1.0, 1.0], [9.0, 5.0, 3.0, 1.0]


def judged(table, *runs):
    return Claim.of({"text": "so it is", **table}).judge(cases(runs))


def word(table, *runs):
    return judged(table, *runs).word


def race(**more):
    return {"less": {"first": ["a"], "than": ["b"], "to": 0.1, **more}}


def test_the_faster_one_is_seen_and_the_numbers_are_told():
    verdict = judged(race(), run("a", FAST), run("b", SLOW))
    assert (verdict.word, verdict.numbers) == (SEEN, ("a9a, λ = 0.0001: 1 / 3",))
    assert word(race(), run("a", SLOW), run("b", FAST)) == NOT_SEEN
    assert word(race(field="passes", by=4), run("a", FAST), run("b", SLOW)) == NOT_SEEN


def test_the_best_of_several_is_compared_with_the_best_of_the_others():
    table = {"less": {"first": ["a", "b"], "than": ["c", "d"], "to": 0.1, "any": True}}
    assert word(table, run("a", SLOW), run("b", FAST), run("c", SLOW)) == SEEN
    assert word(table, run("a", SLOW), run("c", SLOW), run("d", FAST)) == NOT_SEEN


def test_a_claim_on_several_runs_holds_where_it_holds_for_each():
    table = {"less": {"first": ["a", "b"], "than": ["c", "d"], "to": 0.1}}
    found = judged(table, run("a", SLOW), run("b", FAST), run("c", SLOW[:2] + SLOW))
    assert (found.word, found.numbers) == (SEEN, ("a9a, λ = 0.0001: 3 / 5",))
    assert word(table, run("a", SLOW), run("b", FAST), run("c", SLOW)) == NOT_SEEN
    more = {"less": {"first": ["a", "b"], "than": ["c"], "field": "test_metric", "more": True}}
    good = [run("a", FAST, test_metric=0.7), run("c", FAST, test_metric=0.8)]
    assert word(more, run("b", FAST, test_metric=0.9), *good) == NOT_SEEN


def test_a_run_that_was_cut_before_decides_nothing_against_what_takes_longer():
    cut = run("b", [9.0, 5.0], status="max-seconds")
    assert word(race(), run("a", FAST), cut) == NOT_JUDGED, "b was given no more than a took"
    assert word(race(), run("a", SLOW), cut) == NOT_JUDGED
    assert word(race(), run("a", [9.0, 1.0]), run("b", [9.0, 5.0, 5.0], status="max-seconds")) == SEEN


def test_a_run_that_ended_too_high_never_comes_there():
    ended = run("b", [9.0, 5.0], status="stalled")
    verdict = judged(race(), run("a", SLOW), ended)
    assert (verdict.word, verdict.numbers) == (SEEN, ("a9a, λ = 0.0001: 3 / never",))


def test_where_nobody_comes_to_the_gap_nobody_is_first():
    above = [run("a", [9.0, 5.0], status="stalled"), run("b", [9.0, 5.0], status="stalled")]
    low = run("c", [9.0, 1.0])
    assert word(race(), *above, low) == NOT_JUDGED
    assert word({"level": {"runs": ["a", "b"], "to": 0.1, "factor": 2}}, *above, low) == NOT_JUDGED


def test_a_run_that_had_no_time_to_begin_may_have_been_the_first():
    waiting = replace(run("c", [9.0]), trace=None, record={"status": "stopped"})
    table = {"less": {"first": ["a"], "than": ["b", "c"], "to": 0.1}}
    assert word(table, run("a", FAST), run("b", SLOW)) == SEEN
    assert word(table, run("a", FAST), run("b", SLOW), waiting) == NOT_JUDGED


@pytest.mark.parametrize("field", ["cpu_seconds", "test_metric", "nnz", "gap", "settled"])
def test_a_run_that_had_no_time_leaves_every_number_open(field):
    waiting = replace(run("c", [9.0]), trace=None, record={"status": "stopped"})
    failed = replace(waiting, record={"status": "failed"})
    assert measured(Measure(field), waiting, label="c") == "not known"
    assert measured(Measure(field), failed, label="c") == "None"


def test_two_problems_that_differ_in_the_loss_are_judged_each():
    hinge, other = (
        [replace(one, problem=replace(one.problem, loss=loss)) for one in (run("a", FAST), run("b", f))]
        for loss, f in (("hinge", SLOW), ("logistic", FAST))
    )
    assert len(judged(race(), *hinge, *other).numbers) == 2


def test_a_claim_without_its_runs_or_without_a_test_is_not_judged():
    assert word(race(), run("a", FAST)) == NOT_JUDGED
    assert word({}, run("a", FAST)) == NOT_JUDGED
    unknown = {"less": {"first": ["a"], "than": ["b"], "field": "test_metric"}}
    assert word(unknown, run("a", FAST, test_metric=0.9), run("b", SLOW, status="failed")) == NOT_JUDGED


@pytest.mark.parametrize(("share", "verdict"), [(1.0, NOT_SEEN), (0.5, SEEN)])
def test_a_claim_on_most_problems_may_fail_on_some(share, verdict):
    runs = [run(label, f, lam=lam) for lam in (1e-4, 1e-3) for label, f in (("a", FAST), ("b", SLOW))]
    runs[0], runs[1] = run("a", SLOW), run("b", FAST)
    found = judged(race() | {"share": share}, *runs)
    assert found.word == verdict
    assert found.numbers == ("a9a, λ = 0.0001: 3 / 1 (no)", "a9a, λ = 0.001: 1 / 3")


@pytest.mark.parametrize(
    ("share", "ends", "verdict"),
    [
        (1.0, "an", NOT_SEEN),
        (1.0, "ao", NOT_JUDGED),
        (0.5, "ao", SEEN),
        (0.51, "aoo", NOT_JUDGED),
        (0.51, "aao", SEEN),
        (0.51, "ano", NOT_JUDGED),
        (0.51, "anno", NOT_SEEN),
        (0.01, "no", NOT_JUDGED),
        (0.01, "nn", NOT_SEEN),
        (1.0, "as", SEEN),
        (1.0, "s", NOT_JUDGED),
    ],
)
def test_what_is_open_may_turn_out_either_way(share, ends, verdict):
    """a: holds, n: does not, o: open, s: nobody came to the gap."""
    runs = []
    for k, end in enumerate(ends):
        lam = 10.0**-k
        high = [run(label, [9.0, 5.0], status="stalled", lam=lam) for label in "ab"]
        runs += {
            "a": [run("a", FAST, lam=lam), run("b", SLOW, lam=lam)],
            "n": [run("a", SLOW, lam=lam), run("b", FAST, lam=lam)],
            "o": [run("a", FAST, lam=lam), run("b", SLOW[:2], status="max-seconds", lam=lam)],
            "s": [*high, run("c", FAST, lam=lam)],
        }[end]
    assert word(race() | {"share": share}, *runs) == verdict


def test_a_claim_on_some_data_or_λ_looks_at_no_other():
    runs = [run("a", FAST, data="letter"), run("b", SLOW, data="letter")]
    assert word(race() | {"data": ["a9a"]}, *runs) == NOT_JUDGED
    assert word(race() | {"data": ["letter"], "lam": [1e-4]}, *runs) == SEEN
    assert word(race() | {"lam": [1e-3]}, *runs) == NOT_JUDGED


def test_numbers_along_λ_are_put_together_whatever_the_loss():
    runs = [run("a", FAST[: 2 + k], lam=10.0**-k) for k in range(3)]  # 1, 2, 3 s
    runs += [run("b", SLOW[: 3 + k % 2], lam=2.0 * 10.0**-k) for k in range(3)]  # 2, 3, 2 s
    table = {"less": {"first": ["a"], "than": ["b"], "of": "median"}}
    assert word(table, *runs) == NOT_SEEN
    table["less"]["of"] = "least"
    assert word(table, *runs) == SEEN


def test_the_greater_one_may_be_the_better_one():
    runs = [run("a", FAST, test_metric=0.89), run("b", FAST, test_metric=0.90)]
    table = {"less": {"first": ["a"], "than": ["b"], "field": "test_metric", "more": True, "slack": 0.0}}
    assert word(table, *runs) == NOT_SEEN
    table["less"]["slack"] = -0.02
    assert word(table, *runs) == SEEN


@pytest.mark.parametrize(("factor", "verdict"), [(2.0, NOT_SEEN), (3.5, SEEN)])
def test_level_runs_are_within_a_factor(factor, verdict):
    table = {"level": {"runs": ["a", "b"], "to": 0.1, "factor": factor}}
    assert word(table, run("a", FAST), run("b", SLOW)) == verdict
    assert word(table, run("a", FAST)) == NOT_JUDGED


def test_what_falls_with_λ_is_smaller_at_the_largest():
    runs = [run("a", SLOW, lam=1e-4), run("a", [9.0, 5.0, 1.0], lam=1e-3), run("a", FAST, lam=1e-2)]
    table = {"falls": {"runs": ["a"], "to": 0.1}}
    assert judged(table, *runs).numbers == ("a9a, a: 3 at λ = 0.0001, 1 at 0.01",)
    assert word(table, *runs) == SEEN
    assert word({"falls": {"runs": ["a"], "to": 0.1, "rises": True}}, *runs) == NOT_SEEN
    assert word(table, runs[0]) == NOT_JUDGED


def test_what_falls_with_each_λ_may_not_go_up_between_them():
    runs = [run("a", FAST, lam=lam, nnz=nnz) for lam, nnz in ((1e-4, 90), (1e-3, 95), (1e-2, 10))]
    table = {"falls": {"runs": ["a"], "field": "nnz"}}
    assert word(table, *runs) == SEEN
    table["falls"]["each"] = True
    found = judged(table, *runs)
    assert (found.word, found.numbers) == (
        NOT_SEEN,
        ("a9a, a: 90 at λ = 0.0001, 95 at 0.001, 10 at 0.01 (no)",),
    )


@pytest.mark.parametrize(("lam", "verdict"), [([1e-3], SEEN), ([1e-2, 1e-4], NOT_SEEN), ([0.1], NOT_JUDGED)])
def test_the_best_along_λ_is_found_where_it_is_said_to_be(lam, verdict):
    runs = [run("a", FAST, lam=at, test_metric=f1) for at, f1 in ((1e-4, 0.7), (1e-3, 0.9), (1e-2, 0.8))]
    table = {"best": {"runs": ["a"], "field": "test_metric", "lam": lam, "more": True}}
    assert word(table, *runs) == verdict


def test_on_other_data_than_the_papers_numbers_are_told_and_nothing_is_judged():
    runs = [run("a", FAST), run("b", SLOW)]
    claim = Claim.of({"text": "so it is", **race()})
    found = claim.judge(cases(runs, lambda one: "a9a has 9 instances for 99"))
    assert found.word == NOT_JUDGED
    assert found.numbers == ("a9a has 9 instances for 99", "a9a, λ = 0.0001: 1 / 3 (yes, on other data)")
    elsewhere = [run("a", SLOW, data="w8a"), run("b", FAST, data="w8a")]
    both = cases([*runs, *elsewhere], lambda one: "w8a is not the paper's" * (one.problem.data == "w8a"))
    assert claim.judge(both).word == SEEN
    assert claim.judge(both).numbers[-1] == "w8a, λ = 0.0001: 3 / 1 (no, on other data)"


def test_a_number_lies_below_or_above_a_value():
    runs = [run("a", [9.0, 1.0]), run("b", [9.0, 1.5])]
    assert word({"lies": {"runs": ["a"], "field": "gap", "below": 0.1}}, *runs) == SEEN
    assert word({"lies": {"runs": ["b"], "field": "gap", "above": 0.4}}, *runs) == SEEN
    assert word({"lies": {"runs": ["b"], "field": "gap", "below": 0.4}}, *runs) == NOT_SEEN
    cut = [runs[0], run("b", [9.0, 1.5], status="max-seconds")]
    assert word({"lies": {"runs": ["b"], "field": "gap", "below": 0.4}}, *cut) == NOT_JUDGED


def test_an_ending_is_open_where_a_limit_came_first():
    table = {"ends": {"runs": ["a"], "status": ["stalled"], "by": 3}}
    assert word(table, run("a", SLOW, status="stalled")) == SEEN
    assert word(table, run("a", FAST)) == NOT_SEEN
    assert word(table, run("a", SLOW[:3], status="max-seconds")) == NOT_JUDGED
    assert word(table, run("a", [*SLOW, 1.0], status="stalled")) == NOT_SEEN, "later than it is said to"


def test_a_value_is_reached_in_time_or_never():
    table = {"reaches": {"runs": ["a"], "at_most": 3.0, "by": 2}}
    assert word(table, run("a", SLOW)) == SEEN
    assert word(table, run("a", [9.0, 8.0, 7.0, 1.0])) == NOT_SEEN
    assert word(table, run("a", [9.0, 8.0], status="max-seconds")) == NOT_JUDGED
    never = {"reaches": {"runs": ["a"], "at_most": 0.5, "by": 3, "never": True}}
    assert word(never, run("a", SLOW)) == SEEN
    assert word(never, run("a", [9.0, 0.1])) == NOT_SEEN


def test_a_peak_is_above_the_end_or_the_start():
    rows = {"nnz_rows": [0, 50, 80, 20]}
    table = {"peaks": {"runs": ["a"], "field": "nnz_rows", "by": 1.1}}
    assert word(table, run("a", SLOW, columns=rows)) == SEEN
    assert word(table, run("a", SLOW, columns={"nnz_rows": [0, 5, 8, 20]})) == NOT_SEEN
    start = {"peaks": {"runs": ["a"], "field": "objective", "by": 1.0, "over": "start"}}
    assert word(start, run("a", [1.0, 1.2, 0.5])) == SEEN
    assert word(start, run("a", FAST)) == NOT_SEEN
    assert word(start, run("a", FAST, status="max-seconds")) == NOT_JUDGED


def test_every_word_of_the_vocabulary_is_tested_here():
    text = Path(__file__).read_text(encoding="utf-8")
    tested = {name for name in TESTS if f'"{name}"' in text}
    assert tested == set(TESTS)


@pytest.mark.parametrize(
    "table",
    [
        {"less": {"first": ["a"], "than": ["b"]}, "ends": {"runs": ["a"], "status": ["stalled"]}},
        {"quicker": {"first": ["a"]}},
        {"less": {"first": ["a"], "than": ["b"], "field": "hope"}},
        {"less": {"first": ["a"], "than": ["b"], "field": "nnz", "to": 0.1}},
        {"less": {"first": ["a"], "than": ["b"], "of": "mode"}},
    ],
)
def test_what_is_no_claim_is_refused(table):
    with pytest.raises(ValueError, match=r"."):
        Claim.of({"text": "so it is", **table})


# measures


def measured(measure, *runs, label="a"):
    (case,) = cases(runs)
    return str(measure.number(case, label))


def test_shares_steps_and_phases_are_made_of_the_record():
    columns = {"nnz_rows": [0, 60, 22, 20], "nnz": [0, 90, 50, 40], "inner_iterations": [-1, 3, 0, 4]}
    phases = {"phase": ["fine", "cluster", "coarse", "coarse"]}
    one = run("a", SLOW, columns=columns | phases)
    found = {name: measured(Measure(name), one) for name in ("rows", "density", "row_density", "settled")}
    assert found == {"rows": "20", "density": "20", "row_density": "100", "settled": "2"}
    assert measured(Measure("direction_steps"), one) == "7"
    assert measured(Measure("direction_steps", to=3.0), one) == "3"
    assert measured(Measure(phase="coarse"), one) == "2"
    assert measured(Measure("nnz_rows"), one, label="b") == "None"


def test_what_nobody_solved_decides_nothing():
    """The least f of runs that were cut is above f*, by no one knows how much."""
    cut = [run("a", FAST, status="max-seconds"), run("b", SLOW, status="max-seconds")]
    assert measured(Measure(to=0.1), *cut) == "over 1"
    assert word(race(), *cut) == NOT_JUDGED
    assert measured(Measure("gap"), *cut, label="b") == "not known"
    rows = {"nnz_rows": [0, 50, 54, 54]}
    settled = [run("a", FAST, status="max-seconds", columns=rows), run("b", [9.0, 2.0], status="stalled")]
    assert measured(Measure("settled"), *settled) == "not known"
    assert measured(Measure("settled"), run("a", FAST, columns=rows)) == "1"


def test_a_bound_of_f_star_bounds_when_a_gap_was_reached():
    proved = {"dual_gap": [8.9, 2.0, 0.5, 0.2]}
    one = run("a", [9.0, 2.0, 1.06, 1.0], status="max-seconds", columns=proved)
    assert measured(Measure(to=0.1), one) == "over 2"
    assert measured(Measure(to=0.3), one) == "2 to 3"
    (case,) = cases([one])
    assert (case.f_star, case.f_low) == (1.0, pytest.approx(0.8))
    assert not case.solved
    (sure,) = cases([one, run("b", [9.0, 1.0])])
    assert sure.solved


def test_where_the_start_is_as_good_as_optimal_nobody_is_faster():
    """How long the first iterate took says nothing."""
    runs = [run("a", [1.01, 1.0], lam=1e-1), run("b", [1.01, 1.0], lam=1e-1)]
    assert measured(Measure(to=0.02), *runs) == "None"
    verdict = judged(race(to=0.02), *runs, run("a", FAST), run("b", SLOW))
    assert (verdict.word, verdict.numbers) == (SEEN, ("a9a, λ = 0.0001: 1 / 3",))


def test_a_run_that_says_it_converged_above_another_one_leaves_as_much_open():
    ended, lower = run("a", [9.0, 1.1]), run("b", [9.0, 1.0], status="max-seconds")
    (case,) = cases([ended, lower])
    assert case.f_low == pytest.approx(0.9)
    assert not case.solved


def test_a_violation_that_has_all_but_gone_says_that_the_optimum_is_reached():
    violation = {"violation": [1.0, 1e-3, 1e-7]}
    small = run("a", [9.0, 2.0, 1.0], status="stalled", columns=violation, violation=1e-7)
    large = run("a", [9.0, 2.0, 1.0], status="stalled", columns=violation, violation=1e-3)
    assert [cases([one])[0].solved for one in (small, large)] == [True, False]


def test_seconds_to_a_part_of_f_at_the_start_need_no_minimum():
    cut = run("a", [9.0, 5.0, 0.8], status="max-seconds")
    assert measured(Measure(down=0.1), cut) == "2"
    assert measured(Measure(down=0.01), cut) == "over 2"
    assert measured(Measure(down=0.01), run("a", FAST)) == "never"
    cut.trace.test_metric = [(0, 0.0, 0.1), (2, 2.0, 0.7)]
    assert measured(Measure(up=0.6), cut) == "2"
    assert measured(Measure(up=0.8), cut) == "over 2"
    with pytest.raises(ValueError, match="to and up are both given"):
        Measure(to=0.1, up=0.6)
    with pytest.raises(ValueError, match="nnz is no count of work"):
        Measure("nnz", down=0.1)


def test_what_a_run_that_was_cut_had_in_the_end_is_not_what_it_would_come_to():
    ends = {"nnz": 108, "nnz_rows": 54, "test_metric": 0.8, "train_metric": 0.9}
    cut, whole = (run("a", FAST, status=status, **ends) for status in ("max-seconds", "max-iter"))
    for field in (*ends, "rows", "density", "row_density"):
        assert measured(Measure(field), cut) == "not known"
        assert measured(Measure(field), whole) != "not known"
    assert measured(Measure("n_features"), cut) == "100"
    assert measured(Measure("objective"), cut) == "at most 1"


def test_data_are_other_data_for_runs_that_had_no_time_too():
    waiting = replace(run("a", [9.0], lam=1e-3), trace=None, record={"status": "stopped"})
    found = cases([run("a", FAST), waiting], lambda one: "a9a has 9 rows" * ("problem" in one.record))
    assert [case.differ for case in found] == ["a9a has 9 rows"] * 2


def test_epochs_iterates_and_their_pace_are_counted_on_whole_runs():
    columns = {"epoch": [0, 0, 1, 2], "nnz": [0, 8, 4, 4]}
    whole, cut = run("a", SLOW, columns=columns), run("a", SLOW, status="max-seconds", columns=columns)
    fields = ("epochs", "pace", "iterate_nnz", "sparse")
    assert [measured(Measure(name), whole) for name in fields] == ["3", "1", "4", "2"]
    assert [measured(Measure(name), cut) for name in fields] == ["over 3", *["not known"] * 3]
    assert measured(Measure("epochs", to=3.0), whole) == "2"
    start = run("a", SLOW, status="max-seconds", columns={"epoch": [-1, -1, 0, 0]})
    assert measured(Measure("epochs"), start) == "over 1", "before an epoch begins there is none"


def test_what_is_learned_is_there_once_the_test_part_stays_as_at_the_optimum():
    early, late = run("a", FAST), run("b", SLOW)
    early.trace.test_metric = [(0, 0.0, 0.1), (1, 1.0, 0.8), (2, 2.0, 0.7), (3, 3.0, 0.795)]
    late.trace.test_metric = [(0, 0.0, 0.1), (3, 3.0, 0.7)]
    for one in (early, late):
        one.record["test_metric"] = one.trace.test_metric[-1][2]
    early.record["objective"] = 0.5
    assert measured(Measure("learned"), early, late) == "3"
    assert measured(Measure("learned"), early, late, label="b") == "never"
    early.trace.test_metric = []
    assert measured(Measure("learned"), early, late) == "None"


@pytest.mark.parametrize(
    ("status", "all_of_it", "to_the_gap"),
    [
        ("converged", "3", "never"),
        ("max-iter", "3", "over 3"),
        ("max-seconds", "over 3", "over 3"),
        ("stopped", "over 3", "over 3"),
    ],
)
def test_an_iteration_limit_is_part_of_an_experiment_and_a_time_limit_is_not(status, all_of_it, to_the_gap):
    runs = [run("a", [9.0, 5.0, 4.0, 3.0], status=status), run("b", [1.0])]
    assert measured(Measure(), *runs) == all_of_it
    assert measured(Measure(to=0.1), *runs) == to_the_gap


def test_f_star_is_the_least_that_any_run_found_and_its_proof_is_the_best_bound():
    a = run("a", [9.0, 2.0], columns={"dual_gap": [8.0, 0.5]})
    b = run("b", [9.0, 1.8], columns={"dual_gap": [8.0, 1.0]})
    (case,) = cases([a, b])
    assert case.f_star == 1.8
    assert case.unsure == pytest.approx((1.8 - 1.5) / 1.5)
    (alone,) = cases([run("a", SLOW)])
    assert alone.unsure is None


def test_a_bound_proved_far_above_f_star_is_believed_no_further_than_it_was_rounded():
    gap = 1e14 - 0.95
    assert 1e14 - gap > 0.95
    (case,) = cases([run("a", [1e14, 0.95], columns={"dual_gap": [gap, 0.01]})])
    assert case.unsure == pytest.approx((0.95 - 0.94) / 0.94)
