"""Data sets that come with scikit-learn."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
from pathlib import Path

import numpy as np

from ..dataset import Content, Part
from ..entry import Request


def digest_of(*arrays: np.ndarray) -> str:
    """Return the SHA-256 of the bytes of arrays."""
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


def digit_images() -> tuple[np.ndarray, np.ndarray]:
    """Return pixels and labels of scikit-learn's digits, read from its file because the import takes a
    second."""
    spec = importlib.util.find_spec("sklearn")
    assert spec is not None
    (package,) = spec.submodule_search_locations or [""]
    with gzip.open(Path(package, "datasets", "data", "digits.csv.gz"), "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(np.int64)


def digits(request: Request) -> Content:
    """Load 1,797 handwritten digits of 8 x 8 pixels with values 0 to 16."""
    pixels, target = digit_images()
    y = target.astype(np.int32)
    names, digest = tuple("0123456789"), digest_of(pixels, y)
    return Content(Part(pixels, y), names, digest=digest, picture_shape=(8, 8))


def diabetes(request: Request) -> Content:
    """Load 442 patients with ten measurements, unscaled, and the progression of their disease
    after a year."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    X, y = np.ascontiguousarray(data.data), np.ascontiguousarray(data.target, dtype=np.float64)
    return Content(Part(X, y), ("progression",), tuple(map(str, data.feature_names)), digest_of(X, y))


def breast_cancer(request: Request) -> Content:
    """Load 569 tumours with 30 measurements; +1 is malignant."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    y = np.where(data.target == 0, 1, -1).astype(np.int8)
    names = tuple(str(name) for name in data.feature_names)
    return Content(
        Part(np.ascontiguousarray(data.data), y), ("benign", "malignant"), names, digest_of(data.data, y)
    )
