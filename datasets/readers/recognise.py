"""Which format a user's own file has, and whether it is within limits, before it is read."""

from __future__ import annotations

import re
from pathlib import Path

from ..errors import DataError
from ..limits import Limits
from ..store import Progress
from .files import numbered_lines

#: A feature of a row, with a number for its index; and what is no feature, but a number.
FEATURE, NUMBER = re.compile(rb"\d+:\S"), re.compile(rb"[-+.\d][-+.\deE,;]*")
#: An index that may be too large.
INDEX = re.compile(rb"(?:^|[ \t])(\d{6,}):")
RIGHT = (
    "give rows of label index:value ..., or tagged sentences, a token a line, its word first and its tag last"
)

UNKNOWN = f"is in no format that is known here: {RIGHT}."


def format_of(path: Path) -> str:
    """Return "svmlight" or "columns", as the first line that says anything looks; DataError where it looks
    like neither."""
    label = False
    for _, row in numbered_lines(path):
        fields = row.partition(b"#")[0].split()
        if not fields:
            continue
        if any(FEATURE.match(field) for field in fields):
            return "svmlight"
        numbers = all(map(NUMBER.fullmatch, fields))
        if len(fields) > 1 and fields[0][:1] != b"@" and not numbers:
            return "columns"
        if len(fields) > 1 or not numbers:
            raise DataError(f"{path.name} {UNKNOWN}")
        label = True  # a row without features, perhaps
    raise DataError(f"{path.name} {UNKNOWN if label else f'is empty: {RIGHT}.'}")


def check(path: Path, limits: Limits, progress: Progress | None = None) -> None:
    """Raise DataError where a file is beyond the limits; nothing of it is kept."""
    if path.stat().st_size > limits.size:
        raise DataError(
            f"{path.name} has more than {limits.size:,} bytes: compress it, or take a part of it."
        )
    labels_of, labels = LABELS[format_of(path)], set[bytes]()
    for line, row in numbered_lines(path, limit=limits.unpacked, progress=progress):
        for match in INDEX.finditer(row):
            if int(match[1]) > limits.index:
                raise DataError(
                    f"{path.name}, line {line}: feature {int(match[1]):,} is beyond {limits.index:,}, the "
                    "largest index of a dropped file: number the features anew."
                )
        if line > limits.lines:
            raise DataError(f"{path.name} has more than {limits.lines:,} lines: take a part of it.")
        labels.update(labels_of(row))
        if len(labels) > limits.labels:
            raise DataError(
                f"{path.name} has more than {limits.labels:,} different labels: take a part of it, or join "
                "labels to fewer."
            )


def _of_row(line: bytes) -> list[bytes]:
    fields = line.partition(b"#")[0].split(None, 1)
    return fields[0].split(b",") if fields and b":" not in fields[0] else []


def _of_token(line: bytes) -> list[bytes]:
    return line.rsplit(None, 1)[-1:]


#: The labels of a line, by format.
LABELS = {"svmlight": _of_row, "columns": _of_token}
