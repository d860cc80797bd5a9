"""CoNLL columns: a token a line, its fields between blanks, an empty line between sentences."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

import numpy as np

from ..errors import DataError
from ..store import Progress
from .files import line_blocks

MAX_FIELDS = 1000


@dataclass(frozen=True)
class Column:
    """One field of all tokens: token i has values[codes[i]]; values are distinct, in order of appearance."""

    codes: np.ndarray
    values: list[str]


@dataclass(frozen=True)
class Sentences:
    """A file: the columns, the last of which is the tag, and offsets (n_sentences + 1,) int64."""

    columns: tuple[Column, ...]
    offsets: np.ndarray


def read(path: Path, *, member: str | None = None, progress: Progress | None = None) -> Sentences:
    """Read a file in UTF-8.

    As many columns are kept as the first token has fields: the last is the last field of a line, the others
    are its first ones, so a line may have more fields but not fewer. Raises DataError with file, line and
    reason.
    """
    numbering: list[defaultdict[bytes, int]] = []
    codes: list[list[np.ndarray]] = []
    counts: list[np.ndarray] = []
    line = 1
    for block in line_blocks(path, progress=progress, member=member):
        _check_text(path, block, line)
        counts.append(_fields_per_line(block))
        _check_counts(path, line, counts[-1], len(numbering))
        fields = block.split()
        if fields and not numbering:
            width = int(counts[-1][counts[-1] > 0][0])
            numbering, codes = [_numbers() for _ in range(width)], [[] for _ in range(width)]
        fields = _first_and_last(fields, counts[-1], len(numbering))
        for k, (numbers, column) in enumerate(zip(numbering, codes, strict=True)):
            column.append(np.fromiter(map(numbers.__getitem__, fields[k :: len(numbering)]), np.int32))
        line += len(counts[-1])
    if not numbering:
        raise DataError(f"{path.name} is empty: give a token a line, its word first and its tag last.")
    columns = tuple(
        Column(np.concatenate(parts), [field.decode() for field in numbers])
        for numbers, parts in zip(numbering, codes, strict=True)
    )
    return Sentences(columns, _offsets(np.concatenate(counts) > 0))


def _numbers() -> defaultdict[bytes, int]:
    """Return a mapping that numbers its keys as they come."""
    numbers: defaultdict[bytes, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers


def _check_text(path: Path, block: bytes, line: int) -> None:
    try:
        block.decode()
    except UnicodeDecodeError as error:
        line += block[: error.start].count(b"\n")
        raise DataError(f"{path.name}, line {line}: this is not UTF-8; convert the file.") from None


def _check_counts(path: Path, line: int, counts: np.ndarray, width: int) -> None:
    """Numbers of fields of lines, the first of which is `line`; `width` is that of the first token or 0."""
    filled = np.flatnonzero(counts)
    if not len(filled):
        return
    width = width or int(counts[filled[0]])
    bad = filled[(counts[filled] < max(width, 2)) | (counts[filled] > MAX_FIELDS)]
    if not len(bad):
        return
    found, where = counts[bad[0]], f"{path.name}, line {line + bad[0]}"
    if found < 2:
        raise DataError(f"{where}: a token needs a word and a tag, between blanks.")
    if found > MAX_FIELDS:
        raise DataError(f"{where} has {found:,} fields; a token has at most {MAX_FIELDS:,}.")
    raise DataError(f"{where} has {found} fields but the first token has {width}: give each token as many.")


def _fields_per_line(block: bytes) -> np.ndarray:
    """Return the number of fields of each line of a block, as bytes.split finds them."""
    raw = np.frombuffer(block, np.uint8)
    blank = (raw == 32) | ((raw >= 9) & (raw <= 13))
    starts = ~blank
    starts[1:] &= blank[:-1]
    ends = np.flatnonzero(raw == ord("\n"))
    if not len(ends) or ends[-1] != len(raw) - 1:
        ends = np.append(ends, len(raw) - 1)
    return np.diff(np.cumsum(starts, dtype=np.int32)[ends], prepend=0)


def _first_and_last(fields: list[bytes], counts: np.ndarray, width: int) -> list[bytes]:
    """Return the first width - 1 fields and the last one of each line."""
    if len(fields) == width * np.count_nonzero(counts):
        return fields
    last = np.repeat(np.cumsum(counts), counts) - 1
    place = np.arange(len(fields)) - (last + 1 - np.repeat(counts, counts))
    return list(compress(fields, ((place < width - 1) | (np.arange(len(fields)) == last)).tolist()))


def _offsets(filled: np.ndarray) -> np.ndarray:
    """Return offsets of the runs of lines that hold a token."""
    tokens = np.concatenate([[0], np.cumsum(filled)])
    ends = np.flatnonzero(filled & ~np.append(filled[1:], False))
    return np.concatenate([[0], tokens[ends + 1]]).astype(np.int64)
