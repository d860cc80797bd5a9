"""What a visitor is told of files of data."""

from __future__ import annotations

from pathlib import Path

from solverscope import datasets


def named(id: str) -> str:
    """Return the id of a data set; that of a file has its name alone, without its folder."""
    try:
        paths = datasets.describe(id).paths
    except datasets.DataError:
        return id
    return f"{id.partition(':')[0]}:{','.join(Path(path).name for path in paths)}" if paths else id
