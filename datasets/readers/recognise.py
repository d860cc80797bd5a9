"""Recognition of the format of a user's file, and checks of its limits, before it is loaded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ..errors import DataError
from ..limits import Limits
from ..store import Progress, open_regular
from . import columns, delimited, npz, svmlight
from .files import SAMPLE_LINES, first_lines, numbered_lines
from .foreign import has_named_features, of_another_format

#: An index that may be too large.
LARGE_INDEX = re.compile(rb"(?:^|[ \t])(\d{6,}):")
#: A number, which distinguishes a table between tabs from tagged words.
NUMBER_PATTERN = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
KNOWN_FORMATS = (
    "give rows of label index:value ..., a CSV or NPZ table, or tagged sentences, a token a line, its word "
    "first and its tag last"
)
#: How other files of NumPy and of office programs begin, and what to do with them.
BEGINNINGS = {
    b"\x93NUMPY": "is a single array: save samples X and labels y by numpy.savez",
    npz.ZIP: "is a zip of another name: an archive ends in .zip, a sheet is saved as CSV",
}
TABLE_SUFFIXES, TAGGED_SUFFIXES = (".csv", ".tsv", ".tab"), (".conll", ".conllu", ".iob", ".bio")


def format_of(path: Path) -> str:
    """Return the format of a file, "svmlight", "csv", "npz" or "columns", judged from its first lines.

    Raises DataError, which lists the supported formats, if it has none of them.
    """
    if npz.is_archive(path):
        return "npz"
    _check_beginning(path)
    rows = first_lines(path)
    said = [row for row in rows if row.strip()]
    if not said:
        raise DataError(f"{path.name} is empty: {KNOWN_FORMATS}.")
    if reason := of_another_format(said):
        raise DataError(f"{path.name} {reason}.")
    if svmlight.fits(said):
        return "svmlight"
    if _is_table(path, rows, said):
        return "csv"
    layout = columns.TokenLayout.of(rows)
    if layout.width > 1 and 2 * layout.share > 1 and not _is_of_numbers(said, layout):
        return "columns"
    if layout.width > 1 and _is_of_numbers(said, layout):
        raise DataError(f"{path.name} is a table between blanks: put commas or tabs between its fields.")
    if has_named_features(said):
        return "columns"  # whose reader says what is wrong
    raise DataError(f"{path.name} is in no format that is known here: {KNOWN_FORMATS}.")


def _check_beginning(path: Path) -> None:
    if path.suffix.lower() == ".zip":
        return
    try:
        with open_regular(path) as file:
            start = file.read(8)
    except OSError:
        return  # the reader says why
    for beginning, reason in BEGINNINGS.items():
        if start.startswith(beginning):
            raise DataError(f"{path.name} {reason}.")


def _is_table(path: Path, rows: Sequence[bytes], said: Sequence[bytes]) -> bool:
    """Return whether rows are a table rather than tagged words.

    If both are separated by tabs, the file's name, empty lines, numbers and the length decide.
    """
    separator = delimited.separator_of(said)
    layout = columns.TokenLayout.of(rows)
    if separator is None or (layout.sentences > 1 and layout.share == 1 and layout.width > 1):
        return separator is not None and columns.ends_in_commas(said)
    if separator != "\t":
        return True
    name = path.name.lower()
    if any(suffix in name for suffix in TAGGED_SUFFIXES) or layout.conll_u:
        return False
    return (
        any(suffix in name for suffix in TABLE_SUFFIXES)
        or len(rows) >= min(SAMPLE_LINES, columns.LONGEST_SENTENCE)
        or _numbers(row.split(b"\t") for row in said[1:]) > 0.5
    )


def _numbers(rows: Iterable[Sequence[bytes]]) -> float:
    """Return the fraction of fields that are numbers."""
    found = [NUMBER_PATTERN.fullmatch(field.strip()) is not None for row in rows for field in row]
    return sum(found) / max(len(found), 1)


def _is_of_numbers(said: Sequence[bytes], layout: columns.TokenLayout) -> bool:
    """Return whether non-empty rows are a table of numbers separated by blanks."""
    share = _numbers(row.split() for row in said)
    return layout.sentences == 1 and not layout.tabs and (share == 1 or (share >= 0.5 and layout.width > 2))


def check(path: Path, limits: Limits, progress: Progress | None = None) -> None:
    """Raise DataError if a file exceeds the limits, without storing its content."""
    if path.stat().st_size > limits.size:
        raise DataError(
            f"{path.name} has more than {limits.size:,} bytes: compress it, or take a part of it."
        )
    format = format_of(path)
    if format == "npz":
        _check_arrays(path, limits, progress)
        return
    labels, values, width = set[bytes](), 0, 0
    if format == "csv":
        labels_of, width = delimited.labels_of(path)
    else:
        labels_of = _of_row if format == "svmlight" else lambda line: line.rsplit(None, 1)[-1:]
    for line, row in numbered_lines(path, limit=limits.unpacked, progress=progress):
        for match in LARGE_INDEX.finditer(row) if format == "svmlight" else ():
            if int(match[1]) > limits.index:
                raise DataError(
                    f"{path.name}, line {line}: feature {int(match[1]):,} is beyond {limits.index:,}, the "
                    "largest index of a dropped file: number the features anew."
                )
        values += width
        if line > limits.lines:
            raise DataError(f"{path.name} has more than {limits.lines:,} lines: take a part of it.")
        if values > limits.values:
            raise DataError(f"{path.name} has more than {limits.values:,} values: take a part of it.")
        labels.update(labels_of(row))
        _check_labels(path, len(labels), limits)


def _check_labels(path: Path, count: int, limits: Limits) -> None:
    if count > limits.labels:
        raise DataError(
            f"{path.name} has more than {limits.labels:,} different labels: take a part of it, or join "
            "labels to fewer."
        )


def _check_arrays(path: Path, limits: Limits, progress: Progress | None) -> None:
    train, test, _ = npz.read_samples(path, limit=limits.unpacked, progress=progress)
    for part in filter(None, (train, test)):
        n, *rest = part.X.shape
        values = part.X.size  # of a sparse matrix those that are kept
        if n > limits.lines:
            raise DataError(f"{path.name} has more than {limits.lines:,} samples: take a part of it.")
        if values > limits.values:
            raise DataError(f"{path.name} has more than {limits.values:,} values: take a part of it.")
        if int(np.prod(rest)) > limits.index:
            raise DataError(f"{path.name} has more than {limits.index:,} features: take a part of them.")
        _check_labels(path, part.y.shape[1] if part.y.ndim > 1 else len(np.unique(part.y)), limits)


def _of_row(line: bytes) -> list[bytes]:
    fields = line.partition(b"#")[0].split(None, 1)
    return fields[0].split(b",") if fields and b":" not in fields[0] else []
