"""Sizes of data here and in a paper: what they are, when they differ, and that each paper says its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from solverscope.app.papers import papers, sizes
from solverscope.app.papers.sizes import DataSize, Sizes
from solverscope.app.settings.recipe import Recipe
from tests.app.papers import made

MNIST = DataSize(60_000, 780, 10)


@pytest.mark.parametrize(
    ("here", "said"),
    [
        (DataSize(60_000, 784, 10), ""),
        (DataSize(54_001, 784, 10), ""),
        (DataSize(8_000, 784, 10), "8,000 instances for 60,000"),
        (DataSize(60_000, 500, 2), "500 features for 780, 2 classes for 10"),
        (DataSize(), ""),
    ],
)
def test_data_that_differ_by_more_than_a_tenth_are_other_data(here, said):
    assert MNIST.differs(here) == said


def test_a_number_that_is_rounded_may_be_off_by_its_rounding_besides():
    about = DataSize(7_000, about=True)
    assert about.differs(DataSize(7_775)) == ""
    assert about.differs(DataSize(9_603)) == "9,603 instances for 7,000"
    assert DataSize(7_000).differs(DataSize(7_775)) == "7,775 instances for 7,000"
    assert (str(about), str(MNIST)) == ("about 7,000 instances", "60,000 instances, 780 features, 10 classes")


def test_the_papers_size_is_that_of_the_data_with_its_options():
    known = Sizes.of(
        {"mnist": {"n": 60_000, "classes": 10}, "mnist,positive=even": {"n": 60_000, "classes": 2}}
    )
    assert known.of_data(Recipe("mnist", {"positive": "even", "split": "random"})).classes == 2
    assert known.of_data(Recipe("mnist", {"positive": "3"})).classes == 10
    assert known.of_data(Recipe("digits")) is None


def test_of_a_function_of_two_variables_the_variables_are_told():
    toy = DataSize(1, 2, 2).only(DataSize(d=2))
    assert (toy, str(toy)) == (DataSize(d=2), "2 features")


def test_a_run_says_how_its_data_differ_from_the_papers():
    one = made.run("a", [2.0, 1.0])
    here = {"n_samples": 32_561, "n_features": 123, "n_outputs": 1}
    one = replace(one, record={**one.record, "problem": here})
    assert DataSize.of_run(one) == DataSize(32_561, 123, 2)
    assert Sizes.of({"a9a": {"n": 32_561, "d": 123, "classes": 2}}).differ(one) == ""
    assert Sizes.of({"a9a": {"n": 1_605}}).differ(one) == "a9a has 32,561 instances for 1,605"
    assert Sizes.of({"w8a": {"n": 1_605}}).differ(one) == "a9a is not the paper's"
    assert replace(Sizes.of({}), any_data=True).differ(one) == ""
    waiting = replace(one, record={"status": "stopped"})
    assert Sizes.of({"a9a": {"n": 1_605}}).differ(waiting) == ""


@pytest.mark.parametrize("id", papers())
def test_each_paper_says_how_large_its_data_are(id):
    known = [one for e in papers()[id].exhibits.values() for one in e.sizes.known.values()]
    assert known
    assert all(getattr(one, part) is None or getattr(one, part) > 1 for one in known for part in sizes.PARTS)
