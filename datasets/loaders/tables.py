"""Data sets stored as tables of numbers."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse

from ..dataset import Content, Part
from ..entry import Request
from ..errors import DataError
from ..names import LazyNames
from ..readers import idx, npz, table
from ..store import Progress
from .labels import encode

LETTER_FEATURES = (
    *("x-box", "y-box", "width", "high", "onpix", "x-bar", "y-bar", "x2bar"),
    *("y2bar", "xybar", "x2ybr", "xy2br", "x-ege", "xegvy", "y-ege", "yegvx"),
)
SCENES = ("Beach", "Sunset", "FallFoliage", "Field", "Mountain", "Urban")
COVERS = (
    *("Spruce/Fir", "Lodgepole Pine", "Ponderosa Pine", "Cottonwood/Willow", "Aspen", "Douglas-fir"),
    "Krummholz",
)


def letter(request: Request) -> Content:
    """Load 20,000 printed capital letters with 16 features; the first `n_train` rows are for training."""
    (path,) = request.paths
    X, labels = table.read(path, text_column=0, progress=request.progress)
    n = int(request.options["n_train"])
    if X.shape[1] != len(LETTER_FEATURES) or len(X) <= n:
        raise DataError(
            f"{path.name} has {X.shape[0]:,} rows of {X.shape[1]} numbers; 20,000 of 16 are expected."
        )
    (y, y_test), names = encode("multiclass", np.array(labels[:n]), np.array(labels[n:]))
    return Content(Part(X[:n], y), names, LETTER_FEATURES, test=Part(X[n:], y_test))


def _multilabel(request: Request, labels: tuple[str, ...]) -> Content:
    """Load two tables, training first, whose last columns are the labels, 0 or 1."""
    parts = []
    for path in request.paths:
        values, _ = table.read(path, progress=request.progress)
        X, Y = values[:, : -len(labels)], values[:, -len(labels) :]
        if X.shape[1] < 1 or not np.isin(Y, (0, 1)).all():
            raise DataError(
                f"{path.name}: the last {len(labels)} fields of a line are labels, 0 or 1; these are not."
            )
        parts.append(Part(X, scipy.sparse.csr_matrix(Y.astype(np.int8))))
    if len({part.X.shape[1] for part in parts}) != 1:
        raise DataError(
            f"{request.paths[1].name} has another number of columns than {request.paths[0].name}."
        )
    return Content(parts[0], labels, test=parts[1])


#: 1,211 + 1,196 pictures, 294 colour moments, 6 labels.
scene = partial(_multilabel, labels=SCENES)
#: 1,500 + 917 genes, 103 features, 14 functional classes.
yeast = partial(_multilabel, labels=tuple(f"Class{k}" for k in range(1, 15)))


def tmc2007(request: Request) -> Content:
    """Load 28,596 aviation safety reports with 500 words and 22 labels, not split."""
    (path,) = request.paths
    X = npz.read_csr(path, ones=True)
    (Y,) = npz.read(path, "Y")
    if Y.ndim != 2 or len(Y) != X.shape[0] or not np.isin(Y, (0, 1)).all():
        raise DataError(
            f"{path.name}: the labels Y are not a 0/1 matrix with a row a document: get the file again."
        )
    names = tuple(f"class{k:02d}" for k in range(1, Y.shape[1] + 1))
    part = Part(X, scipy.sparse.csr_matrix(Y.astype(np.int8)))
    return Content(part, names, LazyNames.numbered(X.shape[1], "word "))


def leukemia(request: Request) -> Content:
    """Load the expression of 7,129 genes of 38 + 34 patients; +1 is acute myeloid leukemia."""
    (path,) = request.paths
    X, y, X_test, y_test = npz.read(path, "X_train", "y_train", "X_test", "y_test")
    genes = npz.read_names(path, "gene")
    fits = (
        X.ndim == X_test.ndim == 2
        and y.ndim == y_test.ndim == 1
        and {X.dtype.kind, X_test.dtype.kind} <= set("iuf")
        and X.shape[1] == X_test.shape[1] == len(genes)
    )
    if (
        not fits
        or len(X) != len(y)
        or len(X_test) != len(y_test)
        or not np.isin([*y, *y_test], (-1, 1)).all()
    ):
        raise DataError(f"{path.name}: samples, genes and labels do not fit each other: get the file again.")
    parts = [Part(a.astype(np.float64), b.astype(np.int8)) for a, b in ((X, y), (X_test, y_test))]
    return Content(parts[0], ("ALL", "AML"), genes, test=parts[1])


def covtype(request: Request) -> Content:
    """Load 581,012 patches of forest with 54 features and 7 cover types, not split."""
    (path,) = request.paths
    values, _ = table.read(path, progress=request.progress)
    classes = values[:, -1]
    if values.shape[1] != 55 or not np.isin(classes, np.arange(1, 8)).all():
        raise DataError(f"{path.name}: a line is 54 numbers and a class from 1 to 7: get the file again.")
    X = scipy.sparse.csr_matrix(values[:, :-1])
    return Content(Part(X, classes.astype(np.int32) - 1), COVERS)


def mnist(request: Request) -> Content:
    """Load handwritten digits of 28 x 28 pixels: the 10,000 of the test part, or all 70,000."""
    pairs = [request.paths[i : i + 2] for i in range(0, len(request.paths), 2)]
    parts = [_digits(images, labels, request.progress) for images, labels in pairs]
    *test, train = parts
    return Content(train, tuple("0123456789"), test=test[0] if test else None, picture_shape=(28, 28))


def _digits(images: Path, labels: Path, progress: Progress) -> Part:
    pixels, y = (idx.read(path, progress=progress) for path in (images, labels))
    if (
        pixels.ndim != 3
        or pixels.shape[1:] != (28, 28)
        or y.shape != pixels.shape[:1]
        or y.max(initial=0) > 9
    ):
        raise DataError(f"{images.name} and {labels.name} do not hold 28 x 28 pictures and a digit for each.")
    X = scipy.sparse.csr_matrix(pixels.reshape(len(pixels), -1))
    return Part(X, y.astype(np.int32))
