"""Names of files of data without their folders, as a visitor sees them."""

from __future__ import annotations

from pathlib import Path

from solverscope import datasets


def named(id: str) -> str:
    """Return the id of a data set; if it is a file, use the name without the folder."""
    try:
        paths = datasets.describe(id).paths
    except datasets.DataError:
        return id
    return f"{id.partition(':')[0]}:{','.join(Path(path).name for path in paths)}" if paths else id
