"""Generated documents of any size whose words predict a class, a set of labels or a number."""

from __future__ import annotations

import numpy as np

from ..dataset import Content, Part
from ..entry import Request
from ..names import LazyNames
from .documents import Language, draw_counts
from .labels import indicator

TOPIC_SIZE = 200
#: Topics of documents with a numeric target, of which one tells it.
TARGET_TOPICS = 10


def synthetic_text(request: Request) -> Content:
    """Generate documents of `n_classes` classes, each of which is a topic; the test part has a quarter as
    many."""
    options = request.options
    rng = np.random.default_rng(request.seed)
    K, d = options["n_classes"], options["n_features"]
    language = Language.draw(rng, d, K, min(TOPIC_SIZE, d // 4 + 1))

    def draw(n: int) -> Part:
        y = rng.permutation(np.arange(n) % K).astype(np.int32)
        X = draw_counts(rng, language, np.arange(n + 1), y, options["density"] * d)
        return Part(X, (2 * y - 1).astype(np.int8) if K == 2 else y)

    train, test = draw(options["n_samples"]), draw(max(options["n_samples"] // 4, 1))
    names = tuple(f"topic {k + 1}" for k in range(K))
    return Content(train, names, LazyNames.numbered(d, "word "), test=test)


def synthetic_multilabel(request: Request) -> Content:
    """Generate documents with about `cardinality` of `n_labels` labels, some of them frequent or
    co-occurring.

    Label probabilities are proportional to 1 / rank. Each further label of a document is, with probability
    1/2, the successor of the one before.
    """
    options = request.options
    rng = np.random.default_rng(request.seed)
    L, d = options["n_labels"], options["n_features"]
    language = Language.draw(rng, d, L, min(TOPIC_SIZE, d // 4 + 1))
    cumulated = np.cumsum(1 / np.arange(2, L + 2))

    def draw(n: int) -> Part:
        counts = np.minimum(1 + rng.poisson(max(options["cardinality"] - 1, 0), n), L)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        labels = np.searchsorted(cumulated, rng.random(offsets[-1]) * cumulated[-1])
        neighbours = np.flatnonzero(rng.random(len(labels)) < 0.5)
        neighbours = neighbours[~np.isin(neighbours, offsets[:-1])]
        labels[neighbours] = (labels[neighbours - 1] + 1) % L
        Y = indicator(labels, offsets, L)
        X = draw_counts(rng, language, Y.indptr, Y.indices, options["density"] * d)
        return Part(X, Y)

    train, test = draw(options["n_samples"]), draw(max(options["n_samples"] // 4, 1))
    names = tuple(f"label {k + 1}" for k in range(L))
    return Content(train, names, LazyNames.numbered(d, "word "), test=test)


def synthetic_prices(request: Request) -> Content:
    """Generate documents whose target is linear in normalized word counts, plus noise of a third of the
    signal.

    Weights of the words of one topic are standard normal, and those of other words a tenth as large.
    """
    options = request.options
    rng = np.random.default_rng(request.seed)
    n, d = options["n_samples"], options["n_features"]
    language = Language.draw(rng, d, TARGET_TOPICS, min(TOPIC_SIZE, d // 4 + 1))
    rows = n + max(n // 4, 1)
    topics = rng.integers(0, TARGET_TOPICS, rows)
    X = draw_counts(rng, language, np.arange(rows + 1), topics, options["density"] * d)
    words = np.zeros(d)
    words[language.words] = 0.1 * rng.standard_normal(len(language.words))
    words[language.topics[0]] = rng.standard_normal(language.topics.shape[1])
    signal = X @ words / np.sqrt(np.maximum(X.multiply(X).sum(axis=1), 1.0)).A1
    y = signal + signal.std() / 3.0 * rng.standard_normal(rows)
    train, test = (Part(X[part], y[part]) for part in (slice(n), slice(n, rows)))
    return Content(train, ("price",), LazyNames.numbered(d, "word "), test=test)
