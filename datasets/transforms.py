"""The common options of data sets: split, scale, products of features, one class against the rest, class
weights."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from .dataset import Content, Dataset, Part, check, check_values
from .entry import DataSetInfo, Request
from .errors import DataError, short
from .kinds import DEFAULT_LOSSES, NUMERIC, ONE_CLASS
from .matrix import check_sparse
from .names import LazyNames, with_doubles, with_products
from .trees import below

MAX_DENSE = 100_000_000
#: Widths of a constant feature, in units of its last place: entries are written and read with rounding.
ULPS, EPS = 4.0, float(np.finfo(np.float64).eps)
#: Width relative to the entries below which differences of entries are exact: means are taken of these.
CLOSE = 1e-3
#: What a data set says as its entry does.
ABOUT = ("id", "summary", "description", "source", "terms", "penalty")


def finish(entry: DataSetInfo, request: Request, content: Content) -> Dataset:
    """Apply the common options to the content that a loader returned. Raises DataError if the data are
    unusable."""
    options = request.options
    kind = content.kind or entry.kind_before(options)
    if len(entry.splits) > 1:
        content = split(content, kind, options["split"], request.seed)
    if options.get("cv") is not None:
        content = hold_out(content, kind, options["cv"], request.seed)
    parts = [content.train] if content.test is None else [content.train, content.test]
    request.progress("preparing features", None)
    matrices = [_summed(part.X) for part in parts]
    for name, X in zip(("training", "test"), matrices, strict=False):
        check_values(entry.id, name, X, np.inf)  # what is too large may be scaled yet
    if entry.weighting:
        matrices = weigh(matrices, options["weighting"])
    names = content.feature_names
    if kind != "function":
        matrices = scale(matrices, options["scale"])
        matrices, names = doubled(matrices, names, options["double"])
    if options.get("degree") == 2 or options.get("bias"):
        names = with_products(names, options["degree"], bool(options["bias"]))
        matrices = [expand(X, options["degree"], bool(options["bias"])) for X in matrices]
    labels, metric = [part.y for part in parts], entry.metric if kind == entry.kind else None
    labels = scaled_targets(labels, kind, options.get("target_scale", "none"))
    if options.get("positive") is not None:
        if kind in NUMERIC:
            raise DataError(f"{entry.id}: positive= chooses one class, and the labels are numeric targets.")
        one, parents = options["positive"], content.parents
        labels, label_names = one_against_rest(labels, content.label_names, kind, one, parents)
        content, kind, metric = replace(content, label_names=label_names, parents=None), "binary", "f1"
    parts = [
        Part(_real(X), y, part.offsets, None if part.sample_weight is None else _real(part.sample_weight))
        for X, y, part in zip(matrices, labels, parts, strict=True)
    ]
    train, test = [*parts, None][:2]
    content = replace(content, train=train, test=test, feature_names=names, kind=kind)
    known = entry.lam_for(options)
    data = Dataset(
        **vars(content) | {"label_names": tuple(content.label_names)},
        **{name: getattr(entry, name) for name in ABOUT},
        options=options,
        seed=request.seed,
        loss=DEFAULT_LOSSES[kind],
        lam=known.value if known else None,
        metric=metric,
    )
    data = check(data)
    if options.get("class_weight", "none") == "none":
        return data
    return replace(data, class_weights=balanced(data))


def balanced(data: Dataset) -> tuple[float, ...]:
    """Return class weights that give all classes the same total weight.

    They are n_samples/(n_classes n_c), with n_c training samples of class c. Classes without training samples
    get weight 0 and are not included in n_classes. Raises DataError unless each sample has exactly one class.
    """
    if data.kind not in ONE_CLASS:
        raise DataError(
            f"{data.id}: class_weight=balanced needs one class a sample, and these labels are {data.kind}."
        )
    codes = (data.y > 0).astype(int) if data.kind == "binary" else data.y
    counts = np.bincount(codes, minlength=data.n_classes)
    each = data.n_samples / int(np.count_nonzero(counts))
    return tuple(each / count if count else 0.0 for count in counts.tolist())


def whole(entry: DataSetInfo, request: Request, content: Any) -> Content:
    """Check the return value of a loader, and add the digest and names of features if they are missing.

    Raises DataError if the value is invalid.
    """
    if not isinstance(content, Content):
        kind = type(content).__name__
        raise DataError(f"{entry.id}: its loader returns {kind}; it must return a datasets.Content.")
    for part in filter(None, (content.train, content.test)):
        for name in ("X", "y"):
            array = getattr(part, name)
            if not hasattr(array, "shape") or (name == "X" and len(array.shape) != 2):
                raise DataError(
                    f"{entry.id}: {name} of a part is no array as datasets.Part lists it: X has the shape "
                    "(n, d), y a label a row."
                )
            if name == "X" or (content.kind or entry.kind) != "function":
                _check_array(f"{entry.id}: {name} of a part", array)
        if part.sample_weight is not None:
            _check_array(f"{entry.id}: sample_weight of a part", part.sample_weight)
    d, names = content.train.X.shape[1], content.feature_names
    if content.test is not None and content.test.X.shape[1] != d:
        raise DataError(
            f"{entry.id}: the test part has {content.test.X.shape[1]:,} features and the training part "
            f"{d:,}; both must have the same."
        )
    if not len(names):
        pixels = content.picture_shape
        names = LazyNames.pixels(*pixels) if pixels else LazyNames.numbered(d)
    if len(names) != d:
        raise DataError(
            f"{entry.id}: there are {len(names):,} feature_names for {d:,} features; give each a name."
        )
    return replace(content, feature_names=names, digest=content.digest or request.digest)


def _check_array(what: str, array: Any) -> None:
    """Raise DataError if an array is not of real numbers, is masked, or is a malformed sparse matrix."""
    if np.ma.is_masked(array):
        raise DataError(f"{what} is a masked array with hidden entries; fill them, or leave out their rows.")
    if hasattr(array, "dtype") and array.dtype.kind not in "biuf":
        raise DataError(f"{what} holds {array.dtype.name}; it must hold real numbers.")
    if scipy.sparse.issparse(array):
        try:
            check_sparse(array)
        except ValueError as error:
            raise DataError(f"{what} is no sparse matrix of shape {array.shape}: {short(error)}.") from None


def _summed(X: Any) -> Any:
    """Return features; if they are sparse, return them as CSR of float64 with duplicate entries summed."""
    if not scipy.sparse.issparse(X):
        return X
    given, X = X, scipy.sparse.csr_matrix(X.astype(np.float64, copy=False))
    if not X.has_canonical_format:
        X = X.copy() if X.format == given.format else X  # the arrays may be the loader's
        X.sum_duplicates()
    return X


def _real(X: Any) -> Any:
    """Convert features to float64: dense arrays in C order, sparse matrices in CSR form. Others stay as they
    are."""
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X, dtype=np.float64)
    return scipy.sparse.csr_matrix(X, dtype=np.float64) if scipy.sparse.issparse(X) else X


def split(content: Content, kind: str, how: str, seed: int) -> Content:
    """Split into training and test part.

    "given" keeps the test part, "none" uses all samples for training, and "random" draws 4/5 of them. "auto"
    is "given" if there is a test part, and "random" otherwise. A random split is stratified by class if each
    sample has one.
    """
    if how == "given" or (how == "auto" and content.test is not None):
        return content
    pool = content.train if content.test is None else _pool(content.train, content.test)
    coded = kind not in ("binary", *NUMERIC) and not scipy.sparse.issparse(pool.y)
    if coded and (pool.y < 0).any():
        raise DataError(
            "The test part has classes that training lacks, so the two cannot be pooled: use split=given."
        )
    if how == "none":
        return replace(content, train=pool, test=None)
    train, test = stratified(_strata(pool, kind), 0.2, np.random.default_rng(seed))
    return _parted(content, pool, train, test)


def _strata(part: Part, kind: str) -> np.ndarray:
    """Return the class of each sample, or zeros if samples do not have exactly one class."""
    return part.y if kind in ("binary", "multiclass", "tree") else np.zeros(part.n_samples, np.int8)


def _parted(content: Content, pool: Part, train: np.ndarray, test: np.ndarray) -> Content:
    """Return ``content`` with the samples ``train`` and ``test`` of ``pool`` as its parts."""
    texts = content.texts
    if texts is not None:
        content = replace(content, texts=lambda i: texts(int(train[i])))
    return replace(content, train=pool.take(train), test=pool.take(test))


def hold_out(content: Content, kind: str, which: str, seed: int) -> Content:
    """Replace the test part by the k-th of K folds of the training part, drawn with ``seed``.

    ``which`` is "k/K". The folds are disjoint and stratified by class.
    """
    n = content.train.n_samples
    found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", which)
    k, parts = map(int, found.groups()) if found else (0, 0)
    if not 1 <= k <= parts or not 2 <= parts <= n:
        raise DataError(
            f"Option cv={which!r} is not possible: write cv=k/K, with K from 2 to {n:,}, the number of "
            "training samples, and k from 1 to K."
        )
    order = np.random.default_rng(seed).permutation(n)
    ranked = order[np.argsort(_strata(content.train, kind)[order], kind="stable")]
    held_out = np.zeros(n, bool)
    held_out[ranked[k - 1 :: parts]] = True
    return _parted(content, content.train, np.flatnonzero(~held_out), np.flatnonzero(held_out))


def stratified(y: np.ndarray, fraction: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Split samples by class, and return the sorted indices of both parts.

    The second part gets ``fraction`` of each class, rounded; at least one sample remains in the first part.
    """
    chosen = np.zeros(len(y), bool)
    order = rng.permutation(len(y))
    ranked = order[np.argsort(y[order], kind="stable")]
    _, counts = np.unique(y, return_counts=True)
    for begin, count in zip(np.cumsum(counts) - counts, counts, strict=True):
        chosen[ranked[begin : begin + min(round(count * fraction), count - 1)]] = True
    if not chosen.any():
        # all classes are tiny: split as if there were none
        chosen[order[: min(max(round(len(y) * fraction), 1), len(y) - 1)]] = True
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)


def _pool(first: Part, second: Part) -> Part:
    def stack(a: Any, b: Any) -> Any:
        if scipy.sparse.issparse(a):
            return scipy.sparse.vstack([a, b], format="csr")
        return np.concatenate([a, b])

    offsets = None
    if first.offsets is not None and second.offsets is not None:
        offsets = np.concatenate([first.offsets, second.offsets[1:] + first.offsets[-1]])
    weights = None
    if first.sample_weight is not None and second.sample_weight is not None:
        weights = np.concatenate([first.sample_weight, second.sample_weight])
    return Part(stack(first.X, second.X), stack(first.y, second.y), offsets, weights)


def weigh(counts: list[Any], weighting: str) -> list[Any]:
    """Weight word counts: unchanged ("counts"), as 0/1, or by tf-idf.

    tf-idf is count · (log(n / f) + 1), where f of the n training documents contain the word. The first matrix
    is the training part.
    """
    if weighting == "counts":
        return counts
    if weighting == "binary":
        return [_with_data(X, np.ones(X.nnz)) for X in counts]
    train = counts[0]
    frequency = np.bincount(train.indices, minlength=train.shape[1])
    # a word that no training document has keeps the weight of one that a single document has
    idf = np.log(train.shape[0] / np.maximum(frequency, 1)) + 1
    return [_with_data(X, X.data * idf[X.indices]) for X in counts]


def _with_data(X: Any, data: np.ndarray) -> Any:
    return type(X)((data, X.indices, X.indptr), X.shape)


def scale(matrices: list[Any], how: str | float) -> list[Any]:
    """Scale features by statistics of the first matrix, the training part.

    "unit": rows of Euclidean norm 1; "minmax": training features to [0, 1]; "center": features of mean 0;
    "standard": of mean 0 and variance 1; "sample-standard": the same for rows, then for features (LIBSVM's
    `leu`); a number: division by it. Raises DataError if this would make a large sparse matrix dense.
    """
    if how == "none" or 0 in matrices[0].shape:
        return matrices
    # what overflows becomes infinite or NaN, which is refused afterwards
    with np.errstate(over="ignore", invalid="ignore"):
        return _scaled(matrices, how)


def _scaled(matrices: list[Any], how: str | float) -> list[Any]:
    if isinstance(how, int | float):
        return [X / how for X in matrices]
    if how == "unit":
        return [_unit_rows(X) for X in matrices]
    if how == "minmax":
        return _minmax(matrices)
    dense = [_dense(X, how) for X in matrices]
    if how == "center":
        return _centred(dense)
    noise = 0.0
    if how == "sample-standard":
        rows = [_spread(X, 1) for X in dense]
        noise = float(rows[0].rounding.max())
        dense = [spread.standardized(X) for spread, X in zip(rows, dense, strict=True)]
    spread = _spread(dense[0], 0, noise)
    return [spread.standardized(X) for X in dense]


@dataclass(frozen=True)
class _Spread:
    """Mean ``origin + unit * mean`` and standard deviation ``unit * deviation`` of rows or columns.

    ``rounding`` bounds the rounding errors of standardized entries.
    """

    origin: np.ndarray
    unit: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    rounding: np.ndarray

    def standardized(self, X: np.ndarray) -> np.ndarray:
        return ((X - self.origin) / self.unit - self.mean) / self.deviation


def _spread(X: np.ndarray, axis: int, noise: float = 0.0) -> _Spread:
    """Compute mean and deviation along an axis; ``noise`` bounds the errors of the entries.

    The computed deviation of a constant column of n entries may be as large as n ε |mean|. Therefore a column
    is constant if its width, the largest minus the smallest entry, is within rounding. If the width is small
    relative to the entries, the smallest is subtracted first, which is exact and keeps small deviations
    precise. Units are powers of two, so that squares neither overflow nor underflow.
    """
    low, high = X.min(axis, keepdims=True), X.max(axis, keepdims=True)
    largest, width = np.maximum(-low, high), high - low
    constant = width <= ULPS * EPS * largest + noise
    origin = np.where(constant | (width < CLOSE * largest), low, 0.0)
    unit = np.ldexp(1.0, np.where(constant, 0, np.frexp(width)[1]))
    counted = (X - origin) / unit
    mean, deviation = counted.mean(axis, keepdims=True), counted.std(axis, keepdims=True)
    deviation = np.where(constant, 1.0, deviation)
    rounding = X.shape[axis] * EPS * largest / (unit * deviation)
    return _Spread(origin, unit, mean, deviation, np.where(constant, 0.0, rounding))


def _centred(matrices: list[np.ndarray]) -> list[np.ndarray]:
    """Subtract the column means of the first matrix, the training part, from all matrices."""
    spread = _spread(matrices[0], 0)
    return [((X - spread.origin) / spread.unit - spread.mean) * spread.unit for X in matrices]


def scaled_targets(labels: list[Any], kind: str, how: str) -> list[Any]:
    """Scale numeric targets by statistics of the first array, the training part.

    Raises DataError if the labels are not numeric.
    """
    if how == "none":
        return labels
    if kind not in NUMERIC:
        raise DataError(f"Option target_scale={how!r} needs numeric targets, and these labels are {kind}.")
    columns = [np.asarray(y, dtype=np.float64).reshape(len(y), -1) for y in labels]
    spread = _spread(columns[0], 0)
    scaled = [spread.standardized(y) for y in columns] if how == "standard" else _centred(columns)
    return [new.reshape(old.shape) for new, old in zip(scaled, labels, strict=True)]


def _unit_rows(X: Any) -> Any:
    # a power of two that brings the largest entry of a row near 1 changes no digit, and its square is exact
    if scipy.sparse.issparse(X):
        X, rows = X.astype(np.float64), np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        largest = np.zeros(X.shape[0])
        np.maximum.at(largest, rows, np.abs(X.data))
        entries = np.ldexp(X.data, -np.frexp(largest)[1][rows])
        norms = np.sqrt(np.bincount(rows, entries**2, X.shape[0]))
        return _with_data(X, entries / np.where(norms > 0, norms, 1)[rows])
    X = np.asarray(X, dtype=np.float64)
    X = np.ldexp(X, -np.frexp(np.abs(X).max(axis=1, keepdims=True))[1])
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0, norms, 1)


def _minmax(matrices: list[Any]) -> list[Any]:
    train, sparse = matrices[0], scipy.sparse.issparse(matrices[0])
    low, high = (np.asarray(end.toarray() if sparse else end).ravel() for end in (train.min(0), train.max(0)))
    width = high - low
    width = np.where(width > ULPS * EPS * np.maximum(-low, high), width, 1)
    if not sparse:
        return [(X - low) / width for X in matrices]
    full = train.count_nonzero(axis=0) == train.shape[0]
    if (low[~full] < 0).any():
        raise DataError("scale=minmax needs features of at least 0 where they are sparse: use scale=unit.")
    factor, matrices = 1 / width, [_lowered(X, full & (low != 0), low) for X in matrices]
    return [_with_data(X, X.data * factor[X.indices]) for X in matrices]


def _lowered(X: Any, columns: np.ndarray, low: np.ndarray) -> Any:
    """Subtract ``low`` from some columns of a sparse matrix, in which these columns become dense."""
    places = np.flatnonzero(columns)
    if not places.size:
        return X
    n = X.shape[0]
    entries = np.tile(low[places], n), np.tile(places, n), np.arange(n + 1) * places.size
    return scipy.sparse.csr_matrix(X - type(X)(entries, shape=X.shape))


def _dense(X: Any, how: str) -> np.ndarray:
    if not scipy.sparse.issparse(X):
        return np.asarray(X, dtype=np.float64)
    if X.shape[0] * X.shape[1] > MAX_DENSE:
        raise DataError(
            f"scale={how} would make this {X.shape[0]:,} x {X.shape[1]:,} matrix dense: use scale=unit."
        )
    return X.toarray()


def doubled(matrices: list[Any], names: Sequence[str], count: int) -> tuple[list[Any], Sequence[str]]:
    """Append copies of the ``count`` features that are nonzero in most training samples.

    Raises DataError if there are fewer features.
    """
    if not count:
        return matrices, names
    train = matrices[0]
    if hasattr(train, "csc_rows"):
        raise DataError(
            "Option double needs stored features, not ones that are computed on demand: use double=0."
        )
    if count > train.shape[1]:
        raise DataError(f"Option double={count} is not possible: there are {train.shape[1]:,} features.")
    frequency = np.bincount(train.nonzero()[1], minlength=train.shape[1])
    columns = np.argsort(-frequency, kind="stable")[:count]
    return [_append_columns(X, X[:, columns]) for X in matrices], with_doubles(names, columns)


def _append_columns(X: Any, more: Any) -> Any:
    """Append columns to a dense or sparse matrix."""
    return scipy.sparse.hstack([X, more], format="csr") if scipy.sparse.issparse(X) else np.hstack([X, more])


def expand(X: Any, degree: int, bias: bool) -> Any:
    """Add products of degree 2, which are computed on demand, and a constant last column."""
    if degree == 2:
        from .matrix import Products

        return Products(X, degree, bias)
    return _append_columns(X, np.ones((X.shape[0], 1)))


def one_against_rest(
    labels: list[Any], names: tuple[str, ...], kind: str, positive: str, parents: np.ndarray | None
) -> tuple[list[np.ndarray], tuple[str, str]]:
    """Return labels +1 for the class called `positive` and -1 for all others, with the two class names.

    In a tree, descendants of the class are included. "even" and "odd" select several classes if all names are
    numbers. Raises DataError if there is no such class.
    """
    if positive in names:
        chosen, rest = [names.index(positive)], f"not {positive}"
        if parents is not None:
            chosen = np.flatnonzero(below(parents, chosen[0]))
    elif positive in ("even", "odd") and all(name.isdigit() for name in names):
        chosen = [i for i, name in enumerate(names) if int(name) % 2 == (positive == "odd")]
        rest = "even" if positive == "odd" else "odd"
    else:
        some = ", ".join(names[:30]) + (", ..." if len(names) > 30 else "")
        raise DataError(f"There is no class {positive!r} for positive=: choose one of {some}.")
    if kind == "binary":
        hits = [np.isin(y > 0, chosen) for y in labels]
    elif kind == "multilabel":
        hits = [np.asarray(y[:, chosen].sum(1)).ravel() > 0 for y in labels]
    else:
        hits = [np.isin(y, chosen) for y in labels]
    return [np.where(hit, 1, -1).astype(np.int8) for hit in hits], (rest, positive)
