"""Plug-ins: users' own solvers, losses, penalties and data sets, registered by a file or an installed
package."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from importlib.metadata import entry_points
from importlib.util import decode_source
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

#: Group of entry points of modules that register something when they are imported.
ENTRY_POINT_GROUP = "solverscope.plugins"
#: Files to load besides those named on the command line, separated as in PATH.
FILES_VARIABLE = "SOLVERSCOPE_PLUGINS"
#: Prefix of the names of modules that are created for such files.
MODULE_PREFIX = "solverscope_plugin_"
#: Valid namespaces; ids may have the same characters.
NAMESPACE_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


class PluginError(ValueError):
    """An error: a plug-in cannot be used. The message says where and why."""


def load_all(files: Iterable[str | Path] = ()) -> None:
    """Load installed plug-ins, the files that SOLVERSCOPE_PLUGINS lists, and ``files``, each at most once.

    Each file is ``FILE`` or ``NAME=FILE``, where NAME is a namespace for its ids. Raises PluginError for the
    first one that fails.
    """
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        try:
            entry.load()
        except (Exception, SystemExit) as error:
            raise PluginError(
                f"the installed plugin {entry.name} ({entry.value}) cannot be loaded "
                f"({_described(error)}): repair or uninstall it"
            ) from error
    for text in filter(None, os.environ.get(FILES_VARIABLE, "").split(os.pathsep)):
        namespace, path = parsed(text)
        if not path.is_file():
            raise PluginError(
                f"there is no plugin {path}: {FILES_VARIABLE} names Python files, separated by {os.pathsep!r}"
            )
        load_file(path, namespace)
    for file in files:
        namespace, path = parsed(str(file))
        load_file(path, namespace)


def parsed(text: str) -> tuple[str, Path]:
    """Split ``[NAME=]FILE`` into namespace ("" if there is none) and path. Raises PluginError if NAME is
    invalid."""
    namespace, equals, file = text.partition("=")
    if not equals or Path(text).is_file():
        return "", Path(text)
    if not NAMESPACE_NAME.fullmatch(namespace):
        raise PluginError(
            f"{namespace!r} cannot stand before ids: write NAME=FILE with letters a-z, digits and dashes"
        )
    return namespace, Path(file)


def loaded() -> list[str]:
    """Return the files that this process has loaded, with absolute paths, in the form that ``--plugin``
    accepts."""
    found = [(module.__spec__.loader_state, module.__file__) for module in _modules()]
    return [f"{namespace}={file}" if namespace else file for namespace, file in found]


def _modules() -> list[Any]:
    return [module for name, module in sys.modules.copy().items() if name.startswith(MODULE_PREFIX)]


def has_any() -> bool:
    """Return whether any plug-in is loaded or installed."""
    return bool(loaded() or entry_points(group=ENTRY_POINT_GROUP))


class Uncached(SourceFileLoader):
    """A loader that compiles a file whenever it is loaded.

    Python identifies cached bytecode by size and time in seconds, so it would miss an edit of a letter within
    a second.

    Attributes
    ----------
    code : UserCode
        The source that was compiled; the file may have changed since.
    stamp : tuple
        Time and size of the file before it was read.
    """

    def get_code(self, fullname: str) -> CodeType:
        from solverscope.solvers.compute.user_code import UserCode  # commands are declared without solvers

        self.stamp = file_stamp(self.path)
        data = self.get_data(self.path)
        self.code = UserCode(self.path, decode_source(data), hashlib.sha256(data).hexdigest()[:8])
        return self.source_to_code(data, self.path)


def file_stamp(path: str) -> tuple[int, int] | None:
    """Return time and size of a file, which change when it is saved; None if it does not exist."""
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size


def load_file(path: Path, namespace: str = "") -> None:
    """Execute a Python file that calls ``solvers.register`` or ``datasets.register``, unless it is loaded
    already.

    The ids that it registers, except those of views, are prefixed with ``namespace`` unless that is empty.
    Raises PluginError, which names the line of the file, if the file fails.
    """
    path = path.expanduser().resolve()
    said = f"{namespace}={path}" if namespace else str(path)
    name = f"{MODULE_PREFIX}{hashlib.sha256(said.encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return
    if not path.is_file() or path.suffix != ".py":
        raise PluginError(f"there is no plugin {path}: name a Python file that ends in .py")
    _execute(path, name, namespace)


def _execute(path: Path, name: str, namespace: str) -> None:
    """Execute a file as the module of this name; if it fails, the previous module is kept."""
    before = sys.modules.get(name)
    spec = importlib.util.spec_from_file_location(name, path, loader=Uncached(name, str(path)))
    spec.loader_state = namespace
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up while the file still runs
    try:
        with _registering_as(namespace):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        sys.modules.pop(name)
        if before is not None:
            sys.modules[name] = before
        raise PluginError(f"{path.name}{_line(error, path)}: {_described(error)}") from error


class PluginReload(NamedTuple):
    """An attempt to reload a file that was saved after it was loaded: its path and the digest of its code.

    ``wrong`` is the error, or empty if the new code is in use. ``ids`` are those that the file registers or
    has registered before.
    """

    file: str
    digest: str
    wrong: str
    ids: frozenset[str] = frozenset()


#: All reloads of this process, in order.
RELOADS: list[PluginReload] = []


def reload_saved() -> None:
    """Reload files that were saved since they were loaded, and append the attempts to :data:`RELOADS`.

    If one fails, the old code and what it registered are kept.
    """
    for module in _modules():
        loader = module.__loader__
        stamp = file_stamp(loader.path)
        if stamp is None or stamp == loader.stamp:
            continue
        loader.stamp = stamp
        try:
            digest = hashlib.sha256(loader.get_data(loader.path)).hexdigest()[:8]
        except OSError:
            continue
        if digest != loader.code.digest:
            RELOADS.append(_reload(module, digest))


def _reload(module: Any, digest: str) -> PluginReload:
    from solverscope import datasets, solvers

    name, file, namespace = module.__name__, module.__file__, module.__spec__.loader_state
    tables = (solvers.SOLVERS, solvers.LOSSES, solvers.PENALTIES, solvers.RULES, datasets.DATASETS)
    before = [dict(table) for table in tables]
    own = [{id for id, thing in table.items() if _module_of(thing) == name} for table in tables]
    try:
        _execute(Path(file), name, namespace)
    except PluginError as error:
        for table, entries in zip(tables, before, strict=True):
            table.clear()
            table.update(entries)
        return PluginReload(file, digest, str(error))
    ids = set[str]().union(*own)
    for table, entries, olds in zip(tables, before, own, strict=True):
        for id in olds:
            if table.get(id) is entries[id]:  # the file does not register it any more
                del table[id]
        ids |= {id for id, thing in table.items() if _module_of(thing) == name}
    return PluginReload(file, digest, "", frozenset(ids))


def _module_of(thing: Any) -> str:
    """Return the name of the module of a registered class, or of a data set's loader."""
    return getattr(thing if isinstance(thing, type) else getattr(thing, "loader", None), "__module__", "")


@contextmanager
def _registering_as(namespace: str) -> Iterator[None]:
    """Prefix all ids that are registered in the block with a namespace."""
    from solverscope.datasets.registry import DATA_NAMESPACE
    from solverscope.solvers.registry import PLUGIN_NAMESPACE

    tokens = [(variable, variable.set(namespace)) for variable in (PLUGIN_NAMESPACE, DATA_NAMESPACE)]
    try:
        yield
    finally:
        for variable, token in tokens:
            variable.reset(token)


def blamed(error: BaseException) -> str | None:
    """Describe an error in a line, with the last line of a plug-in in its traceback.

    Return None if no plug-in was loaded from a file.
    """
    if not (files := [module.__file__ for module in _modules()]):
        return None
    frames = traceback.extract_tb(error.__traceback__)
    where = ([frame for frame in frames if frame.filename in files] or frames)[-1]
    return f"{Path(where.filename).name}, line {where.lineno}: {_described(error)[:400]}"


def _line(error: BaseException, path: Path) -> str:
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f", line {error.lineno}"
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    return f", line {lines[-1]}" if lines else ""


def _described(error: BaseException) -> str:
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
