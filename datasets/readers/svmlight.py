"""Rows of `label[,label...] index:value ...`: svmlight, LIBSVM and LSHTC documents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse

from ..errors import DataError
from ..limits import MAX_BYTES, MAX_FEATURES, MAX_NONZEROS
from ..store import Progress
from .files import line_blocks
from .parsing import parse_rows, round_slowly, slow_numbers

RIGHT = "a line is label[,label...] index:value ..., with # before a comment"
REASONS = {
    1: "a label is not a number",
    2: "a feature index is not a whole number of at least 0",
    3: f"a feature index is larger than {MAX_FEATURES:,}",
    4: "a feature has no value after a colon",
    5: "a value is not a number",
    6: "a value is NaN or infinite",
    7: "a label is NaN or infinite",
}


@dataclass(frozen=True)
class Rows:
    """Rows of a file.

    X       (n, largest index + 1) CSR, columns are the indices as they stand in the file
    labels  flat, those of row i are labels[offsets[i] : offsets[i + 1]]
    lines   (n,) line of each row, counted from 1
    """

    X: scipy.sparse.csr_matrix
    labels: np.ndarray
    offsets: np.ndarray
    lines: np.ndarray


def read(path: Path, *, limit: int = MAX_BYTES, progress: Progress | None = None) -> Rows:
    """Read a file, compressed or not, piece by piece.

    Blank lines and comments are skipped, a byte order mark, CRLF, tabs and `qid:` are accepted, indices
    may come in
    any order but only once in a line. Raises DataError with file, line and reason.
    """
    blocks: list[tuple[np.ndarray, ...]] = []
    line, values = 1, 0
    for text in line_blocks(path, limit=limit, progress=progress):
        block = _parse_block(path, text, line)
        line += block[-1]
        values += len(block[-2])
        if values > MAX_NONZEROS:
            raise DataError(f"{path.name} has more than {MAX_NONZEROS:,} values: split it.")
        blocks.append(block[:-1])
    if not any(len(block[0]) for block in blocks):
        raise DataError(f"{path.name} is empty: {RIGHT}.")
    lines, label_counts, labels, counts, indices, values = (
        np.concatenate(part) for part in zip(*blocks, strict=True)
    )
    indptr = np.concatenate([[0], np.cumsum(counts)])
    columns = int(indices.max(initial=-1)) + 1
    X = scipy.sparse.csr_matrix((values, indices, indptr), (len(lines), columns))
    X.sort_indices()
    same_row = np.repeat(np.arange(len(lines)), counts)
    twice = np.flatnonzero((np.diff(X.indices) == 0) & (np.diff(same_row) == 0))
    if len(twice):
        where = lines[same_row[twice[0]]]
        raise DataError(
            f"{path.name}, line {where}: feature {X.indices[twice[0]]} comes twice; give it once."
        )
    return Rows(X, labels, np.concatenate([[0], np.cumsum(label_counts)]), lines)


def _parse_block(path: Path, text: bytes, line: int) -> tuple:
    """Arrays of the rows of whole lines, the first of which is `line`, and the number of lines."""
    raw = np.frombuffer(text, np.uint8)
    n_lines = int(np.count_nonzero(raw == ord("\n"))) + 1
    n_values = int(np.count_nonzero(raw == ord(":")))
    n_labels = int(np.count_nonzero(raw == ord(","))) + n_lines
    lines, label_counts, counts = (np.empty(n_lines, np.int64) for _ in range(3))
    labels, indices, values = np.empty(n_labels), np.empty(n_values, np.int32), np.empty(n_values)
    slow = slow_numbers(raw)
    rows, used_labels, used, n_slow, read_lines, error = parse_rows(
        raw, line, MAX_FEATURES, lines, label_counts, labels, counts, indices, values, slow
    )
    if error:
        raise DataError(f"{path.name}, line {read_lines}: {REASONS[error]}; {RIGHT}.")
    round_slowly(text, slow[:n_slow], values)
    if not np.isfinite(values[:used]).all():
        where = np.searchsorted(np.cumsum(counts[:rows]), np.argmin(np.isfinite(values[:used])), side="right")
        raise DataError(f"{path.name}, line {lines[where]}: {REASONS[6]}; {RIGHT}.")
    return (
        lines[:rows],
        label_counts[:rows],
        labels[:used_labels],
        counts[:rows],
        indices[:used],
        values[:used],
        read_lines - line,
    )
