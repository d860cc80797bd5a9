"""Files of rows `label[,label...] index:value ...`: svmlight, LIBSVM and LSHTC documents."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse

from ..errors import DataError
from ..limits import MAX_FEATURES, MAX_NONZEROS
from ..store import Progress
from .files import NOT_FINITE, line_blocks

SVMLIGHT_FORMAT = "a line is label[,label...] index:value ..., with # before a comment"
#: Two colons in a feature, or one with nothing before or behind it.
BAD_COLON = re.compile(rb":\S*:|\s:|:\s")
QID, COMMA, UNLABELLED_ROW = re.compile(rb"(?<!\S)qid:\S*"), re.compile(rb"\s*,\s*"), re.compile(rb"[^,\s]*:")
#: A field that looks like a feature with a number for its index, by which the format is recognised.
FEATURE_PATTERN = re.compile(rb"\d+:[-+.\dnNiI][^\s,:]*")
#: Labels are kept exactly up to here.
LARGEST_LABEL = 1 << 53


@dataclass(frozen=True)
class Samples:
    """The samples in a file.

    X        (n, largest index + 1) CSR, with the column indices of the file
    labels   flat; those of row i are labels[offsets[i] : offsets[i + 1]]
    lines    (n,) line number of each row, from 1
    """

    X: scipy.sparse.csr_matrix
    labels: np.ndarray
    offsets: np.ndarray
    lines: np.ndarray

    def check_single(self, path: Path, right: str) -> None:
        """Raise DataError unless each sample has exactly one label.

        The message names the first line with none or several, followed by ``right``, which describes the
        correct form.
        """
        other = np.flatnonzero(np.diff(self.offsets) != 1)
        if len(other):
            raise DataError(f"{path.name}, line {self.lines[other[0]]}: {right}.")


def read(path: Path, *, progress: Progress | None = None) -> Samples:
    """Read a file, compressed or not, in chunks.

    Blank lines and comments are skipped; a byte order mark, CRLF, tabs and `qid:` are accepted. Indices may
    be in any order but must not be repeated in a line. Raises DataError with file, line and reason if the
    file is invalid.
    """
    matrices: list[scipy.sparse.csr_matrix] = []
    lines, labels, offsets = list[int](), list[float](), [0]
    line, n_values = 1, 0
    for text in line_blocks(path, progress=progress):
        first, features = len(lines), list[bytes]()
        for number, row in enumerate(text.split(b"\n"), line):
            if row := _plain(row):
                label, rest = (b"", row) if UNLABELLED_ROW.match(row) else (*row.split(None, 1), b"")[:2]
                try:
                    labels += map(_label, label.split(b",")) if label else ()
                except ValueError as error:
                    raise DataError(f"{path.name}, line {number}: {error}; {SVMLIGHT_FORMAT}.") from None
                features.append(rest)
                lines.append(number)
                offsets.append(len(labels))
        matrices.append(_matrix(path, features, lines[first:]))
        line += text.count(b"\n")
        n_values += matrices[-1].nnz
        if n_values > MAX_NONZEROS:
            raise DataError(f"{path.name} has more than {MAX_NONZEROS:,} values: split it.")
    if not lines:
        raise DataError(f"{path.name} is empty: {SVMLIGHT_FORMAT}.")
    X = scipy.sparse.vstack(matrices, format="csr")
    X.resize(len(lines), int(X.indices.max(initial=-1)) + 1)
    return Samples(X, np.array(labels), np.array(offsets), np.array(lines))


def fits(rows: Iterable[bytes]) -> bool:
    """Return whether at least half of the lines are a label followed only by index:value fields.

    There must be at least one such field.
    """
    fields = [row.split() for row in map(_plain, rows) if row]
    features = [sum(FEATURE_PATTERN.fullmatch(field) is not None for field in row) for row in fields]
    whole = sum(found >= len(row) - 1 for found, row in zip(features, fields, strict=True))
    return 2 * whole >= len(fields) and any(features)


def _plain(row: bytes) -> bytes:
    """Return a line without comment and query id, and without blanks between its labels."""
    row = row.partition(b"#")[0]
    if b"qid:" in row:
        row = QID.sub(b"", row)
    return (COMMA.sub(b",", row) if b"," in row else row).strip()


def _label(word: bytes) -> float:
    if word.lstrip(b"+-").lower() in NOT_FINITE:
        raise ValueError("a label is NaN or infinite")
    try:
        label = float(word)
    except ValueError:
        label = np.inf
    if abs(label) > LARGEST_LABEL or b"_" in word:
        raise ValueError("a label is not a number of at most 15 digits")
    return label


def _matrix(path: Path, features: list[bytes], lines: list[int]) -> scipy.sparse.csr_matrix:
    """Return a matrix of rows of features, with sorted indices."""
    text = b" ".join([b"", *features, b""])
    words = text.replace(b":", b" ").split()
    ends = np.cumsum([0, *(row.count(b":") for row in features)])
    try:
        if BAD_COLON.search(text) or len(words) != 2 * ends[-1] or b"_" in text:
            raise ValueError
        if not all(map(bytes.isdigit, words[::2])):
            raise ValueError
        indices, values = np.fromiter(map(float, words), np.float64, len(words)).reshape(-1, 2).T
        if indices.max(initial=0) > MAX_FEATURES or not np.isfinite(values).all():
            raise ValueError
    except ValueError:
        for line, row in zip(lines, features, strict=True):
            if reason := next(filter(None, map(_wrong, row.split())), None):
                raise DataError(f"{path.name}, line {line}: {reason}; {SVMLIGHT_FORMAT}.") from None
        raise
    X = scipy.sparse.csr_matrix((values, indices.astype(np.int32), ends), (len(lines), MAX_FEATURES + 1))
    X.sort_indices()
    repeated = np.append(False, np.diff(X.indices) == 0)
    # the first value of a row and the last of the one before may well have the same index
    repeated[X.indptr[:-1][X.indptr[:-1] < X.nnz]] = False
    if repeated.any():
        place = int(np.argmax(repeated))
        line = lines[np.searchsorted(X.indptr, place, side="right") - 1]
        raise DataError(f"{path.name}, line {line}: feature {X.indices[place]} comes twice; give it once.")
    return X


def _wrong(feature: bytes) -> str | None:
    """Return what is wrong with a feature, or None if it is valid."""
    index, colon, value = feature.partition(b":")
    if not index.isdigit():
        return "a feature index is not a whole number of at least 0"
    if not colon:
        return "a feature has no value after a colon"
    if float(index) > MAX_FEATURES:
        return f"a feature index is larger than {MAX_FEATURES:,}"
    try:
        number = float(value.replace(b"_", b"?"))  # float takes 1_0 for 10
    except ValueError:
        return "a value is not a number"
    return None if np.isfinite(number) else "a value is NaN or infinite"
