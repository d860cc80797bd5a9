"""What is shown of an exhibit's runs: pictures, the paper's numbers beside ours, verdicts, one file."""

from __future__ import annotations

import pytest

from solverscope.app.papers import Drawing, Exhibit, Paper, Value
from solverscope.app.papers.claims import NOT_JUDGED, NOT_SEEN, SEEN
from solverscope.app.papers.drawing import MOST_POINTS, ExhibitOutcome, page, pictures
from solverscope.app.papers.measures import Measure, cases
from tests.app.papers.made import run

SWEEP = {"data": "a9a", "solvers": ["lbfgs"]}


def exhibit(**more):
    return Exhibit("figure-1", "A figure", "It falls.", sweep=SWEEP, **more)


def curves(section):
    return [
        (list(drawn.data_source.data["x"]), list(drawn.data_source.data["y"]))
        for drawn in section.figure.renderers
    ]


def test_each_problem_has_a_picture_and_each_run_a_curve():
    found = cases([run(label, [8.0, 2.0, 1.0], lam=lam) for lam in (1e-4, 1e-3) for label in ("a", "b")])
    sections = pictures(Drawing("cpu_seconds", "objective"), found)
    assert [section.heading for section in sections] == ["a9a, λ = 0.0001", "a9a, λ = 0.001"]
    assert curves(sections[0]) == [([0.0, 1.0, 2.0], [8.0, 2.0, 1.0])] * 2
    logarithmic = pictures(Drawing("cpu_seconds", "gap", log_x=True), found)
    assert curves(logarithmic[0])[0] == ([1.0, 2.0], [1.0, 1e-12]), (
        "no time is left out, no gap is at the floor"
    )


def test_over_λ_a_run_is_a_point_where_it_came_to_the_gap():
    found = cases([run("a", [9.0, 1.0], lam=1e-3), run("a", [9.0, 5.0, 1.0], lam=1e-4)])
    found += cases([run("b", [9.0, 5.0], lam=1e-3, status="max-seconds"), run("c", [1.0], lam=1e-3)])
    (section,) = pictures(Drawing("lam", "seconds", to=0.1), found[:2])
    assert curves(section)[0] == ([1e-4, 1e-3], [2.0, 1.0])
    assert pictures(Drawing("lam", "seconds", to=0.1), cases([found[2].runs["b"], run("a", [1.0, 0.5])]))


def test_a_long_curve_keeps_its_ends_and_few_points():
    found = cases([run("a", [1.0 / k for k in range(1, 5000)])])
    (section,) = pictures(Drawing("cpu_seconds", "objective", log_x=True), found)
    ((x, _),) = curves(section)
    assert len(x) <= MOST_POINTS
    assert (x[0], x[-1]) == (1.0, 4998.0)


def test_of_problems_that_differ_in_the_seed_the_first_is_drawn():
    runs = [run("a", [2.0, 1.0]), run("a", [3.0, 1.0])]
    runs[1] = type(runs[1])(
        "a", runs[1].problem.__class__("a9a", seed=1, lam=1e-4), runs[1].record, runs[1].trace
    )
    (section,) = pictures(Drawing("cpu_seconds", "objective"), cases(runs))
    assert curves(section) == [([0.0, 1.0], [2.0, 1.0])]


@pytest.mark.parametrize(("paper", "within", "word"), [(100, 0.1, SEEN), (100, 0.05, NOT_SEEN)])
def test_a_number_that_can_be_compared_has_a_verdict(paper, within, word):
    value = Value("non-zeros", paper, "a", Measure("nnz"), data="a9a", lam=1e-4, within=within)
    outcome = ExhibitOutcome.of(exhibit(values=(value,)), [run("a", [2.0, 1.0], nnz=108)])
    assert str(outcome.measured(value)) == "108"
    assert [verdict.word for verdict in outcome.verdicts] == [word]
    other = ExhibitOutcome.of(exhibit(values=(value,)), [run("a", [2.0, 1.0], nnz=108, lam=1e-3)])
    assert [verdict.word for verdict in other.verdicts] == [NOT_JUDGED]


def test_the_page_stands_alone_and_says_what_came_out():
    value = Value("non-zeros", 100, "a", Measure("nnz"))
    one = exhibit(values=(value,), drawings=(Drawing("iteration", "objective"),))
    outcome = ExhibitOutcome.of(one, [run("a<b", [2.0, 1.0], nnz=108)], ["letter is left out: no file."])
    text = page(Paper("my2030", "My 2030", "A paper", {one.id: one}), [outcome])
    for said in (
        "Figure 1 of My 2030",
        "In the paper: It falls.",
        "letter is left out",
        "a&lt;b",
        "The paper&#39;s",
    ):
        assert said in text
    assert "a<b" not in text.partition("docs_json")[0].partition("<body>")[2]
    assert "<script src" not in text
    other = Exhibit("figure-2", "A drawing", "It stands.", why_not="It is a drawing.")
    both = page(Paper("my2030", "My 2030", "A paper", {one.id: one, other.id: other}), [outcome, outcome])
    assert "Figure 2, A drawing: It is a drawing." in both
    assert '<link rel="stylesheet' not in text
