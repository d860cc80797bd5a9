"""A report is one file with all that it needs, and leaves the figures as they were."""

from __future__ import annotations

import re

from bokeh.document import Document

from solverscope.app.views import Convergence, Sparsity
from solverscope.app.views.compare.report import Section, report


def made(traces):
    left = Convergence(traces)
    right = Sparsity(traces, left.cursor, beside=left)
    return [left.figure, right.figure]


def test_figures_and_words_are_in_one_file_that_asks_for_no_other(traces):
    figures = made(traces)
    sections = [Section("A <plot>", "<p>said</p>", figures[0]), Section("Another", "", figures[1])]
    text = report("R & D", [*sections, Section("Words")])
    assert "<title>R & D</title>" in text.replace("&amp;", "&")
    assert (
        text.index("A &lt;plot&gt;") < text.index("<p>said</p>") < text.index("Another") < text.index("Words")
    )
    for figure in figures:
        assert f'data-root-id="{figure.id}"' in text
    assert not re.findall(r"""<(?:script|link|img)[^>]+(?:src|href)=["'](?!data:)""", text)


def test_a_report_without_figures_has_its_words():
    assert "<p>said</p>" in report("Words", [Section("Settings", "<p>said</p>")])


def test_the_figures_stay_where_they_are(traces):
    figures, document = made(traces), Document()
    for figure in figures:
        document.add_root(figure)
    report("Both", [Section("", "", figure) for figure in figures])
    assert document.roots == figures
    assert all(figure.document is document for figure in figures)
    figures[0].title.text = "still"
    assert figures[0].x_range is figures[1].x_range
