"""A digest of the computation of a loss or a penalty: of its source code without prose."""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import sys
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

#: Attributes that describe a class, and do not affect results.
PROSE = frozenset({"name", "summary", "paper", "kinds", "traits", "metric_name"})
#: Modules whose classes may be bases, and do not affect results either.
IGNORED_MODULES = frozenset({"builtins", "abc", "typing", "solverscope.solvers.declare"})
#: One thread at a time makes a tree: Python 3.11 counts its depth for all threads together, and fails where
#: another one goes on in between.
_PARSING = threading.Lock()


def parsed(source: str, mode: str = "exec") -> ast.AST:
    """Return the syntax tree of a source, as :func:`ast.parse` does, from any thread."""
    with _PARSING:
        return ast.parse(source, mode=mode)


@functools.cache
def source_digest(cls: type) -> str | None:
    """Return a hash of the sources that define ``cls``; None if it has no source, as one typed in by hand.

    These are the modules of ``cls``, of its bases, and all that they import from their own packages.
    Comments, docstrings, help texts and other prose are left out.
    """
    digest = hashlib.sha256()
    try:
        for module in sorted(_modules(cls), key=lambda module: module.__name__):
            tree = parsed(inspect.getsource(module))
            digest.update(ast.dump(_WithoutProse().visit(tree)).encode())
    except (OSError, TypeError, KeyError):
        return None
    return digest.hexdigest()


def _modules(cls: type) -> set[ModuleType]:
    """Return the modules that define ``cls`` and its bases, and all that they import from the same
    package."""
    found: set[ModuleType] = set()
    waiting = [sys.modules[base.__module__] for base in cls.__mro__ if base.__module__ not in IGNORED_MODULES]
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting.extend(_neighbours(module))
    return found


def _neighbours(module: ModuleType) -> Iterator[ModuleType]:
    package = module.__name__.rpartition(".")[0]
    for value in list(vars(module).values()):  # another thread may add to them
        origin = getattr(value, "__module__", None)
        if isinstance(origin, str) and package and origin.startswith(f"{package}.") and origin in sys.modules:
            yield sys.modules[origin]


class _WithoutProse(ast.NodeTransformer):
    """A transformer of syntax trees that removes docstrings and other descriptive parts."""

    def visit(self, node: ast.AST) -> Any:
        self.generic_visit(node)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [part for part in node.body if not _is_prose(part)] or [ast.Pass()]
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("param"):
            node.args, node.keywords = node.args[:1], []  # what it may be is no part of what it means
        return node


def _is_prose(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    targets = node.targets if isinstance(node, ast.Assign) else []
    return bool(targets) and all(isinstance(t, ast.Name) and t.id in PROSE for t in targets)
