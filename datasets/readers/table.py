"""Tables: a number in each field between delimiters, with or without one field of text."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ..errors import DataError
from ..limits import MAX_FEATURES, MAX_SMALL_BYTES
from ..store import Progress
from . import parsing
from .files import line_blocks

REASONS = {
    parsing.BAD_VALUE: "a field is not a number",
    parsing.INFINITE: "a number is NaN or infinite",
    parsing.FEW_FIELDS: "there are too few fields",
    parsing.MANY_FIELDS: "there are too many fields",
}


def read(
    path: Path,
    *,
    delimiter: str = ",",
    text_column: int | None = None,
    limit: int = MAX_SMALL_BYTES,
    progress: Progress | None = None,
) -> tuple[np.ndarray, list[str]]:
    """Numbers (n, fields) float64, and the texts of the text column (first 0, last -1), which they leave out.

    Every line has as many fields as the first. Raises DataError with file, line and reason.
    """
    blocks = line_blocks(path, limit=limit, progress=progress)
    return parse(path, blocks, delimiter=delimiter, text_column=text_column)


def parse(
    path: Path,
    blocks: Iterable[bytes],
    *,
    delimiter: str = ",",
    text_column: int | None = None,
    width: int = 0,
    line: int = 1,
) -> tuple[np.ndarray, list[str]]:
    """As `read`, of blocks of whole lines.

    `line` is the number of the first, `width` the number of fields, 0 for as many as the first line has.
    """
    numbers: list[np.ndarray] = []
    texts: list[str] = []
    for block in blocks:
        width = width or _width(block, delimiter)
        if width > MAX_FEATURES:
            raise DataError(
                f"{path.name}, line {line} has {width:,} fields; at most {MAX_FEATURES:,} are possible."
            )
        if not width:
            line += block.count(b"\n")
            continue
        column = -1 if text_column is None else text_column % width
        raw = np.frombuffer(block, np.uint8)
        # a whole line has at least a delimiter a field, so a line of many fields cannot make a large table
        n_lines = min(block.count(b"\n") + 1, len(block) // width + 2)
        values, marks = np.empty((n_lines, width)), np.empty((n_lines, 3), np.int64)
        slow = parsing.slow_numbers(raw)
        rows, n_slow, line, error = parsing.parse_table(
            raw, line, ord(delimiter), width, column, values, marks, slow
        )
        if error:
            raise DataError(
                f"{path.name}, line {line}: {REASONS[error]}; give {width} fields between {delimiter!r}."
            )
        parsing.round_slowly(block, slow[:n_slow], values.reshape(-1))
        if not np.isfinite(values[:rows]).all():
            row = int(np.flatnonzero(~np.isfinite(values[:rows]).all(axis=1))[0])
            raise DataError(
                f"{path.name}: row {row + 1} of those before line {line} has a number that is too large."
            )
        if column >= 0:
            texts += [
                block[begin:end].strip().decode("utf-8", "replace") for _, begin, end in marks[:rows].tolist()
            ]
            values = np.delete(values, column, axis=1)
        numbers.append(values[:rows])
    if not any(len(part) for part in numbers):
        raise DataError(f"{path.name} holds no rows: give numbers between {delimiter!r}, a row a line.")
    return np.concatenate(numbers), texts


def _width(block: bytes, delimiter: str) -> int:
    """Fields of the first line that is neither blank nor a comment; 0 if the block has none."""
    for line in block.splitlines():
        text = line.strip()
        if text and not text.startswith(b"%"):
            return text.count(delimiter.encode()) + 1
    return 0
