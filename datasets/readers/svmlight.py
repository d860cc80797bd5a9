"""Rows of `label[,label...] index:value ...`: svmlight, LIBSVM and LSHTC documents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np
import scipy.sparse

from ..errors import DataError
from ..limits import MAX_BYTES, MAX_FEATURES
from ..store import Progress
from .files import line_blocks

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
    line = 1
    for text in line_blocks(path, limit=limit, progress=progress):
        block = _parse_block(path, text, line)
        line += block[-1]
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
    slow = np.empty((n_values, 3), np.int64)
    rows, used_labels, used, n_slow, read_lines, error = _parse(
        raw, line, MAX_FEATURES, lines, label_counts, labels, counts, indices, values, slow
    )
    if error:
        raise DataError(f"{path.name}, line {read_lines}: {REASONS[error]}; {RIGHT}.")
    # numbers that need more than 53 bits or a large power of ten are rounded correctly by Python
    for place, begin, end in slow[:n_slow].tolist():
        values[place] = float(text[begin:end])
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


_POWERS = 10.0 ** np.arange(23)


@numba.njit(nogil=True, cache=True)
def _blank(c):
    return c == 32 or c == 9 or c == 13 or c == 11 or c == 12


@numba.njit(nogil=True, cache=True)
def _number(raw, p, end):
    """The number at p: value, first byte after it, and 0 exact, 1 to be rounded elsewhere, 2 no number, 3
    not finite."""
    negative = False
    if p < end and (raw[p] == 43 or raw[p] == 45):
        negative = raw[p] == 45
        p += 1
    if p < end and (raw[p] | 32 == 110 or raw[p] | 32 == 105):
        while p < end and 97 <= raw[p] | 32 <= 122:
            p += 1
        return 0.0, p, 3
    mantissa = np.uint64(0)
    digits, seen, exponent = 0, 0, 0
    dot = False
    while p < end:
        c = raw[p]
        if 48 <= c <= 57:
            seen += 1
            if digits > 0 or c > 48:
                digits += 1
            if digits < 19:
                mantissa = mantissa * np.uint64(10) + np.uint64(c - 48)
            if dot:
                exponent -= 1
        elif c == 46 and not dot:
            dot = True
        else:
            break
        p += 1
    if seen == 0:
        return 0.0, p, 2
    if p < end and raw[p] | 32 == 101:
        p += 1
        minus = False
        if p < end and (raw[p] == 43 or raw[p] == 45):
            minus = raw[p] == 45
            p += 1
        if p == end or not 48 <= raw[p] <= 57:
            return 0.0, p, 2
        power = 0
        while p < end and 48 <= raw[p] <= 57:
            power = min(power * 10 + np.int64(raw[p]) - 48, 100000)
            p += 1
        exponent += -power if minus else power
    if digits >= 19 or mantissa > np.uint64(9007199254740992) or exponent < -22 or exponent > 22:
        return 0.0, p, 1
    value = np.float64(mantissa)
    value = value * _POWERS[exponent] if exponent >= 0 else value / _POWERS[-exponent]
    return -value if negative else value, p, 0


@numba.njit(nogil=True, cache=True)
def _parse(raw, line, max_index, lines, label_counts, labels, counts, indices, values, slow):
    """Fill the arrays from whole lines; returns rows, labels, values, values to be rounded, line after the
    last (or the
    line of the error) and the code of the error or 0."""
    rows = n_labels = n_values = n_slow = 0
    p, n = 0, len(raw)
    while p < n:
        end = p
        while end < n and raw[end] != 10:
            end += 1
        after = end + 1
        stop = p
        while stop < end and raw[stop] != 35:
            stop += 1
        while p < stop and _blank(raw[p]):
            p += 1
        if p == stop:
            p = after
            line += 1
            continue
        first_label, first_value = n_labels, n_values
        # a first token with a colon is a feature: the row has no label
        q = p
        while q < stop and not _blank(raw[q]) and raw[q] != 58 and raw[q] != 44:
            q += 1
        if q == stop or raw[q] != 58:
            while True:
                value, p, status = _number(raw, p, stop)
                if status > 0:
                    return rows, n_labels, n_values, n_slow, line, 7 if status == 3 else 1
                labels[n_labels] = value
                n_labels += 1
                q = p
                while q < stop and _blank(raw[q]):
                    q += 1
                if q < stop and raw[q] == 44:
                    p = q + 1
                    while p < stop and _blank(raw[p]):
                        p += 1
                elif p < stop and not _blank(raw[p]):
                    return rows, n_labels, n_values, n_slow, line, 1
                else:
                    p = q
                    break
        while p < stop:
            if (
                p + 4 <= stop
                and raw[p] == 113
                and raw[p + 1] == 105
                and raw[p + 2] == 100
                and raw[p + 3] == 58
            ):
                while p < stop and not _blank(raw[p]):
                    p += 1
            else:
                index = np.int64(0)
                begin = p
                while p < stop and 48 <= raw[p] <= 57:
                    index = min(index * 10 + np.int64(raw[p]) - 48, max_index + 1)
                    p += 1
                if p == begin:
                    return rows, n_labels, n_values, n_slow, line, 2
                if p == stop or raw[p] != 58:
                    return rows, n_labels, n_values, n_slow, line, 4 if p == stop or _blank(raw[p]) else 2
                if index > max_index:
                    return rows, n_labels, n_values, n_slow, line, 3
                begin = p + 1
                value, p, status = _number(raw, begin, stop)
                if status == 3:
                    return rows, n_labels, n_values, n_slow, line, 6
                if status == 2 or (p < stop and not _blank(raw[p])):
                    return rows, n_labels, n_values, n_slow, line, 5
                if status == 1:
                    slow[n_slow, 0], slow[n_slow, 1], slow[n_slow, 2] = n_values, begin, p
                    n_slow += 1
                indices[n_values] = index
                values[n_values] = value
                n_values += 1
            while p < stop and _blank(raw[p]):
                p += 1
        lines[rows] = line
        label_counts[rows] = n_labels - first_label
        counts[rows] = n_values - first_value
        rows += 1
        p = after
        line += 1
    return rows, n_labels, n_values, n_slow, line, 0
