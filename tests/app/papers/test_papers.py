"""The papers: every figure and table is there, every sweep can be laid out, every claim names runs."""

from __future__ import annotations

import re
from dataclasses import asdict

import pytest

from solverscope import datasets
from solverscope.app.papers import IDS, Value, paper, papers, read
from solverscope.app.papers.plan import BEFORE, FOR_SOLVERS, layout, plan, text_of
from solverscope.app.sweep.spec import RUNS, Spec
from solverscope.solvers import SOLVERS

#: What each paper has captions of.
FIGURES = {"yu2010": 25, "zhong2014": 8, "blondel2013": 5, "mathur2006": 13}
TABLES = {"yu2010": 3, "zhong2014": 2, "blondel2013": 2, "mathur2006": 5}
EXHIBITS = [
    pytest.param(one, id=f"{p.id}-{one.id}") for p in papers().values() for one in p.exhibits.values()
]
RUN = [param for param in EXHIBITS if param.values[0].sweep is not None]


@pytest.fixture
def nothing_at_hand(monkeypatch, tmp_path):
    monkeypatch.setenv("SOLVERSCOPE_DATA", str(tmp_path))
    monkeypatch.setenv("SOLVERSCOPE_HOME", str(tmp_path))


@pytest.mark.parametrize("id", IDS)
def test_every_figure_and_table_stands_in_the_list(id):
    found = [exhibit for exhibit in papers()[id].exhibits if not exhibit.startswith("section-")]
    wanted = [f"figure-{k + 1}" for k in range(FIGURES[id])] + [f"table-{k + 1}" for k in range(TABLES[id])]
    assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize("exhibit", EXHIBITS)
def test_what_the_paper_shows_and_why_nothing_is_run_are_sentences(exhibit):
    for sentence in filter(None, (exhibit.shows, exhibit.why_not, exhibit.here)):
        assert sentence.endswith("."), sentence


@pytest.mark.parametrize("exhibit", RUN)
def test_all_of_it_can_be_laid_out_and_claims_and_numbers_name_its_runs(exhibit):
    runs = [*exhibit.sweep.get(RUNS, ({},)), *exhibit.stand_ins]
    cells = Spec.of({**exhibit.sweep, RUNS: runs}).cells
    labels = {cell.entrant.label for cell in cells}
    assert labels >= {label for claim in exhibit.claims for label in claim.labels}
    assert labels >= {value.run for value in exhibit.values}
    data = {cell.problem.data_text.partition(",seed=")[0] for cell in cells}
    assert data >= {value.data for value in exhibit.values if value.data}
    assert {cell.problem.data for cell in cells} >= {id for claim in exhibit.claims for id in claim.data}


@pytest.mark.parametrize("exhibit", RUN)
def test_a_text_names_no_run_that_is_not_made(exhibit):
    runs = [*exhibit.sweep.get(RUNS, ({},)), *exhibit.stand_ins]
    cells = Spec.of({**exhibit.sweep, RUNS: runs}).cells
    known = {cell.entrant.label for cell in cells} | {cell.problem.data for cell in cells}
    for word in re.findall(r"`([^`]+)`", exhibit.here):
        stem = word.removesuffix("…")
        assert any(one == word or (stem != word and one.startswith(stem)) for one in known), word
        assert word not in SOLVERS or word in known


@pytest.mark.parametrize("exhibit", [one for one in RUN if one.id.startswith("zhong2014")])
def test_prox_qn_is_judged_as_it_is_printed(exhibit):
    runs = [*exhibit.sweep.get(RUNS, ({},)), *exhibit.stand_ins]
    cells = Spec.of({**exhibit.sweep, RUNS: runs}).cells
    made = {cell.entrant.label: cell.entrant.make() for cell in cells}
    printed = SOLVERS["prox-qn"].presets["paper"]
    assert printed.items() <= asdict(made["printed"]).items()
    assert not printed.items() <= asdict(made["ours"]).items()
    assert {"ours", "prox-qn"}.isdisjoint(label for claim in exhibit.claims for label in claim.labels)
    assert {value.run for value in exhibit.values} <= {"printed"}


def test_block_coordinate_descent_is_judged_without_shrinking():
    for exhibit in papers()["blondel2013"].exhibits.values():
        if exhibit.sweep is not None and exhibit.id not in ("figure-1", "section-5.2.4"):
            cells = Spec.of(exhibit.sweep).cells
            judged = {label for claim in exhibit.claims for label in claim.labels}
            bcd = [c.entrant for c in cells if c.entrant.id.startswith("bcd-") and c.entrant.label in judged]
            assert bcd
            assert not any(entrant.make().shrinking for entrant in bcd)


def test_figures_that_the_paper_says_nothing_of_are_read_and_say_so():
    for id in ("figure-7", "figure-8"):
        exhibit = papers()["zhong2014"].exhibits[id]
        assert "read off the picture" in exhibit.shows
        assert all(claim.text.startswith("read off the picture") for claim in exhibit.claims)


def test_two_claims_are_left_to_the_eye():
    """Superlinear convergence to an f* that is the least f found, and the same initial growth of F1."""
    untested = [
        (p.id, exhibit.id)
        for p in papers().values()
        for exhibit in p.exhibits.values()
        for claim in exhibit.claims
        if claim.test is None
    ]
    assert untested == [("yu2010", "figure-9"), ("mathur2006", "figure-9")]


def test_ridges_that_win_are_on_the_grid():
    exhibit = papers()["mathur2006"].exhibits["figure-6"]
    lams = {cell.problem.lam for cell in Spec.of(exhibit.sweep).cells}
    assert lams > {1e-7, 1e-10}
    assert {lam for claim in exhibit.claims for lam in getattr(claim.test, "lam", ())} == {1e-7, 1e-10}


@pytest.mark.parametrize("exhibit", [one for one in RUN if one.id.startswith("mathur2006")])
def test_plain_and_clustered_solvers_that_are_compared_begin_alike(exhibit):
    cells = Spec.of(exhibit.sweep).cells
    made = {cell.entrant.label: cell.entrant.make() for cell in cells}
    for claim in exhibit.claims:
        labels = [*getattr(claim.test, "first", ()), *getattr(claim.test, "than", ())]
        if any(type(made[label]).id.startswith("clustered") for label in labels):
            assert len({made[label].scaled for label in labels}) == 1, claim.text


def test_iterative_scaling_finds_its_difference_vector_once():
    exhibit = papers()["mathur2006"].exhibits["table-1"]
    fis = [cell.entrant.make() for cell in Spec.of(exhibit.sweep).cells if cell.entrant.label == "fis"]
    assert {solver.difference for solver in fis} == {"once"}


def test_numbers_of_tables_are_all_there():
    """Table 2 of Yu et al. but Astro-physics: k of two losses and two subgradients on five sets."""
    cells = {(value.data, value.run) for value in papers()["yu2010"].exhibits["table-2"].values}
    data = {"a9a", "covtype,positive=2", "mnist,positive=even", "rcv1", "real-sim"}
    assert cells == {(one, run) for one in data for run in ("owl-qn-star", "random", "sublbfgs")}


def test_letter_has_the_λ_and_the_rows_of_table_3():
    lams = {
        (cell.problem.data_text, cell.problem.lam)
        for exhibit in papers()["yu2010"].exhibits.values()
        if exhibit.sweep is not None and exhibit.id != "figure-20"
        for cell in Spec.of(exhibit.sweep).cells
        if cell.problem.data == "letter"
    }
    assert lams == {("letter,n_train=16000", 1e-6)}


@pytest.mark.parametrize("exhibit", RUN)
def test_without_any_files_it_still_runs_on_what_needs_none(exhibit, nothing_at_hand):
    found = layout(exhibit)
    assert found.table is not None
    assert all(datasets.describe(one.partition(",")[0]).available()[0] for one in found.data)
    assert all(note.endswith(".") for note in found.notes)
    if found.stand_in:
        assert found.notes[-1].endswith("for the paper's data.")


@pytest.mark.parametrize("exhibit", RUN)
def test_what_the_page_shows_of_it_is_read_as_the_same_runs(exhibit, nothing_at_hand):
    table = layout(exhibit).table
    assert Spec.parse(text_of(table)).digest == Spec.of(table).digest


def test_a_budget_is_shared_by_all_runs_and_run_limits_stay(nothing_at_hand):
    exhibits = [papers()["yu2010"].exhibits[id] for id in ("figure-3", "figure-15", "figure-19")]
    found = plan("some", exhibits, 100.0, 2)
    assert found.spec.total_seconds == 100.0
    n = len(found.spec.cells)
    assert n == sum(len(keys) for keys in found.cells.values()) == 3 + 4 + 4
    limits = {cell.limits.max_seconds for cell in found.spec.cells}
    assert limits == {float(f"{FOR_SOLVERS * 2 * (100.0 - BEFORE) / n:.2g}")}
    longer = plan("some", exhibits, 1e6, 2)
    assert {cell.limits.max_seconds for cell in longer.spec.cells} > {1000.0}


def test_a_run_of_two_exhibits_is_done_once():
    exhibits = [papers()["blondel2013"].exhibits[id] for id in ("figure-5", "table-2")]
    found = plan("both", exhibits, 600.0, 2)
    assert found.cells["figure-5"] == found.cells["table-2"]
    assert len(found.spec.cells) == len(found.cells["table-2"])


def test_exhibits_take_turns():
    exhibits = [papers()["zhong2014"].exhibits[id] for id in ("figure-1", "table-1", "figure-8")]
    found = plan("some", exhibits, 600.0, 2)
    order = [cell.key for cell in found.spec.cells]
    assert order[:3] == [found.cells[exhibit.id][0] for exhibit in exhibits]
    third = [found.cells[exhibit.id][2] for exhibit in exhibits]
    assert max(map(order.index, third)) < order.index(found.cells["figure-1"][5])


def test_what_is_not_there_is_named():
    with pytest.raises(
        ValueError, match=r"no paper 'zhong' \(did you mean zhong2014\?\): choose one of yu2010, "
    ):
        paper("zhong")
    with pytest.raises(ValueError, match="yu2010 has no 'figure-99': choose one of figure-1, "):
        paper("yu2010").exhibit("figure-99")
    with pytest.raises(ValueError, match="Figure 1 is not run: It is a drawing of two inequalities"):
        plan("one", [paper("yu2010").exhibit("figure-1")], 60.0, 1)


TITLED = '[[exhibit]]\nid = "figure-1"\ntitle = "t"\nshows = "s."\n'


@pytest.mark.parametrize(
    "text",
    [
        'id = "a"',
        TITLED,
        TITLED + 'why_not = "w."\n[exhibit.sweep]\ndata = "digits"',
        TITLED + 'why_not = "w."\n[[exhibit.draw]]\nx = "a"\ny = "b"',
        TITLED + 'like = "figure-2"',
    ],
)
def test_a_file_that_is_no_paper_is_named(tmp_path, text):
    path = tmp_path / "my2030.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"my2030\.toml is no paper: "):
        read(path)


PAPER = """
id = "my2030"
cite = "c"
title = "t"
"""
SWEPT = """
[exhibit.sweep]
data = "digits"
lam = [1e-3, 0.5]
solvers = ["prox-qn"]
[exhibit.values]
by = "lam"
run = "prox-qn"
rows = [
    {name = "λ = {}", paper = {1e-3 = 7, "0.5" = 3}, field = "nnz"},
    {name = "λ = {}: f", paper = {1e-3 = 0.25}, field = "objective"},
]
"""


def test_a_row_of_a_table_is_a_number_for_each_entry(tmp_path):
    path = tmp_path / "my2030.toml"
    path.write_text(PAPER + TITLED + SWEPT)
    first, second, third = read(path).exhibits["figure-1"].values
    assert (first.name, first.lam, first.paper, first.measure.field) == ("λ = 1e-3", 1e-3, 7, "nnz")
    assert (second.name, second.lam, second.paper, second.run) == ("λ = 0.5", 0.5, 3, "prox-qn")
    assert (third.name, third.lam, third.measure.field, third.run) == (
        "λ = 1e-3: f",
        1e-3,
        "objective",
        "prox-qn",
    )


def test_an_exhibit_like_another_says_only_what_differs(tmp_path):
    path = tmp_path / "my2030.toml"
    own = '[[exhibit]]\nid = "figure-2"\nlike = "figure-1"\ntitle = "other"\n[exhibit.sweep]\nlam = 2\n'
    path.write_text(PAPER + TITLED + SWEPT + own)
    one, other = read(path).exhibits.values()
    assert (other.title, other.shows, other.values) == ("other", one.shows, one.values)
    assert other.sweep == {**one.sweep, "lam": 2}
    assert one.sweep["lam"] == [1e-3, 0.5]


def test_all_runs_are_made_with_each_of_what_is_compared(tmp_path):
    path = tmp_path / "my2030.toml"
    sweep = '[exhibit.sweep]\nruns = [{data = "a"}, {data = "b", lam = 2}]\n'
    each = '[[exhibit.stand_in]]\ndata = "c"\n[[exhibit.each]]\nloss = "l"\n[[exhibit.each]]\nloss = "m"\n'
    path.write_text(PAPER + TITLED + sweep + each)
    one = read(path).exhibits["figure-1"]
    apart = [{"data": "a"}, {"data": "b", "lam": 2}]
    assert one.sweep == {"runs": tuple({**run, "loss": loss} for run in apart for loss in "lm")}
    assert one.stand_ins == ({"data": "c", "loss": "l"}, {"data": "c", "loss": "m"})


def test_numbers_of_the_paper_are_numbers():
    values = [value for p in papers().values() for e in p.exhibits.values() for value in e.values]
    assert len(values) > 100
    assert all(isinstance(value, Value) and isinstance(value.paper, int | float) for value in values)
