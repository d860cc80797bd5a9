"""Strings of real digit images whose labels follow a Markov chain: the embedded twin of the OCR words."""

from __future__ import annotations

import numpy as np

from ..dataset import Content, Part
from ..entry import Request
from ..names import Names
from ..transforms import stratified
from .digests import digest_of
from .markov import draw_labels, sequence_offsets

INK = 8


def transitions() -> np.ndarray:
    """Probabilities (from, to) of the next digit: one more (0.55), twice as much modulo 10 (0.25), any
    (0.2)."""
    P = np.full((10, 10), 0.02)
    digit = np.arange(10)
    P[digit, (digit + 1) % 10] += 0.55
    P[digit, 2 * digit % 10] += 0.25
    return P


def digit_strings(request: Request) -> Content:
    """`n_samples` training strings and a quarter of that for testing; a pixel is on where it is at least
    half dark.

    The images of the training strings and those of the test strings are disjoint (4/5 and 1/5 of
    scikit-learn's
    1,797, stratified); each token is an image drawn with replacement from those of its digit.
    """
    from sklearn.datasets import load_digits

    data = load_digits()
    options = request.options
    rng = np.random.default_rng(request.seed)
    pixels = (data.data >= INK).astype(np.uint8)
    pools = stratified(data.target, 0.2, rng)
    counts = options["n_samples"], max(options["n_samples"] // 4, 1)
    lengths = options["min_length"], max(options["max_length"], options["min_length"])

    def draw(pool: np.ndarray, count: int) -> Part:
        offsets = sequence_offsets(rng, count, *lengths)
        y = draw_labels(rng, offsets, np.full(10, 0.1), transitions())
        images = np.empty(len(y), np.int64)
        for digit in range(10):
            here = y == digit
            images[here] = rng.choice(pool[data.target[pool] == digit], here.sum())
        return Part(pixels[images], y, offsets)

    train, test = (draw(pool, count) for pool, count in zip(pools, counts, strict=True))
    return Content(
        train,
        tuple("0123456789"),
        Names.pixels(8, 8),
        digest_of(train.X, train.y, train.offsets, test.X, test.y, test.offsets),
        test=test,
        picture_shape=(8, 8),
    )
