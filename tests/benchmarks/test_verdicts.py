"""The reports' verdicts: medians, and runs that the budget cut."""

from __future__ import annotations

import numpy as np
import pytest

import datasets
from tests.benchmarks import verdicts
from tests.benchmarks.blondel import SETS
from tests.benchmarks.verdicts import Bounds

LAMS = [1e-2, 1e-3]
ANYTHING = Bounds(0.0, 1.0)


def exact(*values):
    return [Bounds.exact(value) for value in values]


def test_the_median_of_ten_is_the_mean_of_the_fifth_and_sixth():
    seconds = np.random.default_rng(0).permutation([1.0, 2.0, 3.0, 4.0, 5.0, 9.0, 10.0, 11.0, 12.0, 13.0])
    assert verdicts.median(exact(*seconds)) == Bounds.exact(7.0)
    assert verdicts.median(exact(3.0, 1.0, 2.0)) == Bounds.exact(2.0)


def test_a_run_that_was_cut_is_a_lower_bound_in_every_sum():
    cut = Bounds.at_least(60.0)
    assert verdicts.mean([*exact(20.0), cut]) == Bounds.at_least(40.0)
    assert verdicts.total([*exact(20.0), cut]) == Bounds.at_least(80.0)
    assert verdicts.smallest([*exact(20.0), cut]) == Bounds.exact(20.0)
    assert verdicts.largest([*exact(20.0), cut]) == Bounds.at_least(60.0)
    # the middle of these does not hang on the one that was cut, that of the next does
    assert verdicts.median([*exact(1.0, 2.0, 3.0), cut]) == Bounds.exact(2.5)
    assert verdicts.median([*exact(1.0, 2.0), cut, cut]) == Bounds.at_least(31.0)
    assert str(verdicts.median([cut, cut])) == "over 60"


def test_bounds_decide_only_what_they_can():
    assert verdicts.less(Bounds.exact(10.0), Bounds.at_least(60.0)) is True
    assert verdicts.less(Bounds.at_least(60.0), Bounds.exact(10.0)) is False
    assert verdicts.less(Bounds.at_least(60.0), Bounds.exact(90.0)) is None
    assert verdicts.less(Bounds.at_least(60.0), Bounds.at_least(60.0)) is None
    assert verdicts.verdict(None, 3) == "undecided: 3 runs were cut by the budget"
    assert verdicts.verdict(True, 0) == "seen"
    assert verdicts.verdict(False, 1) == "not seen, though 1 run was cut by the budget"


def test_better_is_undecided_where_a_cut_run_might_have_been_the_best():
    row = verdicts.better("a", LAMS, exact(0.8, 0.9), [*exact(0.7), ANYTHING], 0.0, 1)
    assert row[2] == "undecided: 1 run was cut by the budget"
    assert row[1] == "0.9000 / at least 0.7000"
    row = verdicts.better("a", LAMS, [*exact(0.8), ANYTHING], exact(0.7, 0.9), 0.0, 1)
    assert row[2].startswith("undecided")


def test_better_is_seen_where_no_cut_run_can_change_it():
    row = verdicts.better("a", LAMS, [ANYTHING, *exact(0.9)], exact(0.7, 0.8), 0.0, 1)
    assert row[1:] == ["at least 0.9000 / 0.8000", "seen, though 1 run was cut by the budget", row[3]]
    assert row[3] == "best at λ = 0.001 / 0.001"


@pytest.mark.parametrize(("slack", "word"), [(0.0, "not seen"), (0.02, "seen")])
def test_better_takes_the_best_of_all_lams_and_grants_the_slack(slack, word):
    assert verdicts.better("a", LAMS, exact(0.89, 0.5), exact(0.5, 0.9), slack, 0)[2] == word


def test_every_set_of_the_paper_that_the_catalog_knows_is_in_the_report():
    ids = {id for id, _ in SETS.values()}
    known = [entry for entry in datasets.DATASETS.values() if "Blondel" in entry.paper]
    multiclass = {
        entry.id for entry in known if "multiclass" in (entry.kind, *(kind for _, kind in entry.kinds))
    }
    assert {"amazon7", "rcv1", "sector"} <= multiclass <= ids
    for id, options in SETS.values():
        datasets.DATASETS[id].parse(options)
