"""The tables of data sets, with everything that is known about a set without loading it.

The keys of a set are the attributes of :class:`DataSetInfo`; those of an option, a file and a λ are the
attributes of their classes. Keys above the first set of a file apply to all of its sets. An option in
``options.toml`` has the values given there, unless the set overrides them. Files that only some options need
are listed below these options, as in "task=1".
"""

from __future__ import annotations

import tomllib
from functools import partial
from pathlib import Path
from typing import Any

from ..entry import DataSetInfo, Lam
from ..options import Option
from ..size import generated
from ..store import DataFile

__all__ = ["OWN_FILES", "SETS"]

Table = dict[str, Any]


def _tables(name: str) -> Table:
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))


def _values(table: Table) -> Table:
    """Convert the values of a TOML table: lists to tuples, and multi-line strings to one line."""
    shaped = {list: tuple, str: lambda text: " ".join(text.split())}
    return {name: shaped.get(type(value), lambda value: value)(value) for name, value in table.items()}


def _entry(id: str, table: Table) -> DataSetInfo:
    own, files, kinds = (table.pop(name, {}) for name in ("options", "files", "kinds"))
    lams, measure = table.pop("lams", ()), table.pop("measure", None)
    if isinstance(files, list):
        files = {"": files}
    return DataSetInfo(
        id,
        **_values(table),
        own=tuple(
            Option(name, **{"default": None, **_values(COMMON_OPTIONS.get(name, {}) | option)})
            for name, option in own.items()
        ),
        files=tuple(
            DataFile(**(file if isinstance(file, dict) else {"path": file}), when=when)
            for when, some in files.items()
            for file in some
        ),
        kinds=tuple(kinds.items()),
        lams=tuple(Lam(**lam) for lam in lams),
        measure=measure and partial(generated, **measure),
        paths=tuple(id.partition(":")[2].split(",")) if ":" in id else (),
    )


def _sets(name: str) -> list[DataSetInfo]:
    tables = _tables(name)
    shared = {key: tables.pop(key) for key, value in [*tables.items()] if not isinstance(value, dict)}
    return [_entry(id, shared | table) for id, table in tables.items()]


#: What options that several sets have in common say.
COMMON_OPTIONS = _tables("options")
SETS = [
    entry
    for name in ("handwriting", "tables", "text", "trees", "generated", "libsvm", "toys")
    for entry in _sets(name)
]
#: The user's own files by the word before the colon.
OWN_FILES = {entry.id.partition(":")[0]: entry for entry in _sets("own_files")}
