"""Tables of numbers separated by commas, with or without one column of text."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ..errors import DataError
from ..limits import MAX_FEATURES, MAX_SMALL_BYTES
from ..store import Progress
from .files import NOT_FINITE, numbered_lines


def read(
    path: Path, *, text_column: int | None = None, progress: Progress | None = None
) -> tuple[np.ndarray, list[str]]:
    """Return the numbers (n, fields), float64, and the strings of the text column, which is not among the
    fields.

    ``text_column`` is 0 for the first column or -1 for the last, which may contain commas. All lines must
    have as many fields as the first. Blank lines and those that start with % are skipped. Raises DataError
    with file, line and reason if the file is invalid.
    """
    rows = numbered_lines(path, limit=MAX_SMALL_BYTES, progress=progress)
    return parse(path, rows, text_column=text_column)


def parse(
    path: Path, rows: Iterable[tuple[int, bytes]], *, text_column: int | None = None, width: int = 0
) -> tuple[np.ndarray, list[str]]:
    """Parse numbered lines as `read` does; `width` is the number of fields, 0 for that of the first line."""
    values, texts = array("d"), list[str]()
    for line, row in rows:
        row = row.strip()
        if not row or row.startswith(b"%"):
            continue
        width = width or row.count(b",") + 1
        if width > MAX_FEATURES:
            raise DataError(
                f"{path.name} has {width:,} fields a line; at most {MAX_FEATURES:,} are possible."
            )
        fields = row.split(b",", width - 1 if text_column == -1 else -1)
        whole = len(fields) == width
        if text_column == 0 or (text_column == -1 and whole):
            texts.append(fields.pop(text_column).decode("utf-8", "replace").strip())
        numbers = _numbers(fields)
        if numbers is None or not whole:
            reason = _reason(fields, width - (text_column is not None))
            raise DataError(f"{path.name}, line {line}: {reason}; give {width} fields between ','.")
        values.extend(numbers)
    if not values:
        raise DataError(f"{path.name} holds no rows: give numbers between ',', a row a line.")
    return np.array(values).reshape(-1, width - (text_column is not None)), texts


def _numbers(fields: list[bytes]) -> list[float] | None:
    """Return the fields as finite numbers, or None if a field is not one."""
    try:
        numbers = list(map(float, fields))
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) and b"_" not in b"".join(fields) else None


def _reason(fields: list[bytes], width: int) -> str:
    """Return why these fields are not ``width`` numbers."""
    fields = [field.strip() for field in fields]
    if len(fields) > width and all(fields):
        return "there are too many fields"
    if any(field.lstrip(b"+-").lower() in NOT_FINITE for field in fields):
        return "a number is NaN or infinite"
    if any(field and _numbers([field]) is None for field in fields[:width]):
        return "a field is not a number, or is too large"
    return "there are too few fields"
