"""Check of the room in memory for a problem, before anything is allocated."""

from __future__ import annotations

from typing import Any

import psutil

#: Vectors of all weights, and arrays of scores, that a problem and a run on it hold at the least.
VECTORS, SCORES = 3, 3


def check_room(data: Any) -> None:
    """Raise ValueError, one sentence, where a problem on ``data`` cannot fit into this machine's memory."""
    memory = psutil.virtual_memory().total
    n_outputs = 1 if data.kind == "binary" else data.n_classes
    n_rows, n_features = data.train.X.shape
    n_tail = n_outputs**2 if data.kind == "sequences" else 0
    weights, scores = n_features * n_outputs + n_tail, n_rows * n_outputs
    needed = 8 * (VECTORS * weights + SCORES * scores)
    if needed > memory:
        raise ValueError(
            f"{data.id} makes {weights:,} weights ({n_features:,} features, {n_outputs:,} outputs) and "
            f"{scores:,} scores, which take {needed / 2**30:,.1f} GiB where this machine has "
            f"{memory / 2**30:,.1f}: take fewer features or classes, or one class against the rest "
            "(positive=CLASS)"
        )
