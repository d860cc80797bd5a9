"""Sets that come with scikit-learn."""

from __future__ import annotations

import numpy as np

from ..dataset import Content, Part
from ..entry import Request
from ..names import LazyNames
from .digests import digest_of


def digits(request: Request) -> Content:
    """1,797 handwritten digits of 8 x 8 pixels, values 0 to 16."""
    from sklearn.datasets import load_digits

    data = load_digits()
    y = data.target.astype(np.int32)
    return Content(
        Part(np.ascontiguousarray(data.data, dtype=np.float64), y),
        tuple("0123456789"),
        LazyNames.pixels(8, 8),
        digest_of(data.data, y),
        picture_shape=(8, 8),
    )


def breast_cancer(request: Request) -> Content:
    """569 tumours, 30 measurements; +1 is malignant."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    y = np.where(data.target == 0, 1, -1).astype(np.int8)
    names = tuple(str(name) for name in data.feature_names)
    return Content(
        Part(np.ascontiguousarray(data.data), y), ("benign", "malignant"), names, digest_of(data.data, y)
    )
