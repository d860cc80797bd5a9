"""Generated documents whose classes are the leaves of a random tree."""

from __future__ import annotations

import numpy as np

from ..dataset import Content, Part
from ..entry import Request
from ..errors import DataError
from ..names import LazyNames
from ..trees import leaves
from .documents import Language, draw_counts

WORDS_OF_A_NODE = 60


def synthetic_tree(request: Request) -> Content:
    """Generate documents whose words identify every node on the path to their leaf.

    The test part has a quarter as many. Every leaf has a training document if there are enough of them.
    """
    options = request.options
    rng = np.random.default_rng(request.seed)
    d, n_leaves = options["n_features"], options["n_leaves"]
    parents = random_tree(rng, options["n_nodes"], n_leaves, options["depth"])
    classes = leaves(parents).astype(np.int32)
    starts, paths = _paths(parents, classes)
    language = Language.draw(rng, d, len(parents), min(WORDS_OF_A_NODE, d // 4 + 1))

    def draw(n: int, each: int) -> Part:
        chosen = np.concatenate([np.arange(each), rng.integers(0, n_leaves, n - each)])
        rng.shuffle(chosen)
        counts = np.diff(starts)[chosen]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        places = np.repeat(starts[:-1][chosen] - offsets[:-1], counts) + np.arange(offsets[-1])
        X = draw_counts(rng, language, offsets, paths[places], options["density"] * d)
        return Part(X, classes[chosen])

    n = options["n_samples"]
    train, test = draw(n, min(n, n_leaves)), draw(max(n // 4, 1), 0)
    names = tuple(f"node {k}" for k in range(len(parents)))
    return Content(train, names, LazyNames.numbered(d, "word "), test=test, parents=parents)


def _paths(parents: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes on the paths from each leaf up to the child of the root, and the offsets
    of the paths."""
    levels = []
    nodes = classes
    while (nodes > 0).any():
        levels.append(nodes)
        nodes = np.where(nodes > 0, parents[nodes], 0)
    stacked = np.stack(levels, axis=1)
    return np.concatenate([[0], np.cumsum((stacked > 0).sum(1))]), stacked[stacked > 0]


def random_tree(rng: np.random.Generator, n_nodes: int, n_leaves: int, depth: int) -> np.ndarray:
    """Return the parents (n_nodes,) int32 of a random tree with root 0; parents come before their
    children."""
    inner = n_nodes - n_leaves
    most = 1 + n_leaves * (depth - 1)
    if not 1 <= inner <= most:
        raise DataError(
            f"A tree of depth {depth} with {n_leaves:,} leaves has from {n_leaves + 1:,} to "
            f"{n_leaves + most:,} nodes, not {n_nodes:,}: change n_nodes, n_leaves or depth."
        )
    widths = _inner_widths(inner, n_leaves, depth)
    begins = np.concatenate([[0], np.cumsum(widths)])
    parents = [np.array([-1])]
    for above in range(len(widths) - 1):
        parents.append(begins[above] + _spread(rng, widths[above], widths[above + 1]))
    above = np.concatenate(parents)
    bare = np.setdiff1d(np.arange(inner), above)
    above = np.concatenate([above, bare, rng.integers(0, inner, n_leaves - len(bare))])
    level = np.repeat(np.arange(len(widths)), widths)
    level = np.concatenate([level, level[above[inner:]] + 1])
    order = np.argsort(level, kind="stable")
    place = np.argsort(order)
    moved = np.where(above[order] >= 0, place[above[order]], -1)
    return moved.astype(np.int32)


def _inner_widths(inner: int, n_leaves: int, depth: int) -> list[int]:
    """Return the number of inner nodes of each level, starting with the root.

    The numbers grow geometrically towards the number of leaves.
    """
    while depth > 2 and 2**depth - 2 > inner - 1 and inner - 1 <= n_leaves * (depth - 2):
        depth -= 1
    if inner == 1:
        return [1]
    low, high = 1.0, float(inner)
    for _ in range(100):
        ratio = (low + high) / 2
        low, high = (ratio, high) if sum(ratio**k for k in range(1, depth)) < inner - 1 else (low, ratio)
    widths = [1, *(max(int(low**k), 1) for k in range(1, depth))]
    widths[-1] += inner - sum(widths)
    for k in range(depth - 1, 1, -1):
        extra = max(widths[k] - n_leaves, 0)
        widths[k] -= extra
        widths[k - 1] += extra
    return widths


def _spread(rng: np.random.Generator, above: int, below: int) -> np.ndarray:
    """Draw a parent, 0 .. above - 1, for each of `below` nodes, such that as many parents as possible have a
    child."""
    first = rng.permutation(above)[:below]
    return np.concatenate([first, rng.integers(0, above, below - len(first))])
