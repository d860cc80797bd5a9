"""Names of the rows and columns of W, and of single weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Names:
    """Names of features (words, "pixel (3, 5)", ...) and outputs; features without a name are numbered from
    1.

    With ``picture_shape`` (height, width) the first features are the pixels of an image, row by row.
    ``constant`` is the index of the intercept's feature, if there is one.
    """

    features: Sequence[str] = ()
    outputs: Sequence[str] = ()
    picture_shape: tuple[int, int] | None = None
    constant: int | None = None

    @classmethod
    def of(cls, data: Any, n_outputs: int, constant: int | None = None) -> Self:
        """Take the names from a data set. A single output for two classes is named after the second class."""
        return cls(
            getattr(data, "feature_names", ()),
            tuple(getattr(data, "label_names", ())[-n_outputs:]),
            getattr(data, "picture_shape", None),
            constant,
        )

    def feature(self, j: int) -> str:
        """Return the name of feature ``j``, row j of W."""
        if j == self.constant:
            return "intercept"
        return str(self.features[j]) if j < len(self.features) else f"feature {j + 1}"

    def output(self, c: int) -> str:
        """Return the name of output ``c``, column c of W."""
        return str(self.outputs[c]) if c < len(self.outputs) else f"output {c + 1}"

    def weight(self, k: int, n_features: int, n_outputs: int) -> str:
        """Return the name of weight ``k`` of w: a feature for an output or, after the rows of W, a
        transition."""
        j, c = divmod(k, n_outputs)
        if j < n_features:
            return f"{self.feature(j)} for {self.output(c)}" if n_outputs > 1 else self.feature(j)
        match j - n_features - n_outputs:
            case 0:
                return f"begin → {self.output(c)}"
            case 1:
                return f"{self.output(c)} → end"
        return f"{self.output(j - n_features)} → {self.output(c)}"
