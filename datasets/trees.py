"""Class hierarchies as arrays of parents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from .errors import DataError

ROOT = "all"


@dataclass(frozen=True)
class Tree:
    """A tree: names of the nodes, and their parents, (n,) int32. Node 0 is the root, with parent -1.

    Parents come before their children.
    """

    parents: np.ndarray
    names: tuple[str, ...]

    @classmethod
    def of(cls, parent: Mapping[str, str], tops: Iterable[str], source: str = "The tree") -> Tree:
        """Return the tree with the given parents of nodes and a common root above `tops`, level by level.

        Raises DataError, which names ``source``, if nodes cannot be reached from the root.
        """
        children: dict[str, list[str]] = {}
        for below, above in parent.items():
            children.setdefault(above, []).append(below)
        names, parents = [ROOT], [-1]
        level = [(0, top) for top in tops]
        while level:
            following = []
            for above, name in level:
                following += [(len(names), child) for child in children.get(name, ())]
                names.append(name)
                parents.append(above)
            level = following
        if len(names) != 1 + len(parent.keys() | set(parent.values()) | set(tops)):
            raise DataError(f"{source} has nodes that are their own ancestors; in a tree none is.")
        return cls(np.array(parents, np.int32), tuple(names))

    @classmethod
    def of_paths(cls, paths: Iterable[str]) -> Tree:
        """Return the tree of nodes written as paths from the top, such as 2/1/3, including all nodes above
        them."""
        parent: dict[str, str] = {}
        tops: dict[str, None] = {}
        for path in paths:
            while "/" in path:
                above = path.rpartition("/")[0]
                parent[path] = path = above
            tops[path] = None
        return cls.of(parent, tops)

    def ids(self) -> dict[str, int]:
        """Return the index of each node by name."""
        return {name: i for i, name in enumerate(self.names)}


def leaves(parents: np.ndarray) -> np.ndarray:
    """Return the indices of nodes without children."""
    inner = np.zeros(len(parents), bool)
    inner[parents[parents >= 0]] = True
    return np.flatnonzero(~inner)


def below(parents: np.ndarray, node: int) -> np.ndarray:
    """Return a mask of the node and all its descendants; parents must come before their children."""
    mask = np.zeros(len(parents), bool)
    mask[node] = True
    for i in range(node + 1, len(parents)):
        mask[i] = parents[i] >= 0 and mask[parents[i]]
    return mask
