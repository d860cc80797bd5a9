"""The list of data sets and how an id becomes a Dataset."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import store
from .catalog import OWN_FILES, SETS
from .entry import LOSSES, DataSetInfo, Request
from .errors import DataError
from .store import Progress

if TYPE_CHECKING:
    from .dataset import Dataset

DATASETS: dict[str, DataSetInfo] = {}


def register(entry: DataSetInfo) -> DataSetInfo:
    """Add a data set to the list; DataError if its id is taken or cannot be typed on the command line."""
    if not entry.id or entry.id != entry.id.lower() or not entry.id.replace("-", "").isalnum():
        raise DataError(
            f"A data set cannot be called {entry.id!r}: use lower-case letters, digits and dashes."
        )
    if entry.kind not in LOSSES:
        raise DataError(
            f"Data set {entry.id} cannot be of kind {entry.kind!r}: use one of {', '.join(LOSSES)}."
        )
    if entry.id in DATASETS:
        raise DataError(f"There is a data set called {entry.id} already: choose another id.")
    DATASETS[entry.id] = entry
    return entry


def describe(id: str) -> DataSetInfo:
    """Return the entry of a data set, or of the user's own file given as FORMAT:PATH[,PATH].

    Raises DataError with the ids that exist.
    """
    if id in DATASETS:
        return DATASETS[id]
    scheme, colon, rest = id.partition(":")
    if colon and scheme in OWN_FILES:
        entry = OWN_FILES[scheme]
        paths = tuple(rest.split(",", len(entry.paths) - 1))
        if len(paths) != len(entry.paths) or not all(paths):
            raise DataError(f"{id!r} names no file: write {scheme}:{','.join(entry.paths)}.")
        return replace(entry, id=id, name=Path(paths[0]).name, source=paths[0], paths=paths)
    own = ", ".join(f"{scheme}:{','.join(entry.paths)}" for scheme, entry in OWN_FILES.items())
    raise DataError(
        f"There is no data set {id!r}: choose one of {', '.join(DATASETS)}, or your own file as {own}."
    )


def own_id(path: str) -> str:
    """Return the id of a user's own file, FORMAT:PATH: the format is what its first line looks like, and a
    path with a format before it stays as it is. DataError for a file that cannot be read, or is in no
    format that is known."""
    scheme, colon, rest = path.partition(":")
    if colon and scheme in OWN_FILES:
        names = rest.split(",", len(OWN_FILES[scheme].paths) - 1)
        return f"{scheme}:{','.join(str(store.own_path(name).resolve()) for name in names)}"
    from .readers.recognise import format_of

    found = store.own_path(path).resolve()
    return f"{format_of(found)}:{found}"


def offer(path: str, kind: str | None = None) -> DataSetInfo:
    """Put a user's own file into the list, under its id; what is there already stays. Without its `kind` of
    labels it is read for that. DataError as `own_id`, and `load`."""
    id = own_id(path)
    if id not in DATASETS:
        entry = describe(id)
        DATASETS[id] = replace(entry, kind=kind if kind in LOSSES else load(id).kind)
    return DATASETS[id]


def load(id: str, *, seed: int = 0, progress: Progress | None = None, **options: Any) -> Dataset:
    """Load a data set by its id, or the user's own file by FORMAT:PATH.

    Parameters: `seed` of splits and generators; `progress(text, fraction or None)` is called with what is
    under way; `options` are those that `describe(id).options` lists, as text or typed. Raises DataError, one
    sentence, for an unknown id, option or value, a missing or unreadable file and unusable data.
    """
    entry = describe(id)
    effective = entry.parse(options)
    if not isinstance(seed, Integral) or seed < 0:
        raise DataError(f"The seed {seed!r} is not possible: it is a whole number of at least 0.")
    progress = progress or (lambda text, fraction: None)
    progress(f"loading {entry.name}", None)
    paths = [store.own_path(path) for path in entry.paths]
    paths += [store.fetch(file, entry.source, progress) for file in entry.needed(**options)]
    request = Request(effective, int(seed), progress, tuple(paths))
    content = entry.load_content(request)
    from .transforms import finish

    return finish(entry, request, content)


for _entry in SETS:
    register(_entry)
