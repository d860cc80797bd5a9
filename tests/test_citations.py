"""Every citation of the four papers: the part is there, and is about what is said with it."""

import functools
import re
import tomllib

import pytest

from solverscope.app.papers import papers
from tests.citations import NAMES, READERS, ROOT, citations, cited

LISTS = tomllib.loads((ROOT / "tests" / "papers.toml").read_text(encoding="utf-8"))
FOLDERS = ("app", "assets", "datasets", "solvers")
FILES = sorted(
    path
    for path in [
        *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*")),
        ROOT / "README.md",
        ROOT / "tests" / "benchmarks" / "README.md",
    ]
    if path.suffix in READERS
)
#: No citations: words of messages and examples.
OWN = {"app/papers/__init__.py"}
#: Numbers of tables, as in the one paper that writes them so.
ROMAN = {"1": "I", "2": "II", "3": "III", "4": "IV", "5": "V"}


@functools.cache
def all_cited():
    """The citations of all files: reading them takes seconds, which no other test has to wait for."""
    return [citation for path in FILES for citation in citations(path)]


def entry(citation):
    return LISTS[citation.paper].get(citation.part, ())


@pytest.mark.parametrize("paper", NAMES)
def test_each_part_that_is_cited_is_in_its_paper(paper):
    found = [citation for citation in all_cited() if citation.paper == paper]
    assert len(found) > 50
    missing = {f"{c.place}: {paper} has no {c.part}" for c in found if not entry(c)}
    assert not missing, "\n".join(sorted(missing))


def test_it_is_said_whose_part_is_meant():
    unknown = {
        f"{c.place}: {c.part}, {c.text[:90]}"
        for c in all_cited()
        if c.paper is None and c.place.partition(":")[0] not in OWN
    }
    assert not unknown, "\n".join(sorted(unknown))


def test_what_a_part_says_is_what_it_is_cited_for():
    """Numbers alone are too weak: (5) and (6) are both there. The words are in ``papers.toml``."""
    # exhibits of a paper name others of it, and where its data are from
    known = [c for c in all_cited() if c.paper and entry(c) and not c.place.startswith("app/papers/")]
    strange = {
        f"{c.place}: {c.paper} {c.part} is {entry(c)[0]!r}: {c.text[:90]}"
        for c in known
        if len(entry(c)) < 2 or not re.search(entry(c)[1], c.text)
    }
    assert not strange, "\n".join(sorted(strange))


@pytest.mark.parametrize("paper", papers().values(), ids=lambda paper: paper.id)
def test_figures_and_tables_that_are_run_are_those_of_their_paper(paper):
    def part(id):
        kind, _, number = id.partition("-")
        return f"{kind} {ROMAN[number] if (paper.id, kind) == ('mathur2006', 'table') else number}"

    assert [id for id in paper.exhibits if part(id) not in LISTS[paper.id]] == []


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Yu et al. 2010, eqs. (23)-(24)", ["yu2010 equation 23", "yu2010 equation 24"]),
        ("eq. (19) of Zhong 2014; Yu et al., section 8.4", ["zhong2014 equation 19", "yu2010 section 8.4"]),
        ("sections III-E-6 and IV of A. Mathur", ["mathur2006 section III-E.6", "mathur2006 section IV"]),
        ("Hsieh et al. 2008, Algorithm 3; Blondel, algorithm 1", ["blondel2013 algorithm 1"]),
        ("algorithms 1 to 3 of Blondel et al.", ["blondel2013 algorithm 1", "blondel2013 algorithm 3"]),
        ("Nocedal and Wright, Algorithm 7.4", []),
        ("a table of 8 rows", []),
    ],
)  # fmt: skip
def test_citations_are_read(text, parts):
    assert [f"{c.paper} {c.part}" for c in cited("here", text, None)] == parts
