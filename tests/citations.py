"""Citations of the papers in texts: which part of which paper, and the words that stand around them."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: How the four papers are named, by the key of ``papers.toml``.
NAMES = {
    "zhong2014": r"Zhong\b|\bZ(?=, Alg)",
    "blondel2013": r"Blondel\b|\bB(?=, §)",
    "yu2010": r"Yu\b(?! and)",
    "mathur2006": r"Mathur and Chakrabarti|A\. Mathur",
}
#: Any other work: names and a year, or a book that is cited by its authors.
OTHERS = (
    r"Nocedal and Wright|(?:Hsieh|Keerthi) et al\.|RFC \d+"
    r"|[A-ZÉ][\w-]+(?:,? (?:et al\.|and [A-Z][\w-]+))*,? \(?(?:19|20)\d\d"
)
WORKS = re.compile("|".join([*(f"(?P<{key}>{name})" for key, name in NAMES.items()), f"(?P<other>{OTHERS})"]))

#: A number of a part: 2.1, 12, A, D.1, II-A.5, III-E-6.
NUMBER = r"\(?(?:[IVX]+(?:-[A-Z](?:[.-]\d)?)?\b|[A-E](?:\.\d)*\b|\d+(?:\.\d+)*)\)?"
#: What a part is called in front of its number.
KINDS = {
    "section": r"[Ss]ections?|§",
    "equation": r"[Ee]qs?\.|[Ee]quations?|QP|[Cc]onditions|search(?= \(7)",
    "figure": r"[Ff]igs?\.|[Ff]igures?",
    "table": r"Tables?",
    "algorithm": r"[Aa]lgorithms?|Alg\.",
    "appendix": r"[Aa]ppendix|[Aa]ppendices|app\.",
    "theorem": r"Theorems?",
    "footnote": r"[Ff]ootnotes?",
}
PART = re.compile(
    "|".join(f"(?<![\\w-])(?P<{kind}>{words})(?=[\\s(]+{NUMBER})" for kind, words in KINDS.items())
)
LISTED = re.compile(rf"\s*({NUMBER})(?:\s*(?:-|–|to)\s*({NUMBER}))?(?:(?:,? and|,)(?= {NUMBER}))?")
#: The work behind a part: "eqs. (1) and (2) of ..."
BEHIND = re.compile(rf"[\s\d().,A-EIVX–-]*(?:(?:and|to) [\dA-EIVX()]+ )?of (?={WORKS.pattern})")

#: The paper whose parts a file numbers where it names none, or several.
MEANT = {
    "app/views/playground/playground_marks.py": "yu2010",
    "solvers/methods/proximal/owlqn.py": "yu2010",
    "solvers/methods/proximal/prox_qn_kernels.py": "zhong2014",
    "solvers/working_sets/shrinking.py": "zhong2014",
    "solvers/problems/losses/crf.py": "zhong2014",
}


@dataclass(frozen=True)
class Citation:
    """A part of a paper that a text names: where, of which paper (None: not said), and the text around."""

    place: str
    paper: str | None
    kind: str
    number: str
    text: str

    @property
    def part(self) -> str:
        """The name of the part, as in ``papers.toml``."""
        return f"{self.kind} {self.number}"


def numbers(text: str) -> list[str]:
    """Return the numbers of parts that a text begins with: 2, 2.1, III-E.1; of a range its ends."""
    found: list[str] = []
    while listed := LISTED.match(text):
        first, last = (group and group.strip("()") for group in listed.groups())
        found += [first, last] if last else [first]
        text = text[listed.end() :]
        if not listed[0].rstrip().endswith((",", "and")):
            break
    return [re.sub(r"(?<=-[A-Z])-", ".", number) for number in found]


def cited(place: str, text: str, default: str | None) -> Iterator[Citation]:
    """Yield the citations of a text: of the work named behind it ("eq. (2) of ..."), else of the last
    named before, else of ``default``."""
    text = " ".join(text.split())
    # the first cell of a table of equations has their numbers alone: (10)–(20), Alg. 2
    text = re.sub(r"^\| ((?:\(\d+\)[,– ]*)+)", r"| eqs. \1", text)
    works = [(found.start(), found.lastgroup) for found in WORKS.finditer(text)]
    for found in PART.finditer(text):
        if behind := BEHIND.match(text, found.end()):
            paper = WORKS.match(text, behind.end()).lastgroup
        else:
            paper = next((work for start, work in reversed(works) if start < found.start()), default)
        if paper != "other":
            for number in numbers(text[found.end() :]):
                yield Citation(place, paper, found.lastgroup, number, text)


def of_python(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield docstrings, strings and runs of comments; around what a class is assigned stands the class."""
    tree = ast.parse(text)
    inside: dict[ast.AST, str] = {}
    for each in ast.walk(tree):
        if isinstance(each, ast.ClassDef):
            said = [ast.unparse(node) for node in each.body if isinstance(node, ast.Assign)]
            about = " ".join([each.name, ast.get_docstring(each) or "", *said])
            inside |= {node.value: about for node in each.body if isinstance(node, ast.Assign)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for part in re.split(r"\n\s*\n", node.value):
                yield node.lineno, part, inside.get(node, part)
    last, run = -9, ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            said = token.string.lstrip("#: ")
            run = f"{run} {said}" if token.start[0] == last + 1 else said
            last = token.start[0]
            yield last, run, f"{run} {token.line}"


def of_pseudocode(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the source, with the whole algorithm around it, and the steps."""
    for number, line in enumerate(text.splitlines(), 1):
        yield number, line, text if number == 1 else line


def of_paragraphs(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the paragraphs, of tables the rows."""
    for found in re.finditer(r"\|[^\n]+\n|(?:[^|\n][^\n]*\n?)+", text):
        yield text.count("\n", 0, found.start()) + 1, found[0], found[0]


READERS = {".py": of_python, ".txt": of_pseudocode, ".toml": of_paragraphs, ".md": of_paragraphs}


def citations(path: Path) -> Iterator[Citation]:
    """Yield the citations of a file. Where a text does not say which paper it means, it is the only one that
    the file names; in running text, the one named last."""
    texts = list(READERS[path.suffix](path.read_text(encoding="utf-8")))
    place = path.relative_to(ROOT).as_posix()
    works = {work.lastgroup for _, text, _ in texts for work in WORKS.finditer(text)}
    works = works - {"other"} or works
    default = MEANT.get(place, works.pop() if len(works) == 1 else None)
    for line, text, around in texts:
        if path.suffix == ".md":
            named = [work.lastgroup for work in WORKS.finditer(text) if work.lastgroup in NAMES]
            default = named[-1] if named else default
        for citation in cited(f"{place}:{line}", text, default):
            yield replace(citation, text=" ".join(around.split()))
