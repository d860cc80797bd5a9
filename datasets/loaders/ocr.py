"""Handwritten words: Kassel's OCR data in the version cleaned by Taskar."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..dataset import Content, Part
from ..entry import Request
from ..errors import DataError
from ..readers.files import read_bytes

LETTER_HEIGHT, LETTER_WIDTH = 16, 8
PIXELS = LETTER_HEIGHT * LETTER_WIDTH


def ocr(request: Request) -> Content:
    """Load 52,152 letters of 6,877 words; a sample is a word, which is a sequence of images.

    Split "random" permutes the words and uses 6,216 for training (9/10 of a file of another size). Split
    "fold" uses one of the file's ten folds as the test part, as in the paper's ten-fold cross-validation.
    """
    (path,) = request.paths
    letters, words, folds, pixels = parse(path, read_bytes(path, progress=request.progress))
    offsets = np.flatnonzero(np.diff(words, prepend=-1, append=-1)).astype(np.int64)
    whole = Part(pixels, letters, offsets)
    n = whole.n_samples
    if request.options["split"] == "fold":
        held_out = folds[offsets[:-1]] == request.options["fold"]
        train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    else:
        order = np.random.default_rng(request.seed).permutation(n)
        n_train = 6216 if n == 6877 else n * 9 // 10
        train, test = order[:n_train], order[n_train:]
    names = tuple("abcdefghijklmnopqrstuvwxyz")
    return Content(
        whole.take(train), names, test=whole.take(test), picture_shape=(LETTER_HEIGHT, LETTER_WIDTH)
    )


def parse(path: Path, text: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Parse `letter.data` into letters (n,) int32 0 .. 25, word numbers (n,), folds (n,) and pixels (n, 128)
    uint8."""
    raw = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(raw == ord("\n"))
    if not len(ends):
        raise DataError(f"{path.name} is empty or has no whole line: it should be the OCR set's letter.data.")
    if ends[-1] != len(raw) - 1:
        raise DataError(f"{path.name}, line {len(ends) + 1}: the file ends inside a line; get it again.")
    # the pixels are the last 128 pairs "0<tab>" or "1<tab>" of a line, so no line needs to be taken apart
    # for them
    starts = np.concatenate([[0], ends[:-1] + 1])
    _require(path, ends - starts > 2 * PIXELS + 11, "fewer than 128 pixels")
    tails = np.lib.stride_tricks.sliding_window_view(raw, 2 * PIXELS)[ends - 2 * PIXELS]
    pixels = tails[:, ::2] - ord("0")
    _require(path, ((pixels <= 1) & (tails[:, 1::2] == ord("\t"))).all(1), "a pixel that is not 0 or 1")
    heads = [text[begin : end - 2 * PIXELS].split(b"\t") for begin, end in zip(starts, ends, strict=True)]
    _require(path, np.array([len(head) == 7 for head in heads]), "not 6 fields before 128 pixels")
    letters = (
        np.array([head[1] for head in heads]).astype("S2").view(np.uint8).reshape(-1, 2).astype(np.int32)
    )
    _require(
        path, (letters[:, 0] >= 97) & (letters[:, 0] <= 122) & (letters[:, 1] == 0), "a letter not in a-z"
    )
    numbers = np.empty((len(heads), 3), np.int64)
    for i, head in enumerate(heads):
        try:
            numbers[i] = int(head[2]), int(head[3]), int(head[5])
        except (ValueError, OverflowError):
            raise DataError(
                f"{path.name}, line {i + 1}: next id, word and fold are not whole numbers."
            ) from None
    following, words, folds = numbers.T
    same = np.append(words[1:] == words[:-1], False)
    _require(
        path, same == (following != -1), "the end of a word (next id -1) is not where the word number changes"
    )
    return letters[:, 0] - 97, words, folds, pixels


def _require(path: Path, good: np.ndarray, reason: str) -> None:
    bad = np.flatnonzero(~good)
    if len(bad):
        raise DataError(
            f"{path.name}, line {bad[0] + 1}: {reason}; a line of letter.data has 6 fields and 128 pixels."
        )
