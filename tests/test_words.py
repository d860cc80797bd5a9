"""The words of the code: docstrings begin as they should and are short, and no two classes or constants have
one name."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("app", "datasets", "solvers")
#: Words of a sentence, at most.
LONGEST = 25
#: Verbs that do not say what a function computes: "Return whether ..." does.
VAGUE_VERBS = {"Give", "Have", "Know", "Let", "Say", "Tell"}
#: First words of docstrings of functions that are no verbs in the imperative.
NO_VERBS = re.compile(r"(?:What|Whether|The|An?|If|This|Returns|Computes|Called|\W.*)$")
#: Pictures and detours, and the field's word for each.
PHRASES = {
    r"for ever": "indefinitely",
    r"in the mean\b": "on average",
    r"as long as": "while",
    r"at hand": "available",
    r"goes ahead": "runs first",
    r"looks at": "reads, evaluates",
    r"(?:is|are) told": "is passed, receives",
    r"beside": "next to, relative to, with",
}
#: Classes of one name, and why.
TWICE = {"ChainCRF": "the estimator of the loss of this name"}
#: Names of constants.
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")
#: Constants of one name in several modules, and why.
SHARED_CONSTANTS = {
    "CHANGE": "each module of app/compat declares its change, by a name that the tests of all changes read",
    "EPS": "machine epsilon: datasets and solvers need it, and neither imports the other",
    "T": "by convention the type variable of generic functions, which every module has to itself",
}


@cache
def trees() -> dict[str, ast.Module]:
    files = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in files}


def documented() -> Iterator[tuple[str, ast.AST, str]]:
    """Place, node and docstring of all that has one."""
    for file, tree in trees().items():
        for node in ast.walk(tree):
            kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            if isinstance(node, kinds) and (said := ast.get_docstring(node)):
                yield f"{file}:{getattr(node, 'lineno', 1)}", node, said


def is_function(node: ast.AST) -> bool:
    """Whether it is a function, and no property, whose docstring names a thing."""
    named = [ast.unparse(d) for d in getattr(node, "decorator_list", ())]
    attribute = any(re.search(r"property|lazy|\.setter|fixture", name) for name in named)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not attribute


def sentences(said: str) -> Iterator[str]:
    """Sentences of the prose of a docstring: no sections, tables or examples."""
    for paragraph in re.split(r"\n\s*\n", said):
        lines = paragraph.splitlines()
        table = any(re.search(r"\S {2,}\S", line) for line in lines) or any("---" in line for line in lines)
        if (
            table
            or paragraph.lstrip().startswith((">>>", "..", "*", "-"))
            or re.match(r"\w+(, \w+)* : ", paragraph)
        ):
            continue
        yield from re.split(r"(?<=[.!?;:])\s+", " ".join(paragraph.split()))


def test_a_function_is_described_by_a_verb_in_the_imperative():
    odd = [
        f"{place}: {said.split()[0]}"
        for place, node, said in documented()
        if is_function(node) and ((word := said.split()[0]) in VAGUE_VERBS or NO_VERBS.match(word))
    ]
    assert odd == []


def test_a_module_says_what_it_contains_by_a_noun():
    odd = [
        place
        for place, node, said in documented()
        if isinstance(node, ast.Module) and said.startswith("What")
    ]
    assert odd == []


def test_a_sentence_is_short():
    long = [
        f"{place}: {len(sentence.split())} words: {sentence}"
        for place, _, said in documented()
        for sentence in sentences(said)
        if len(sentence.split()) > LONGEST
    ]
    assert long == []


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_has_given_way_to_the_field_s_word(phrase):
    found = [place for place, _, said in documented() if re.search(rf"\b{phrase}\b", said)]
    assert found == [], f"write {PHRASES[phrase]}"


def test_a_class_has_a_name_of_its_own():
    places = defaultdict(list)
    for file, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(file)
    twice = {name: files for name, files in places.items() if len(files) > 1}
    assert {name: files for name, files in twice.items() if name not in TWICE} == {}
    assert set(TWICE) <= set(twice)


def constants(tree: ast.Module) -> set[str]:
    """Names in capitals that a module assigns, also in a branch; not those of its classes and functions."""
    names, waiting = set(), list[ast.AST](tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and CONSTANT.fullmatch(node.id):
            names.add(node.id)
        waiting += ast.iter_child_nodes(node)
    return names


def test_a_constant_has_a_name_of_its_own():
    places = defaultdict(list)
    for file, tree in trees().items():
        for name in constants(tree):
            places[name].append(file)
    shared = {name: files for name, files in places.items() if len(files) > 1}
    assert {name: files for name, files in shared.items() if name not in SHARED_CONSTANTS} == {}
    assert set(SHARED_CONSTANTS) <= set(shared)
