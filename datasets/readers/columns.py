"""CoNLL columns: a token a line, its fields between blanks, an empty line between sentences."""

from __future__ import annotations

from array import array
from collections import defaultdict
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np

from ..errors import DataError
from ..store import Progress
from .files import decoded, numbered_lines

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
    codes: list[array[int]] = []
    starts, filled = list[int](), False
    for n, row in numbered_lines(path, progress=progress, member=member):
        decoded(path, n, row)
        if fields := row.split():
            if len(fields) != len(codes):
                _check_count(f"{path.name}, line {n}", len(fields), len(codes))
            if not codes:
                # each numbers its keys as they come
                numbering = [defaultdict(count().__next__) for _ in fields]
                codes = [array("i") for _ in fields]
            if not filled:
                starts.append(len(codes[0]))
            fields[len(codes) - 1 :] = fields[-1:]
            for numbers, column, field in zip(numbering, codes, fields, strict=True):
                column.append(numbers[field])
        filled = bool(fields)
    if not codes:
        raise DataError(f"{path.name} is empty: give a token a line, its word first and its tag last.")
    columns = tuple(
        Column(np.array(column), [field.decode() for field in numbers])
        for numbers, column in zip(numbering, codes, strict=True)
    )
    return Sentences(columns, np.array([*starts, len(codes[0])], np.int64))


def _check_count(where: str, found: int, width: int) -> None:
    """Check the fields of a line, where the first token has ``width`` of them."""
    if found < 2:
        raise DataError(f"{where}: a token needs a word and a tag, between blanks.")
    if found > MAX_FIELDS:
        raise DataError(f"{where} has {found:,} fields; a token has at most {MAX_FIELDS:,}.")
    if found < width:
        raise DataError(
            f"{where} has {found} fields but the first token has {width}: give each token as many."
        )
