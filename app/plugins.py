"""Users' own solvers, losses, penalties and data sets, registered by a file or an installed package."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterable
from importlib.machinery import SourceFileLoader
from importlib.metadata import entry_points
from pathlib import Path
from types import CodeType

#: Entry points of this group name modules that register something when they are imported.
ENTRY_POINT_GROUP = "solverscope.plugins"
#: Files to load besides those named on the command line, separated as in PATH.
FILES_VARIABLE = "SOLVERSCOPE_PLUGINS"
#: Prefix of the names of modules that are made from such files.
MODULE_PREFIX = "solverscope_plugin_"


class PluginError(ValueError):
    """The error that a plugin cannot be used; the message is a sentence that says where and why."""


def load_all(files: Iterable[str | Path] = ()) -> None:
    """Load installed plugins, the files that SOLVERSCOPE_PLUGINS lists, and ``files``, each at most once.

    Raises PluginError for the first one that fails.
    """
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        try:
            entry.load()
        except (Exception, SystemExit) as error:
            raise PluginError(
                f"the installed plugin {entry.name} ({entry.value}) cannot be loaded "
                f"({_described(error)}): repair or uninstall it"
            ) from error
    for file in (*filter(None, os.environ.get(FILES_VARIABLE, "").split(os.pathsep)), *files):
        load_file(Path(file))


def loaded() -> list[str]:
    """Return the absolute paths of the files that this process has loaded."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(MODULE_PREFIX)]
    return [module.__file__ for module in modules if module.__file__ is not None]


def has_any() -> bool:
    """Return whether users' own code is registered."""
    return bool(loaded() or entry_points(group=ENTRY_POINT_GROUP))


class Uncached(SourceFileLoader):
    """Compiles a file whenever it is loaded.

    Python's bytecode goes by size and time in seconds: it would be that of before an edit of a letter.
    """

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def load_file(path: Path) -> None:
    """Run a Python file that calls ``solvers.register`` or ``datasets.register``, unless it was already.

    Raises PluginError with the line of the file at which it went wrong.
    """
    path = path.expanduser().resolve()
    name = f"{MODULE_PREFIX}{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return
    if not path.is_file() or path.suffix != ".py":
        raise PluginError(f"there is no plugin {path}: name a Python file that ends in .py")
    spec = importlib.util.spec_from_file_location(name, path, loader=Uncached(name, str(path)))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up while the file still runs
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise PluginError(f"{path.name}{_line(error, path)}: {_described(error)}") from error


def blamed(error: BaseException) -> str | None:
    """Describe an error in a line, with the last line of a plug-in in its traceback.

    Return None if no plug-in was loaded from a file.
    """
    if not (files := loaded()):
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
