"""Columns of tables of runs are declared once, and written as the command line and the page write them."""

from __future__ import annotations

import pytest

from solverscope import datasets, solvers
from solverscope.app import ui
from solverscope.app.settings import columns
from solverscope.app.views import Race
from solverscope.solvers import FIELDS


@pytest.fixture(scope="module")
def traces():
    problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam=0.01)
    ids = ("prox-qn", "owl-qn")
    stopping = solvers.Stopping(max_iter=4)
    return [
        solvers.Run(problem, solvers.make_solver(id), label=id, stopping=stopping).execute() for id in ids
    ]


def standing(traces):
    return Race(traces).tables()[0]


def test_the_tables_of_the_page_are_headed_as_they_have_always_been():
    titles = {
        "LEGEND_TABLE": "iterations|epoch|objective|non-zeros|working set|CPU",
        "STANDING_TABLE": "place|run|objective|gap|behind the leader by|at its iteration",
        "SUMMARY_TABLE": (
            "run|status|λ|objective|violation|proved bound|non-zeros|iterations|passes|CPU|"
            "CPU to a gap of 0.01|CPU to a gap of 1e−4|CPU to a gap of 1e−6"
        ),
    }
    for name, said in titles.items():
        found = getattr(columns, name)
        assert "|".join(columns.page_title(key, one) for key, one in found.items()) == said
    for gap in columns.TABLE_GAPS:
        title = columns.page_title("", columns.TABLE_COLUMNS[columns.seconds_column(gap)])
        assert title == f"CPU to a gap of {ui.number(gap)}"


def test_the_tables_of_the_command_line_are_headed_as_they_have_always_been():
    headings = {
        "RUN_TABLE": "run|status|objective|gap|proved bound|violation|non-zeros|iterations|passes|CPU s|",
        "REPEATED_TABLE": (
            "run|runs|status|objective|gap|proved bound|violation|non-zeros|iterations|passes|CPU s|"
        ),
        "PROGRAMS_TABLE": "solver|watched by|CPU s to 0.01|CPU s to 0.0001|end",
        "HISTORY_TABLE": "id|when|run|solver|options|data|problem|λ|objective|iterations|state",
    }
    for name, said in headings.items():
        assert "|".join(one.heading for one in getattr(columns, name).values()).startswith(said)


def test_a_field_of_the_record_that_a_table_names_stands_in_it(traces, monkeypatch):
    before = standing(traces)
    more = {**columns.STANDING_TABLE, **columns.table("nnz", "violation")}
    monkeypatch.setattr("solverscope.app.views.compare.race.STANDING_TABLE", more)
    after = standing(traces)
    assert list(after.heads) == [*before.heads, FIELDS["nnz"].title, FIELDS["violation"].title]
    last = {trace.info.label: trace.last for trace in traces}
    for old, new in zip(before.rows, after.rows, strict=True):
        assert list(new[: len(old)]) == list(old)
    reached = {row[1]: (row[5], row[6]) for row in after.rows}
    for label, (iteration, nnz) in reached.items():
        if iteration == str(last[label]["iteration"]):
            assert nnz == str(last[label]["nnz"])
    assert any(iteration == "4" for iteration, _ in reached.values())


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("objective", 0.123456789, "0.12345679"),
        ("objective", None, "–"),
        ("nnz", 1234, "1\u202f234"),
        ("cpu_seconds", 1.5, "1.50 s"),
        ("lam", 0.3, "0.3"),
        ("lam", "0.3, 0.1 from iteration 4", "0.3, 0.1 from iteration 4"),
        ("seconds_to_0.01", 0.25, "0.25 s"),
        ("seconds_to_0.01", None, "–"),
    ],
)
def test_a_value_is_written_as_the_page_writes_it(name, value, text):
    assert columns.page_text(name, columns.TABLE_COLUMNS[name], value) == text
