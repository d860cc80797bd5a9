"""Size of a data set, known before it is made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Size:
    """Rows of both parts, features, outputs (classes, labels, nodes) and non-zeros; ``by`` names the options
    that make the set smaller, the most effective first."""

    rows: int
    features: int
    outputs: int
    nonzeros: int
    by: tuple[str, ...] = ()

    def with_common(self, options: dict[str, Any]) -> Size:
        """Return the size after the options that all sets have: ``double``, ``degree``, ``bias`` and
        ``positive``."""
        double = options.get("double", 0)
        features, nonzeros, by = self.features + double, self.nonzeros, self.by
        nonzeros += min(double * self.rows, nonzeros)
        if options.get("degree") == 2:
            features += features * (features - 1) // 2
            nonzeros += nonzeros * nonzeros // (2 * max(self.rows, 1))
            by = ("degree", *by)
        outputs = 1 if options.get("positive") is not None or self.outputs == 2 else self.outputs
        bias = 1 if options.get("bias") else 0
        return replace(
            self,
            features=features + bias,
            outputs=outputs,
            nonzeros=nonzeros + bias * self.rows,
            by=by,
        )


def generated(samples: int, features: int, outputs: int, per_row: float, *by: str, length: int = 1) -> Size:
    """Estimate the size of a generated set: a quarter as many samples are for testing, and every row has a
    non-zero."""
    rows = (samples + max(samples // 4, 1)) * length
    return Size(rows, features, outputs, int(rows * min(max(per_row, 1), features)), by)
