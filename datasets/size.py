"""Size of a data set, known before it is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

    def with_common(self, options: Mapping[str, Any]) -> Size:
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


def generated(options: Mapping[str, Any], by: Sequence[str], outputs: str = "") -> Size:
    """Estimate the size of a generated set. Its option ``outputs`` counts its outputs (one if it has none),
    and its options ``by`` make it smaller. A quarter as many samples are for testing, and every row has a
    non-zero."""
    samples, features = options["n_samples"], options["n_features"]
    rows = (samples + max(samples // 4, 1)) * options.get("length", 1)
    per_row = min(max(options["density"] * features, 1), features)
    return Size(rows, features, options[outputs] if outputs else 1, int(rows * per_row), tuple(by))
