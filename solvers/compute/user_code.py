"""The source code of a user's class, as it was when its module was loaded."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any, NamedTuple


class UserCode(NamedTuple):
    """The text of a source file, and a digest of it."""

    file: str
    text: str
    digest: str


def user_code(cls: type) -> UserCode | None:
    """Return the source code that defines a class, as it was when loaded; the file may have changed since.

    Return None unless the loader of its module stores it as ``code``, as that of plug-ins does.
    """
    return getattr(_module(cls).get("__loader__"), "code", None)


def functions_of(cls: type, file: str) -> set[CodeType]:
    """Return the code objects of all functions of a file, in the module of a class."""
    found: set[CodeType] = set()
    for value in list(_module(cls).values()):
        members = vars(value).values() if isinstance(value, type) else [value]
        for member in list(members):
            function = getattr(member, "fget", None) or getattr(member, "__func__", member)
            code = getattr(inspect.unwrap(function), "__code__", None)
            if isinstance(code, CodeType) and code.co_filename == file:
                found.update(_nested(code))
    return found


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _module(cls: type) -> Mapping[str, Any]:
    """Return the namespace of the module that defined a class, even if another module has replaced it."""
    for value in vars(cls).values():
        module = getattr(value, "__globals__", {})
        if module.get("__name__") == cls.__module__:
            return module
    return {}
