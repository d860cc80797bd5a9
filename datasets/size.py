"""Size of a data set, known before it is made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Size:
    """Rows of training and test part together, features, outputs (classes, labels, nodes) and non-zeros;
    ``by`` names the options that make it smaller, those that count most first."""

    rows: int
    features: int
    outputs: int
    nonzeros: int
    by: tuple[str, ...] = ()

    def with_common(self, options: dict[str, Any]) -> Size:
        """Return the size with the options that all sets have: features that come twice, products of
        features, a constant, one class against the rest."""
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
    """Estimate the size of a generator that makes a quarter as many samples for testing; a row has at least
    one non-zero."""
    rows = (samples + max(samples // 4, 1)) * length
    return Size(rows, features, outputs, int(rows * min(max(per_row, 1), features)), by)
