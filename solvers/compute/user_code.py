"""The source of a user's class, as it was when its module was loaded."""

from __future__ import annotations

from typing import NamedTuple


class UserCode(NamedTuple):
    """The text of a file, and a digest of it."""

    file: str
    text: str
    digest: str


def user_code(cls: type) -> UserCode | None:
    """Return the code that a class comes from; None unless its module's loader keeps it as ``code``, as that
    of plug-ins does. The file may have changed since."""
    for value in vars(cls).values():
        module = getattr(value, "__globals__", {})
        if module.get("__name__") == cls.__module__:
            return getattr(module.get("__loader__"), "code", None)
    return None
