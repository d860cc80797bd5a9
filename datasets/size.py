"""The size of a data set, estimated before it is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Size:
    """The size of a data set: rows of both parts, features, outputs (classes, labels or nodes) and nonzeros.

    ``by`` lists the options that reduce the size, the most effective first.
    """

    rows: int
    features: int
    outputs: int
    nonzeros: int
    by: tuple[str, ...] = ()

    def with_common(self, options: Mapping[str, Any]) -> Size:
        """Return the size after the common options ``double``, ``degree``, ``bias`` and ``positive`` are
        applied."""
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
    """Estimate the size of a generated data set from the values of its options.

    ``outputs`` is the name of the option with the number of outputs; "" means one output. ``by`` lists the
    options that reduce the size. The test part has a quarter as many samples as the training part, and every
    row has at least one nonzero.
    """
    samples, features = options["n_samples"], options["n_features"]
    rows = (samples + max(samples // 4, 1)) * options.get("length", 1)
    per_row = min(max(options["density"] * features, 1), features)
    return Size(rows, features, options[outputs] if outputs else 1, int(rows * per_row), tuple(by))
