"""Rows of `label[,label...] index:value ...`: svmlight, LIBSVM and LSHTC documents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse

from ..errors import DataError
from ..limits import MAX_FEATURES, MAX_NONZEROS
from ..store import Progress
from . import parsing
from .files import line_blocks

RIGHT = "a line is label[,label...] index:value ..., with # before a comment"
REASONS = {
    parsing.BAD_LABEL: "a label is not a number of at most 15 digits",
    parsing.BAD_INDEX: "a feature index is not a whole number of at least 0",
    parsing.LARGE_INDEX: f"a feature index is larger than {MAX_FEATURES:,}",
    parsing.NO_VALUE: "a feature has no value after a colon",
    parsing.BAD_VALUE: "a value is not a number",
    parsing.INFINITE: "a value is NaN or infinite",
    parsing.INFINITE_LABEL: "a label is NaN or infinite",
}


@dataclass(frozen=True)
class Samples:
    """Rows of a file.

    X        (n, largest index + 1) CSR, columns are the indices as they stand in the file
    labels   flat, those of row i are labels[offsets[i] : offsets[i + 1]]
    lines    (n,) line of each row, counted from 1
    """

    X: scipy.sparse.csr_matrix
    labels: np.ndarray
    offsets: np.ndarray
    lines: np.ndarray

    def check_single(self, path: Path, right: str) -> None:
        """Raise DataError, with the first line that has no or several labels, and what would be ``right``."""
        other = np.flatnonzero(np.diff(self.offsets) != 1)
        if len(other):
            raise DataError(f"{path.name}, line {self.lines[other[0]]}: {right}.")


@dataclass(frozen=True)
class _Block:
    """Rows of some lines: X by row lengths, sorted indices and values, and the number of lines."""

    lengths: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    label_counts: np.ndarray
    labels: np.ndarray
    lines: np.ndarray
    n_lines: int


def read(path: Path, *, progress: Progress | None = None) -> Samples:
    """Read a file, compressed or not, piece by piece.

    Blank lines and comments are skipped, a byte order mark, CRLF, tabs and `qid:` are accepted, indices may
    come in any order but only once in a line. Raises DataError with file, line and reason.
    """
    blocks: list[_Block] = []
    line, n_values = 1, 0
    for text in line_blocks(path, progress=progress):
        block = _parse(path, text, line)
        line += block.n_lines
        n_values += len(block.values)
        if n_values > MAX_NONZEROS:
            raise DataError(f"{path.name} has more than {MAX_NONZEROS:,} values: split it.")
        blocks.append(block)
    if not any(len(block.lines) for block in blocks):
        raise DataError(f"{path.name} is empty: {RIGHT}.")

    def whole(name: str) -> np.ndarray:
        return np.concatenate([getattr(block, name) for block in blocks])

    indptr = np.concatenate([[0], np.cumsum(whole("lengths"))])
    columns = max(int(block.indices.max(initial=-1)) for block in blocks) + 1
    X = scipy.sparse.csr_matrix((whole("values"), whole("indices"), indptr), (len(indptr) - 1, columns))
    offsets = np.concatenate([[0], np.cumsum(whole("label_counts"))])
    return Samples(X, whole("labels"), offsets, whole("lines"))


def _parse(path: Path, text: bytes, line: int) -> _Block:
    """Return the rows of whole lines, the first of which is `line`."""
    raw = np.frombuffer(text, np.uint8)
    n_lines = text.count(b"\n") + 1
    n_values = text.count(b":")
    lines, label_counts, lengths = (np.empty(n_lines, np.int64) for _ in range(3))
    labels = np.empty(text.count(b",") + n_lines)
    indices, values = np.empty(n_values, np.int32), np.empty(n_values)
    slow, filled = parsing.slow_numbers(raw), np.empty(4, np.int64)
    end, error = parsing.parse_rows(
        raw, line, MAX_FEATURES, lines, label_counts, labels, lengths, indices, values, slow, filled
    )
    if error:
        raise DataError(f"{path.name}, line {end}: {REASONS[error]}; {RIGHT}.")
    rows, used_labels, used, n_slow = filled.tolist()
    parsing.round_slowly(text, slow[:n_slow], values)
    lines, lengths, indices, values = lines[:rows], lengths[:rows], indices[:used], values[:used]
    if not np.isfinite(values).all():
        row = np.searchsorted(np.cumsum(lengths), np.argmin(np.isfinite(values)), side="right")
        raise DataError(f"{path.name}, line {lines[row]}: {REASONS[parsing.INFINITE]}; {RIGHT}.")
    X = scipy.sparse.csr_matrix(
        (values, indices, np.concatenate([[0], np.cumsum(lengths)])), (rows, MAX_FEATURES + 1)
    )
    X.sort_indices()
    repeated = np.diff(X.indices) == 0
    # the last value of a row and the first of the next may well have the same index
    repeated[(X.indptr[1:-1] - 1)[(X.indptr[1:-1] > 0) & (X.indptr[1:-1] < used)]] = False
    if repeated.any():
        place = int(np.argmax(repeated))
        row = np.searchsorted(X.indptr, place, side="right") - 1
        raise DataError(
            f"{path.name}, line {lines[row]}: feature {X.indices[place]} comes twice; give it once."
        )
    # copies, for the arrays were made for the longest that the lines could be
    kept = [array.copy() for array in (X.indices, X.data, label_counts[:rows], labels[:used_labels], lines)]
    return _Block(lengths.copy(), *kept, end - line)
