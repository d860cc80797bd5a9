"""What kernels that take one instance at a time read of a loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Tree(NamedTuple):
    """The tree of classes: the parent of each node, and the nodes that are leaves."""

    parents: np.ndarray
    leaves: np.ndarray


class Instances(NamedTuple):
    """Which loss of a row (its ``sample_code``; None for chains), the rows of X of instance i, ``offsets[i]``
    to ``offsets[i + 1]``, all labels, the same number a row, and, where the loss has them, the tree of
    classes, and Δ and ρ of label losses.

    What is None is left out of the kernels that Numba compiles.
    """

    code: int | None
    offsets: np.ndarray
    y: np.ndarray
    tree: Tree | None
    margins: np.ndarray | None
