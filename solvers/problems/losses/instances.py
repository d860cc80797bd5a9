"""What kernels that take one instance at a time read of a loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Instances(NamedTuple):
    """Which loss (its ``sample_code``), the rows of X of instance i, ``offsets[i]`` to ``offsets[i + 1]``,
    all labels, the same number a row, the tree of classes, and Δ and ρ of label losses (each empty where
    there is none)."""

    code: int
    offsets: np.ndarray
    y: np.ndarray
    parents: np.ndarray
    leaves: np.ndarray
    margins: np.ndarray
