"""Tables: a number in each field between commas, with or without one field of text."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ..errors import DataError
from ..limits import MAX_FEATURES, MAX_SMALL_BYTES
from ..store import Progress
from .files import line_blocks

NOT_FINITE = ("nan", "inf", "infinity")
#: Characters of finite numbers, and what may stand between them.
NUMERIC = b"0123456789+-.eE, \t"


def read(
    path: Path, *, text_column: int | None = None, progress: Progress | None = None
) -> tuple[np.ndarray, list[str]]:
    """Return the numbers (n, fields), float64, and the texts of the text column, which the numbers leave out.

    ``text_column`` is 0 for the first column or -1 for the last, which may hold commas. Every line has as
    many fields as the first; blank lines and those that start with % are skipped. Raises DataError with file,
    line and reason.
    """
    blocks = line_blocks(path, limit=MAX_SMALL_BYTES, progress=progress)
    return parse(path, blocks, text_column=text_column)


def parse(
    path: Path,
    blocks: Iterable[bytes],
    *,
    text_column: int | None = None,
    width: int = 0,
    line: int = 1,
) -> tuple[np.ndarray, list[str]]:
    """Read as `read` does, from blocks of whole lines.

    `line` is the number of the first, `width` the number of fields, 0 for as many as the first line has.
    """
    numbers: list[np.ndarray] = []
    texts: list[str] = []
    for block in blocks:
        lines = [text.strip() for text in block.decode("utf-8", "replace").split("\n")]
        rows = [text for text in lines if _is_row(text)]
        if not rows:
            line += block.count(b"\n")
            continue
        width = width or rows[0].count(",") + 1
        if width > MAX_FEATURES:
            raise DataError(
                f"{path.name} has {width:,} fields a line; at most {MAX_FEATURES:,} are possible."
            )
        n_numbers = width
        if text_column is not None:
            n_numbers -= 1
            rows, found = _cut(rows, text_column, width)
            texts += found
        values = _values(rows, n_numbers)
        if values is None:
            bad = next(place for place, row in enumerate(rows) if _values([row], n_numbers) is None)
            line += [place for place, text in enumerate(lines) if _is_row(text)][bad]
            raise DataError(
                f"{path.name}, line {line}: {_reason(rows[bad], n_numbers)}; give {width} fields between ','."
            )
        numbers.append(values)
        line += block.count(b"\n")
    if not numbers:
        raise DataError(f"{path.name} holds no rows: give numbers between ',', a row a line.")
    return np.concatenate(numbers), texts


def _is_row(text: str) -> bool:
    """Tell a row from a blank line and a comment."""
    return text != "" and text[0] != "%"


def _cut(rows: list[str], column: int, width: int) -> tuple[list[str], list[str]]:
    """Split rows into their numbers and their text, which may hold commas where it comes last; a row with
    too few fields ends in an empty number, which is refused."""
    most = 1 if column == 0 else width - 1
    numbers, texts = [], []
    for row in rows:
        fields = row.split(",", most)
        full = len(fields) == most + 1
        texts.append(fields.pop(column).strip() if full or column == 0 else "")
        numbers.append(",".join(fields if full else [*fields, ""]))
    return numbers, texts


def _values(rows: list[str], width: int) -> np.ndarray | None:
    """Return the numbers of rows (n, width); None where not all are ``width`` finite numbers."""
    text = ",".join(rows)
    if any(row.count(",") != width - 1 for row in rows) or text.encode().translate(None, NUMERIC):
        return None
    try:
        values = np.fromiter(map(float, text.split(",")), np.float64).reshape(-1, width)
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def _reason(row: str, width: int) -> str:
    """Say why a row cannot be read."""
    fields = [field.strip() for field in row.split(",")]
    if len(fields) > width and all(fields):
        return "there are too many fields"
    if any(field.lstrip("+-").lower() in NOT_FINITE for field in fields):
        return "a number is NaN or infinite"
    if any(field and _values([field], 1) is None for field in fields[:width]):
        return "a field is not a number, or is too large"
    return "there are too few fields"
