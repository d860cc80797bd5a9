"""CoNLL columns: a token per line, fields separated by tabs or blanks, and an empty line between
sentences."""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np

from ..errors import DataError
from ..store import Progress
from .files import decoded, first_lines, numbered_lines
from .foreign import has_named_features, of_another_format

MAX_FIELDS = 1000
LONGEST_SENTENCE = 1000
"""Tokens of a file that has one sentence only; more are taken for a file of another format."""
COLUMNS_FORMAT = "give a token a line, its word first and its tag last, and an empty line between sentences"
DOCUMENT = b"-DOCSTART-"
"""The first field of a line between documents."""
CONLL_U_FIELDS, FORM, UPOS = 10, 1, 3
#: The number of a token in CoNLL-U; words that stand for several of them, and those left out, have others.
TOKEN_NUMBER, OTHER_NUMBER = re.compile(rb"\d+"), re.compile(rb"\d+[-.]\d+")


@dataclass(frozen=True)
class Column:
    """One field of all tokens: token i has values[codes[i]]. Values are distinct, in order of first
    appearance."""

    codes: np.ndarray
    values: list[str]


@dataclass(frozen=True)
class Sentences:
    """The content of a file: its columns, the last of which is the tag, and the offsets of its sentences.

    ``offsets`` has shape (n_sentences + 1,), int64.
    """

    columns: tuple[Column, ...]
    offsets: np.ndarray


@dataclass(frozen=True)
class TokenLayout:
    """Layout of the tokens of a file, found from its first lines.

    tabs       whether only tabs separate fields, which may then contain blanks
    width      number of fields of a token
    share      fraction of the lines that have this number of fields
    sentences  number of sentences
    numbered   whether the first field numbers the tokens of each sentence
    """

    tabs: bool
    width: int
    share: float
    sentences: int
    numbered: bool

    @property
    def conll_u(self) -> bool:
        return self.numbered and self.tabs and self.width == CONLL_U_FIELDS

    @classmethod
    def of(cls, rows: Sequence[bytes]) -> TokenLayout:
        """Return the layout of a file, given its first lines."""
        said = [row for row in rows if row.strip() and not row.startswith(DOCUMENT)]
        tokens = [row for row in said if not row.startswith(b"#")] or said
        tabs = all(b"\t" in row for row in tokens)
        widths = Counter(len(_split(row, tabs)) for row in tokens)
        width, often = max(widths.items(), key=lambda item: item[1], default=(0, 0))
        sentences = _sentences(rows)
        counted = all(_counted(_split(row, tabs)[0] for row in sentence) for sentence in sentences)
        several = width == CONLL_U_FIELDS or (width > 2 and len(sentences) > 1)
        return cls(tabs, width, often / max(len(tokens), 1), len(sentences), counted and several)


def _sentences(rows: Iterable[bytes]) -> list[list[bytes]]:
    found, open_ = list[list[bytes]](), False
    for row in rows:
        if not row.strip() or row.startswith(DOCUMENT):
            open_ = False
        elif open_:
            found[-1].append(row)
        elif not row.startswith(b"#"):
            found.append([row])
            open_ = True
    return found


def _counted(firsts: Iterable[bytes]) -> bool:
    """Return whether the first fields of a sentence number its tokens from 1."""
    numbers = [first for first in firsts if not OTHER_NUMBER.fullmatch(first)]
    return numbers == [b"%d" % k for k in range(1, len(numbers) + 1)]


def _split(row: bytes, tabs: bool) -> list[bytes]:
    """Return the fields of a line; a blank line has none."""
    if not tabs or not row.strip():
        return row.split()
    return [field.strip() for field in row.rstrip().split(b"\t")]


def read(
    path: Path, *, member: str | None = None, documents: bool = False, progress: Progress | None = None
) -> Sentences:
    """Read a file in UTF-8.

    Fields are separated by tabs if every token has one, otherwise by blanks. All tokens must have as many
    fields as most of the first ones. Of CoNLL-U files, only words (FORM) and universal parts of speech (UPOS)
    are read. Comments before a sentence are skipped, as are lines that separate documents unless `documents`
    is true. Raises DataError with file, line and reason if the file is invalid.
    """
    rows = first_lines(path, member=member)
    layout = TokenLayout.of(rows)
    _check_format(path, [row for row in rows if row.strip()], layout)
    numbering: list[defaultdict[bytes, int]] = []
    codes: list[array[int]] = []
    starts, filled = list[int](), False
    tabs, possible = layout.tabs, 2 <= layout.width <= MAX_FIELDS
    for n, row in numbered_lines(path, progress=progress, member=member):
        decoded(path, n, row)
        fields = _split(row, True) if tabs else row.split()
        if row.startswith(DOCUMENT) and not documents:
            fields = []
        elif row.startswith(b"#") and not filled and len(fields) != layout.width:
            continue
        if fields:
            if len(fields) != layout.width or not possible or (tabs and b"" in fields):
                _check_fields(f"{path.name}, line {n}", fields, layout.width)
            if layout.conll_u:
                if not TOKEN_NUMBER.fullmatch(fields[0]):
                    continue
                fields = [fields[FORM], fields[UPOS]]
            if not codes:
                # each numbers its keys as they come
                numbering = [defaultdict(count().__next__) for _ in fields]
                codes = [array("i") for _ in fields]
            if not filled:
                starts.append(len(codes[0]))
            for numbers, column, field in zip(numbering, codes, fields, strict=True):
                column.append(numbers[field])
        filled = bool(fields)
    if not codes:
        raise DataError(f"{path.name} is empty: give a token a line, its word first and its tag last.")
    if len(starts) == 1 and len(codes[0]) > LONGEST_SENTENCE:
        raise DataError(
            f"{path.name} has {len(codes[0]):,} lines and no empty one between them: {COLUMNS_FORMAT}."
        )
    columns = tuple(
        Column(np.array(column), [field.decode() for field in numbers])
        for numbers, column in zip(numbering, codes, strict=True)
    )
    return Sentences(columns, np.array([*starts, len(codes[0])], np.int64))


def ends_in_commas(rows: Iterable[bytes]) -> bool:
    """Return whether each line has a field, other than the last, that ends in a comma or semicolon.

    A field that consists of the comma only does not qualify.
    """
    return all(
        any(len(field) > 1 and field.endswith((b",", b";")) for field in row.split()[:-1]) for row in rows
    )


def _check_format(path: Path, rows: Sequence[bytes], layout: TokenLayout) -> None:
    """Raise DataError if the first lines are in another format."""
    reason = of_another_format(rows)
    if reason is None and has_named_features(rows):
        reason = (
            f"has a label and then named features on a line, as CRFsuite's own format has: {COLUMNS_FORMAT}"
        )
    if reason is None and rows and not layout.tabs and ends_in_commas(rows):
        reason = "has fields that end in commas: name it csv:PATH"
    if reason is None and layout.numbered and not layout.conll_u:
        reason = "counts the tokens in its first field: leave that field out, so that the word comes first"
    if reason is not None:
        raise DataError(f"{path.name} {reason}.")


def _check_fields(where: str, fields: list[bytes], width: int) -> None:
    """Raise DataError unless a token has exactly ``width`` non-empty fields."""
    found = len(fields)
    if found < 2:
        raise DataError(f"{where}: a token needs a word and a tag, between tabs or blanks.")
    if found > MAX_FIELDS:
        raise DataError(f"{where} has {found:,} fields; a token has at most {MAX_FIELDS:,}.")
    if found != width:
        raise DataError(f"{where} has {found} fields but most tokens have {width}: give each token as many.")
    if b"" in fields:
        raise DataError(f"{where}: field {fields.index(b'') + 1} is empty; write a mark such as _ for it.")
