"""The registry of data sets, and functions that load a data set by its id."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solverscope.ids import unknown_id

from . import store
from .catalog import OWN_FILES, SETS
from .entry import DataSetInfo, Request
from .errors import DataError
from .kinds import DEFAULT_LOSSES
from .store import Progress

if TYPE_CHECKING:
    from .dataset import Dataset

DATASETS: dict[str, DataSetInfo] = {}
#: What is put before the ids of data sets that are registered; set while a plug-in is loaded.
DATA_NAMESPACE = ContextVar("DATA_NAMESPACE", default="")


def register(entry: DataSetInfo) -> DataSetInfo:
    """Register a data set, so that the command line, the page and :func:`load` know it.

    If a notebook's cell is run again, the new entry replaces the old one, because their loaders have the same
    name.

    Parameters
    ----------
    entry : DataSetInfo
        Its description, with id, kind of labels, loader and options.

    Returns
    -------
    DataSetInfo
        The same entry; in a plug-in that is loaded with a namespace, its id has the namespace and a dash in
        front.

    Raises
    ------
    DataError
        If the id is taken or cannot be typed on the command line, or the kind is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from solverscope import datasets
    >>> def checkerboard(request):
    ...     X = np.random.default_rng(request.seed).uniform(-1.0, 1.0, (400, 2))
    ...     y = np.where(X[:, 0] * X[:, 1] > 0.0, 1, -1).astype(np.int8)
    ...     return datasets.Content(datasets.Part(X, y), ("off", "on"), ("x", "y"))
    >>> entry = datasets.DataSetInfo("checkerboard", "Checkerboard", "four squares", "binary", checkerboard)
    >>> datasets.register(entry).id
    'checkerboard'
    >>> datasets.load("checkerboard", degree=2).X.shape
    (400, 3)
    """
    if space := DATA_NAMESPACE.get():
        entry = replace(entry, id=f"{space}-{entry.id}", name=f"{entry.name} ({space})")
    if not entry.id or entry.id != entry.id.lower() or not entry.id.replace("-", "").isalnum():
        raise DataError(
            f"A data set cannot be called {entry.id!r}: use lower-case letters, digits and dashes."
        )
    if entry.kind not in DEFAULT_LOSSES:
        raise DataError(
            f"Data set {entry.id} cannot be of kind {entry.kind!r}: use one of {', '.join(DEFAULT_LOSSES)}."
        )
    if entry.id in DATASETS and not _succeeds(entry.loader, DATASETS[entry.id].loader):
        raise DataError(f"There is a data set called {entry.id} already: choose another id.")
    DATASETS[entry.id] = entry
    return entry


def _succeeds(new: object, old: object) -> bool:
    """Return whether two loaders have the same module and qualified name, as after a notebook's cell is run
    again."""
    names = [
        (getattr(loader, "__module__", None), getattr(loader, "__qualname__", None)) for loader in (new, old)
    ]
    return names[0] == names[1] and None not in names[0]


def describe(id: str) -> DataSetInfo:
    """Return the description of a data set or of the user's own file, without loading the data.

    Parameters
    ----------
    id : str
        The id of a set, or FORMAT:PATH[,PATH].

    Returns
    -------
    DataSetInfo

    Raises
    ------
    DataError
        If there is no such set; the message lists the ids.

    Examples
    --------
    >>> from solverscope import datasets
    >>> datasets.describe("digits").kind
    'multiclass'
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
    if Path(id).suffix:  # whether the file is there is not for everybody who may write an id
        formats = " or ".join(
            f"{scheme}:{id}" for scheme, entry in OWN_FILES.items() if len(entry.paths) == 1
        )
        raise DataError(f"There is no data set {id!r}: for a file of your own name its format, {formats}.")
    own = ", ".join(f"{scheme}:{','.join(entry.paths)}" for scheme, entry in OWN_FILES.items())
    said = unknown_id("data set", id, DATASETS, f", or your own file as {own}")
    raise DataError(f"{said[0].upper()}{said[1:]}.")


def own_id(path: str) -> str:
    """Return the id of a user's own file, FORMAT:PATH.

    Parameters
    ----------
    path : str
        A path, in which case the format is recognized by the file's content, or FORMAT:PATH.

    Returns
    -------
    str
        The id, with the absolute path.

    Raises
    ------
    DataError
        If the file cannot be read or its format is unknown.
    """
    scheme, colon, rest = path.partition(":")
    if colon and scheme in OWN_FILES:
        names = rest.split(",", len(OWN_FILES[scheme].paths) - 1)
        return f"{scheme}:{','.join(str(store.own_path(name).resolve()) for name in names)}"
    from .readers.recognise import format_of

    found = store.own_path(path).resolve()
    return f"{format_of(found)}:{found}"


def offer(path: str) -> DataSetInfo:
    """Load a user's own file and register it, so that a server offers it to every visitor.

    Parameters
    ----------
    path : str
        A path or FORMAT:PATH, as in :func:`own_id`.

    Returns
    -------
    DataSetInfo
        Its description, with the kind of labels found in the file, or the existing one if it is already
        registered.

    Raises
    ------
    DataError
        As :func:`own_id` and :func:`load`.
    """
    id = own_id(path)
    if id not in DATASETS:
        DATASETS[id] = replace(describe(id), kind=load(id).kind)
    return DATASETS[id]


def load(id: str, *, seed: int = 0, progress: Progress | None = None, **options: Any) -> Dataset:
    """Load a data set by its id, or a user's own file by FORMAT:PATH.

    Parameters
    ----------
    id : str
        The id of a set that :data:`DATASETS` lists, or FORMAT:PATH[,PATH].
    seed : int, default 0
        The seed of random splits and of generators.
    progress : callable, optional
        Called as ``progress(text, fraction)`` with the current task and the fraction done, or None if
        unknown.
    **options
        Those that ``describe(id).options`` lists, as strings or values.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If the id, an option or a value is unknown, a file is missing or cannot be read, or the data cannot be
        used. The message explains what to do.

    Examples
    --------
    >>> from solverscope import datasets
    >>> data = datasets.load("digits", positive=3)
    >>> data.kind, data.X.shape, data.test.X.shape
    ('binary', (1438, 64), (359, 64))
    """
    entry = describe(id)
    effective = entry.parse(options)
    if not isinstance(seed, Integral) or seed < 0:
        raise DataError(f"The seed {seed!r} is not possible: it is a whole number of at least 0.")
    progress = progress or (lambda text, fraction: None)
    progress(f"loading {entry.name}", None)
    paths = [store.own_path(path) for path in entry.paths]
    if paths and effective.get("test"):
        paths.insert(1, store.own_path(effective["test"]))
    paths += [store.fetch(file, entry.source, progress) for file in entry.needed(**options)]
    request = Request(effective, int(seed), progress, tuple(paths))
    content = entry.load_content(request)
    from .transforms import finish, whole

    return finish(entry, request, whole(entry, request, content))


for _entry in SETS:
    register(_entry)
