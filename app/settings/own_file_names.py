"""Names of the user's own data files without their folders, as the page displays them."""

from __future__ import annotations

from pathlib import Path

from solverscope import datasets


def named(id: str) -> str:
    """Return the id of a data set; in the id of a file, the folder is omitted."""
    try:
        paths = datasets.describe(id).paths
    except datasets.DataError:
        return id
    return f"{id.partition(':')[0]}:{','.join(Path(path).name for path in paths)}" if paths else id
