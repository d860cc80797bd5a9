"""Checks of private parts of scikit-learn, from its source code: importing it would take a second."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

#: The version of scikit-learn whose private parts are used.
CHECKED_VERSION = "1.9"


def package_folder() -> Path:
    """Return the folder of the installed scikit-learn."""
    spec = find_spec("sklearn")
    assert spec is not None, "scikit-learn is one of our dependencies"
    (folder,) = spec.submodule_search_locations or [""]
    return Path(folder)


@cache
def _syntax_tree(path: Path) -> ast.Module:
    """Return the syntax tree of a module; an empty tree if the file is missing or not valid Python."""
    try:
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError):
        return ast.Module([], [])


def accepts_call(module: str, function: str, positional: int, keywords: Iterable[str]) -> bool:
    """Return whether a function of a module, such as ``linear_model/_sag.py``, accepts a call with these
    arguments."""
    for node in _syntax_tree(package_folder() / module).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            break
    else:
        return False
    by_position = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    by_keyword = {*by_position[positional:], *(argument.arg for argument in node.args.kwonlyargs)}
    n_required = len(by_position) - len(node.args.defaults)
    defaults = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    required = {argument.arg for argument, default in defaults if default is None}
    required |= set(by_position[positional:n_required])
    return positional <= len(by_position) and required <= set(keywords) <= by_keyword


def passes_keyword(module: str, keyword: str, value: str) -> bool:
    """Return whether a module contains a call with ``keyword=value``."""
    return any(
        isinstance(node, ast.keyword)
        and node.arg == keyword
        and isinstance(node.value, ast.Constant)
        and node.value.value == value
        for node in ast.walk(_syntax_tree(package_folder() / module))
    )


def changed(part: str) -> str:
    """Return why a solver that uses ``part`` cannot run: the predicate of a sentence whose subject is the
    solver."""
    return (
        f"uses {part}, which is private to scikit-learn and has changed in {version('scikit-learn')}: "
        f"install scikit-learn {CHECKED_VERSION}"
    )
