"""Strings of real digit images whose labels follow a Markov chain, a built-in counterpart of the
OCR words."""

from __future__ import annotations

import numpy as np

from ..dataset import Content, Part
from ..entry import Request
from ..transforms import stratified
from .embedded import digest_of, digit_images
from .markov import draw_labels

INK = 8


def transitions() -> np.ndarray:
    """Return the transition probabilities (from, to) of digits.

    The next digit is one larger with probability 0.55, twice as large with 0.25, both modulo 10, and
    uniformly drawn with 0.2.
    """
    P = np.full((10, 10), 0.02)
    digit = np.arange(10)
    P[digit, (digit + 1) % 10] += 0.55
    P[digit, 2 * digit % 10] += 0.25
    return P


def digit_strings(request: Request) -> Content:
    """Generate `n_samples` training strings and a quarter as many test strings of binarized images.

    Images are binarized at half of the largest value. Scikit-learn's 1,797 images, without duplicates after
    binarization, are split 4/5 to 1/5 by digit, so no image of a test string occurs in training. The image of
    a token is drawn with replacement among those of its digit.
    """
    images, target = digit_images()
    options = request.options
    rng = np.random.default_rng(request.seed)
    pixels, first = np.unique((images >= INK).astype(np.uint8), axis=0, return_index=True)
    digits = target[first]
    pools = stratified(digits, 0.2, rng)
    counts = options["n_samples"], max(options["n_samples"] // 4, 1)
    shortest = options["min_length"]
    longest = max(options["max_length"], shortest)

    def draw(pool: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        offsets = np.concatenate([[0], np.cumsum(rng.integers(shortest, longest + 1, count))])
        y = draw_labels(rng, offsets, np.full(10, 0.1), transitions())
        images = np.empty(len(y), np.int64)
        for digit in range(10):
            here = y == digit
            images[here] = rng.choice(pool[digits[pool] == digit], here.sum())
        return pixels[images], y, offsets

    train, test = (draw(pool, count) for pool, count in zip(pools, counts, strict=True))
    names, digest = tuple("0123456789"), digest_of(*train, *test)
    return Content(Part(*train), names, digest=digest, test=Part(*test), picture_shape=(8, 8))
