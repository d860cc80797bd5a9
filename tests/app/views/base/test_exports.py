"""Tables as text: what is written can be read again, and no sign is taken for another."""

from __future__ import annotations

import csv
import io

import panel as pn

from solverscope.app.views import Table
from solverscope.app.views.base.exports import FORMS, CopyButtons, as_csv, as_latex, as_markdown
from solverscope.app.views.compare.summary import SUMMARY_HEADS, cells
from solverscope.solvers import Trace

ROWS = [
    ['a,"b"|_1&2%', "converged", 1 / 3, 12, None],
    ["plain", "stopped", 2.5e-9, 7, 0.5],
]
NAMES = ["run", "status", "objective", "nnz", "a_b"]


def test_csv_is_read_back_with_all_digits():
    head, *rows = csv.reader(io.StringIO(as_csv(NAMES, ROWS)))
    assert head == NAMES
    assert [row[:2] for row in rows] == [row[:2] for row in ROWS]
    assert [float(row[2]) for row in rows] == [1 / 3, 2.5e-9]
    assert [row[4] for row in rows] == ["", "0.5"]


def test_csv_has_no_text_that_a_spreadsheet_computes_and_numbers_stay_numbers():
    formulas = ["=1+1", "+cmd|' /C calc'!A0", "-1+1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("x")']
    numbers = [-1.5, -3, 0.0, "-1.5", "+2", "-1e-300"]
    texts = ["a=b", "prox-qn", "", "1-2"]
    line = [*formulas, *numbers, *texts]
    (head, row) = csv.reader(io.StringIO(as_csv(formulas, [line]), newline=""))
    assert head == ["'" + text.replace("\t", " ").replace("\r", " ") for text in formulas]
    assert row == [*head, *map(str, numbers), *texts]


def test_markdown_has_numbers_to_the_right_and_a_bar_within_a_text_is_none():
    lines = as_markdown(NAMES, ROWS).splitlines()
    assert lines[1] == "| --- | --- | ---: | ---: | ---: |"
    assert lines[2] == '| a,"b"\\|_1&2% | converged | 0.333333 | 12 | – |'
    assert all(line.replace("\\|", "").count("|") == 6 for line in lines)


def test_latex_escapes_its_signs_and_writes_powers_of_ten():
    lines = as_latex(NAMES, ROWS).splitlines()
    assert lines[0] == r"\begin{tabular}{llrrr}"
    assert lines[2] == r"run & status & objective & nnz & a\_b \\"
    assert lines[4] == r'a,"b"|\_1\&2\% & converged & $0.333333$ & 12 & -- \\'
    assert lines[5] == r"plain & stopped & $2.5 \cdot 10^{-9}$ & 7 & $0.5$ \\"
    assert lines[-1] == r"\end{tabular}"
    assert as_latex(["\\~^"], []).splitlines()[2] == r"\textbackslash{}\textasciitilde{}\textasciicircum{} \\"


def test_the_summary_is_copied_with_what_is_known_at_the_end():
    traces = [
        Trace.from_records([{"iteration": 0, "objective": f, "nnz": n}], label=label, f_star=1.0)
        for label, f, n in (("first", 1.005, 9), ("second", 2.0, 3))
    ]
    traces[0].result = {"violation": 1e-7, "dual_gap": 2e-3}
    view = Table(traces)
    (copy,) = pn.panel(view).select(CopyButtons)
    assert list(copy.texts) == list(FORMS)
    rows = list(csv.DictReader(io.StringIO(copy.texts["CSV"])))
    assert [row["run"] for row in rows] == ["first", "second"]
    assert float(rows[0]["violation"]) == 1e-7
    assert float(rows[0]["proved bound"]) == 2e-3
    assert rows[1]["violation"] == rows[1]["proved bound"] == ""
    assert len(cells(traces[0])) == len(SUMMARY_HEADS) == len(rows[0])
