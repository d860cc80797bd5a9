"""Every plot says what it shows: two sentences, an equation with its source, and what its marks mean."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from solverscope import datasets, solvers
from solverscope.app import ui, views
from solverscope.app.benchopt.curves import BenchoptCurves
from solverscope.app.views.base.help import FIGURES, LINE_END, Help, formula
from solverscope.app.views.base.view import View
from solverscope.app.views.convergence.any_field import NUMBERS, Record
from solverscope.app.views.path.lam_path import ALL_PLOTS

#: Papers, and what numbers are of in them.
PAPERS = r"Zhong|Blondel|Yu|Mathur and Chakrabarti|Teo|Hsieh|Dolan|Ndiaye|Hastie"
NUMBERED = r"eq\. \(\d+\)|sections? [\dI]|Algorithm \d|Theorem \d|Figure \d|et al\. \d{4}|Moré 2002"


def kinds() -> list[type[View]]:
    """All views of the page, and those that they are made of."""
    found: dict[type[View], None] = dict.fromkeys(
        (*views.ABOVE_TABS, *views.REPLACEMENTS, *views.TABS.values(), BenchoptCurves)
    )

    def below(kind: type[View]) -> None:
        for inner in kind.__subclasses__():
            if inner.__module__.startswith("solverscope.app.") and getattr(inner, "id", ""):
                found[inner] = None
            below(inner)

    below(View)
    return [kind for kind in found if kind.__module__.startswith("solverscope.app.")]


#: What there is a record of, by the name of its help.
RECORDS = {f"record of {field}": field for field in NUMBERS}


def help_of(name: str) -> Help:
    return FIGURES[name] if name in FIGURES else Record(field=RECORDS[name]).explain("record")


def test_the_views_tell_of_each_of_their_figures_what_it_shows_and_of_no_other(monkeypatch):
    names: list[str] = [*ALL_PLOTS, "landscape"]  # drawn for runs alone
    styled = ui.styled
    for place in ("solverscope.app.ui.styled", "solverscope.app.ui.plots.styled"):
        monkeypatch.setattr(place, lambda fig, name: (names.append(name), styled(fig, name))[1])
    for kind in kinds():
        kind()
    assert set(names) == FIGURES.keys() | {"record"}, "a record tells by its field"


@pytest.mark.parametrize("name", [*FIGURES, *RECORDS])
def test_it_is_two_sentences_an_equation_with_its_source_and_a_legend(name):
    about = help_of(name)
    assert len(re.findall(r"[.?](?= [A-Z]|$)", about.text.replace("et al. ", ""))) == 2, about.text
    assert about.title
    assert about.marks
    assert len(set(about.marks)) == len(about.marks)
    assert re.search(PAPERS, about.source) is None or re.search(NUMBERED, about.source), about.source
    for line in about.equation.split(LINE_END):
        text = "".join(ElementTree.fromstring(formula(line)).itertext())
        assert "\\" not in text, text
        assert "&" not in text, text
        assert len(text) < 70, "it is seen without scrolling"
    assert about.html().count("<li>") == len(about.marks)


def test_most_equations_cite_a_paper():
    own = sorted(name for name, about in FIGURES.items() if not re.search(PAPERS, about.source))
    assert own == ["benchopt", "phases", "rule-cost"], "which are drawn from clocks alone"


def test_what_is_said_becomes_html_only_in_the_way_of_a_text():
    about = Help("a < b", "One & two. Three.", "a < b", "<i>", ())
    assert "<i>" not in about.html()
    assert "a &lt; b" in about.html()


def test_texts_say_that_an_epoch_keeps_the_pairs_as_the_default_does():
    problem = solvers.make_problem(datasets.load("digits"), penalty="l1", lam=0.001)
    trace = solvers.solve(problem, solvers.make_solver("prox-qn", start="none"), tol=1e-4)
    epochs = [k for k, events in enumerate(trace.events) if "epoch-start" in events and k > 0]
    assert epochs
    assert any(trace.memory_pairs[k] > 0 and "memory-cleared" not in trace.events[k] for k in epochs)
    texts = [help_of(name).text for name in (*FIGURES, *RECORDS)]
    clearing = [text for text in texts if re.search(r"epoch.*clear|clear.*epoch", text)]
    assert len(clearing) == 1
    assert "keep_pairs=false" in clearing[0]
    assert not any("memory is cleared" in text for text in texts)
