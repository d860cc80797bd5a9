"""Files of data that are no sets of the list: what the command line tells the page of those that it offers,
and what a visitor is told of any of them."""

from __future__ import annotations

from pathlib import Path

import datasets
from datasets.entry import LOSSES as KINDS


def announced(path: str) -> str:
    """Read a file, FORMAT:PATH or a path alone, and return what tells the page of it: the kind of its labels,
    a colon and its id. Raises DataError, one sentence, for a file that is no data."""
    id = datasets.own_id(path)
    return f"{datasets.load(id).kind}:{id}"


def offer(text: str) -> None:
    """Put a file into the list of data sets: what :func:`announced` returned, or what it takes."""
    kind, _, id = text.partition(":")
    if kind in KINDS:
        datasets.offer(id, kind)
    else:
        datasets.offer(text)


def named(id: str) -> str:
    """Return the id of a data set; that of a file has its name alone, without its folder."""
    try:
        paths = datasets.describe(id).paths
    except datasets.DataError:
        return id
    return f"{id.partition(':')[0]}:{','.join(Path(path).name for path in paths)}" if paths else id
