"""Hierarchies of classes: on each line a path of nodes from the top (LSHTC), or a parent and a child."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from ..errors import DataError
from ..limits import MAX_SMALL_BYTES
from ..store import Progress
from ..trees import Tree
from .files import numbered_lines

HIERARCHY_FORMAT = "a line is a path of nodes from the top down, or a parent and its child"


def read(path: Path, *, progress: Progress | None = None) -> Tree:
    """Return the tree in a file, with a common root.

    Raises DataError with file, line and reason if a node has two parents, if a line has only one node, or for
    a cycle.
    """
    parent: dict[str, str] = {}
    for line, row in numbered_lines(path, limit=MAX_SMALL_BYTES, progress=progress):
        nodes = row.decode("utf-8", "replace").split()
        if len(nodes) == 1:
            raise DataError(f"{path.name}, line {line} holds one node only: {HIERARCHY_FORMAT}.")
        for above, below in pairwise(nodes):
            if parent.setdefault(below, above) != above or below == above:
                raise DataError(
                    f"{path.name}, line {line}: node {below[:40]} has two parents, "
                    f"{parent[below][:40]} and {above[:40]}; in a tree it has one."
                )
    if not parent:
        raise DataError(f"{path.name} is empty: {HIERARCHY_FORMAT}.")
    tops = dict.fromkeys(above for above in parent.values() if above not in parent)
    return Tree.of(parent, tops, path.name)
