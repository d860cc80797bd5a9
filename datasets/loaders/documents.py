"""Generated word counts: word frequencies by Zipf's law, words of topics, and groups of
co-occurring words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from ..errors import DataError

MOST_NONZEROS = 100_000_000
SIGNAL = 0.3
DUPLICATED, GROUPED, CO_OCCURRENCE = 0.05, 0.10, 0.8


@dataclass(frozen=True)
class Language:
    """A vocabulary of d words, with the structure from which documents are drawn.

    words   (d - c - g,)  word of each frequency rank, without followers in copies and groups
    topics  (n_topics, size)  words of each topic, frequent ones first
    copies  (c, 2)  a word, and its follower, which occurs in exactly the same documents
    groups  (g, 2)  a word, and its follower, which occurs in four of five of the word's documents
    """

    words: np.ndarray
    topics: np.ndarray
    copies: np.ndarray
    groups: np.ndarray

    @classmethod
    def draw(cls, rng: np.random.Generator, d: int, n_topics: int, topic_size: int) -> Language:
        """Draw a language of d words.

        Followers occur only with the words that they follow, so the columns of copies are exactly equal.
        """
        order = rng.permutation(d)
        c, g = int(DUPLICATED * d), int(GROUPED * d)
        leaders, copies, followers = order[c + g :], order[:c], order[c : c + g]
        topic_size = min(topic_size, len(leaders))
        # topics avoid the most frequent words, which say little
        common = min(len(leaders) // 50, len(leaders) - topic_size)
        rare = leaders[common:]
        # a stride through the ranks gives each topic frequent and rare words without n_topics permutations
        # of them
        places = rng.integers(0, len(rare), (n_topics, 1)) + np.arange(topic_size) * rng.integers(
            1, max(len(rare) // max(topic_size, 1), 2), (n_topics, 1)
        )
        return cls(
            leaders,
            rare[places % len(rare)],
            np.stack([rng.choice(leaders, c), copies], axis=1),
            np.stack([rng.choice(leaders, g), followers], axis=1),
        )


def draw_counts(
    rng: np.random.Generator,
    language: Language,
    offsets: np.ndarray,
    topics: np.ndarray,
    per_document: float,
) -> scipy.sparse.csr_matrix:
    """Draw the word counts (n, d) of documents; document i has the topics topics[offsets[i] : offsets[i +
    1]].

    The number of distinct words of a document is gamma-distributed around `per_document`. Three in ten of
    them are drawn from one of its topics, the others by Zipf's law. Raises DataError if the matrix would be
    too large.
    """
    n, d = len(offsets) - 1, len(language.words) + len(language.copies) + len(language.groups)
    if n * per_document > MOST_NONZEROS:
        raise DataError(
            f"{n:,} documents of {per_document:,.0f} words are more than {MOST_NONZEROS:,} non-zeros: "
            "lower n_samples or density."
        )
    # followers come on top of the words drawn
    own = per_document / (
        1 + (len(language.copies) + CO_OCCURRENCE * len(language.groups)) / max(len(language.words), 1)
    )
    wanted = np.clip(np.round(rng.gamma(4.0, own / 4.0, n)), 1, 0.8 * len(language.words)).astype(np.int64)
    blocks = []
    step = max(int(500_000 // max(own, 1)), 1)
    for lo in range(0, n, step):
        hi = min(lo + step, n)
        blocks.append(_block(rng, language, offsets[lo : hi + 1], topics, wanted[lo:hi], d))
    return scipy.sparse.vstack(blocks, format="csr") if len(blocks) > 1 else blocks[0]


def _block(rng, language: Language, offsets, topics, wanted, d: int) -> scipy.sparse.csr_matrix:
    n = len(wanted)
    drawn, missing = np.empty(0, np.int64), wanted
    # words repeat, so draw on until every document has as many distinct ones as it wants
    for _ in range(8):
        documents = np.repeat(np.arange(n), np.ceil(missing * 1.6).astype(np.int64))
        words = _words(rng, language, offsets, topics, documents)
        drawn = np.concatenate([drawn, documents * d + words])
        keys, counts = np.unique(drawn, return_counts=True)
        rows, words = np.divmod(keys, d)
        missing = np.maximum(wanted - np.bincount(rows, minlength=n), 0)
        if not missing.any():
            break
    # of too many words a random choice stays
    order = np.lexsort((rng.random(len(rows)), rows))
    rank = np.arange(len(rows)) - np.repeat(
        np.searchsorted(rows, np.arange(n)), np.bincount(rows, minlength=n)
    )
    kept = order[rank < wanted[rows]]
    X = scipy.sparse.csr_matrix((counts[kept].astype(np.float64), (rows[kept], words[kept])), (n, d))
    return _with_followers(rng, language, X)


def _words(rng, language: Language, offsets, topics, documents: np.ndarray) -> np.ndarray:
    """Draw a word for each entry of `documents`, which are indices of documents."""
    uniform = rng.random(len(documents))
    # inverse of the distribution function of ranks with density 1 / (rank + 1): log-uniform
    rank = np.floor(np.exp(rng.random(len(documents)) * np.log(len(language.words) + 1)) - 1).astype(np.int64)
    words = language.words[np.minimum(rank, len(language.words) - 1)]
    count = np.diff(offsets)[documents]
    about = np.flatnonzero((uniform < SIGNAL) & (count > 0))
    topic = topics[offsets[documents[about]] + (rng.random(len(about)) * count[about]).astype(np.int64)]
    size = language.topics.shape[1]
    rank = np.floor(np.exp(rng.random(len(about)) * np.log(size + 1)) - 1).astype(np.int64)
    words[about] = language.topics[topic, np.minimum(rank, size - 1)]
    return words


def _with_followers(rng, language: Language, X: scipy.sparse.csr_matrix) -> scipy.sparse.csr_matrix:
    columns = X.tocsc()
    parts = [X]
    for pairs, share in ((language.copies, 1.0), (language.groups, CO_OCCURRENCE)):
        if len(pairs):
            found = columns[:, pairs[:, 0]].tocoo()
            kept = rng.random(found.nnz) < share if share < 1 else slice(None)
            there = found.data[kept], (found.row[kept], pairs[found.col[kept], 1])
            parts.append(scipy.sparse.csr_matrix(there, X.shape))
    total = sum(parts[1:], parts[0])
    total.sort_indices()
    return total
