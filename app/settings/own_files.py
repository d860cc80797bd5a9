"""Files of data that a server offers: how the command line names them to the page."""

from __future__ import annotations

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
