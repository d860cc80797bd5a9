"""Generated sequences of any size, with a sparse structure that a chain CRF can recover."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from ..dataset import Content, Part
from ..entry import Request
from ..errors import DataError
from .markov import draw_labels

MAX_CHAIN_NONZEROS = 200_000_000


def synthetic_chain(request: Request) -> Content:
    """Generate sequences with binary features, a third of which depend on the token's label.

    Labels follow a Markov chain in which each has two likely successors. A token has about density ·
    n_features features, at least 1. The test part has a quarter as many sequences, at least 1.
    """
    options = request.options
    K, d, length = options["n_labels"], options["n_features"], options["length"]
    per_token = max(round(options["density"] * d), 1)
    tokens = options["n_samples"] * length * 1.25
    if tokens * per_token > MAX_CHAIN_NONZEROS:
        raise DataError(
            f"synthetic-chain would have {tokens * per_token:,.0f} non-zeros, more than the "
            f"{MAX_CHAIN_NONZEROS:,} possible: lower n_samples, length or density."
        )
    rng = np.random.default_rng(request.seed)
    transitions = np.full((K, K), 0.2 / K)
    successors = rng.permuted(np.tile(np.arange(K), (K, 1)), axis=1)[:, : min(2, K)]
    np.put_along_axis(transitions, successors, 0.2 / K + 0.8 / successors.shape[1], axis=1)
    block = max(d // (4 * K), 1)
    own = rng.permutation(d)[np.arange(K * block) % d].reshape(K, block)

    def draw(count: int) -> Part:
        offsets = np.arange(count + 1, dtype=np.int64) * length
        y = draw_labels(rng, offsets, np.full(K, 1 / K), transitions)
        columns = rng.integers(0, d, (len(y), per_token), dtype=np.int32)
        telling = rng.random((len(y), per_token), dtype=np.float32) < 1 / 3
        columns[telling] = own[np.repeat(y, telling.sum(1)), rng.integers(0, block, telling.sum())]
        indptr = np.arange(len(y) + 1, dtype=np.int64) * per_token
        X = scipy.sparse.csr_matrix((np.ones(columns.size), columns.ravel(), indptr), (len(y), d))
        X.sum_duplicates()
        X.data[:] = 1
        return Part(X, y, offsets)

    train, test = draw(options["n_samples"]), draw(max(options["n_samples"] // 4, 1))
    return Content(train, tuple(f"t{k + 1}" for k in range(K)), test=test)
