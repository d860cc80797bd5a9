"""The form of all changes to the internals of a library.

A change lists the parts of a library that it replaces or relies on. It is applied only if their source is one
of those for which it was written. Otherwise a log message names it, and the page works without it.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

log = logging.getLogger("solverscope.app.compat")

#: Versions for which the changes are written, the same as in pyproject.toml.
KNOWN_VERSIONS = {
    "bokeh": ">=3.9.2,<3.11",
    "panel": ">=1.9.4,<1.11",
}
#: Maximal number of lines of a class in a script.
MAX_CLASS_LINES = 2000


@dataclass(frozen=True)
class Change:
    """A change to the internals of a library."""

    #: The module that makes it, or the script.
    name: str
    #: The library, as it is imported.
    package: str
    #: What is wrong there, with its issue or pull request.
    upstream: str
    #: What the page is without the change, with the figure where one was measured.
    without: str
    #: What the change replaces or relies on: ``module:Class.method``, or ``module:function(a, b)`` where only
    #: these parameters count; of a script in the package ``file.js:Class.method``, or the whole file.
    knows: tuple[str, ...]
    #: The digests of the source of all these, one for each form of the library that the change fits.
    digests: tuple[str, ...]
    #: The version that mends it upstream: from it on the change is not made, and the log is silent.
    until: str = ""
    #: What makes the change in the browser; nothing if it is made in Python.
    script: str = ""

    def fits(self) -> bool:
        """Return whether the library needs the change, and its source is known."""
        return _fits(self)

    def once(self, make: Callable[[], None]) -> Callable[[], None]:
        """Return a function that calls ``make`` once per process, if the change fits.

        ``make`` applies the change. This method can be used as a decorator.
        """
        return cache(wraps(make)(lambda: make() if self.fits() else None))

    def found(self) -> str:
        """Return the digest of the installed sources. Raises LookupError if one of them does not exist."""
        digest = hashlib.sha256()
        for part in self.knows:
            digest.update(_source(self.package, part).encode())
        return digest.hexdigest()[:16]


def in_place_of(original: Callable[..., Any], new: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls ``new``, with the replaced function as ``__wrapped__``."""

    @wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        return new(*args, **kwargs)

    return call


@cache
def _fits(change: Change) -> bool:
    installed = _installed(change.package)
    if change.until and Version(installed).release >= Version(change.until).release:
        return False
    try:
        found = change.found()
    except LookupError as error:
        found = str(error)
    if found in change.digests:
        return True
    log.warning(
        "left out %s: %s %s is not what it was written for (%s). %s",
        change.name.rpartition(".")[2],
        change.package,
        installed,
        KNOWN_VERSIONS[change.package],
        change.without,
    )
    return False


@cache
def _installed(package: str) -> str:
    """Return the version of a library; log a message if it is outside of the known versions."""
    version = importlib.import_module(package).__version__
    if not SpecifierSet(KNOWN_VERSIONS[package]).contains(version, prereleases=True):
        log.warning(
            "%s %s is not one of the known versions (%s): what does not fit is left out",
            package,
            version,
            KNOWN_VERSIONS[package],
        )
    return version


def _source(package: str, part: str) -> str:
    """Return the source of an entry of ``Change.knows``. Raises LookupError if it does not exist."""
    where, _, name = part.partition(":")
    if where.endswith(".js"):
        return _script_source(package, where, name)
    name, _, wanted = name.removesuffix(")").partition("(")
    try:
        found = importlib.import_module(where)
        for step in name.split("."):
            found = getattr(found, step)
        if not wanted:
            return inspect.getsource(found)
        if not set(wanted.split(", ")) <= set(inspect.signature(found).parameters):
            raise AttributeError(wanted)
        return part
    except (ImportError, AttributeError, OSError, TypeError) as error:
        raise LookupError(f"{part} is not there") from error


def _script_source(package: str, file: str, name: str) -> str:
    """Return the source of ``Class.method`` in a script, or the whole file if no name is given.

    If several classes have this name, the methods of all of them are returned. The scripts are not minified,
    so a method ends at the indentation at which it starts.
    """
    root = inspect.getfile(importlib.import_module(package))
    path = Path(root).parent / file
    if not path.is_file():
        raise LookupError(f"{file} is not there")
    text = _read(path)
    kind, _, method = name.partition(".")
    classes = (text.rfind("\n", 0, match.start()) + 1 for match in re.finditer(f"class {kind} ", text))
    found = [_method(text[place:], method) for place in classes] if name else [text]
    if not any(found):
        raise LookupError(f"{file}:{name} is not there")
    return "\n".join(found)


def _method(text: str, name: str) -> str:
    """Return the source of a method of the class at the start of ``text``; "" if there is no such method."""
    lines = iter(text.split("\n", MAX_CLASS_LINES)[:-1])
    first = next(lines)
    indent = first[: len(first) - len(first.lstrip())]
    begins = re.compile(rf"{indent}    (?:static |async |get |set |/\*protected\*/ )*{name}\(").match
    found: list[str] = []
    for line in lines:
        if not found and re.match(rf"{indent}(?:export )?class ", line):
            break
        if found or begins(line):
            found.append(line)
            if line == f"{indent}    }}" or (len(found) == 1 and line.endswith("}")):
                break
    return "\n".join(found)


@cache
def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def forget() -> None:
    """Clear all caches on the installed libraries, for tests that modify these."""
    _fits.cache_clear()
    _installed.cache_clear()
    _read.cache_clear()
