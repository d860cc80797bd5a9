"""CSV files: rows of fields separated by commas, semicolons or tabs, with or without a header."""

from __future__ import annotations

import csv
import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, dropwhile, islice
from pathlib import Path

import numpy as np

from ..errors import DataError, short
from ..limits import MAX_FEATURES, MAX_NONZEROS, MAX_SMALL_BYTES
from ..store import Progress
from .columns import Column
from .files import decoded, first_lines, numbered_lines
from .foreign import of_another_format

SEPARATORS = ("\t", ";", ",")
TABLE_FORMAT = "give a row a line, its fields between commas, semicolons or tabs and its label last"
#: Names of a label column that need not be the last.
LABEL_NAMES = ("label", "class", "target", "y")
MISSING_VALUES = ("", "?", "na", "n/a", "nan", "null", "none")
MISSING_LABELS = {"", "?"}
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
#: Rows that are converted at a time.
BLOCK = 4096

Row = tuple[int, list[str]]


@dataclass(frozen=True)
class TableLayout:
    """Layout of a file, found from its first lines.

    separator  the character between fields
    width      the number of fields of a row
    headed     whether the first row is a header
    names      names of the columns, if the first row or the training part has them
    classes    names of the classes 0, 1, ..., if the first row is in scikit-learn's form: numbers of rows
               and features, then names of classes
    rows       the number of rows according to such a first row, else None
    label      the index of the column of labels
    numeric    whether each column is numeric, as most of its first thousand rows are
    """

    separator: str
    width: int
    headed: bool
    names: tuple[str, ...] | None
    classes: tuple[str, ...] | None
    rows: int | None
    label: int
    numeric: tuple[bool, ...]

    def name(self, column: int) -> str:
        """Return the name of a column, or "column k" with its number from 1."""
        return self.names[column] if self.names and self.names[column] else f"column {column + 1}"


@dataclass(frozen=True)
class DelimitedTable:
    """The content of a file: its columns with their names, without labels and dropped columns, and its
    labels."""

    layout: TableLayout
    names: tuple[str, ...]
    columns: list[np.ndarray | Column]
    labels: Column


def separator_of(rows: Iterable[bytes]) -> str | None:
    """Return the separator that gives most rows the same number of fields, or None if there is none."""
    texts = [row.decode("utf-8", "replace") for row in rows]
    for separator in SEPARATORS:
        records = _records(texts, separator)
        widths = Counter(len(row) for row in records if not row[0].startswith("#"))
        width, often = max(widths.items(), key=lambda item: item[1], default=(0, 0))
        others = widths.total() - often
        if width > 1 and (others == 0 or (often > 1 and others <= max(1, widths.total() // 10))):
            return separator
    return None


def _records(texts: Iterable[str], separator: str) -> list[list[str]]:
    """Parse lines and return the non-empty rows up to the first invalid one."""
    found = list[list[str]]()
    try:
        for row in csv.reader(texts, delimiter=separator, skipinitialspace=True):
            if row:
                found.append([field.strip() for field in row])
    except csv.Error:
        pass
    return found


def layout(path: Path, *, label: str | None = None, header: str = "auto") -> TableLayout:
    """Return the layout of a file.

    Raises DataError if its first lines are not a table, or if there is no column called ``label``.
    """
    lines = [row for row in first_lines(path) if row.strip()]
    if not lines:
        raise DataError(f"{path.name} is empty: {TABLE_FORMAT}.")
    if reason := of_another_format(lines):
        raise DataError(f"{path.name} {reason}.")
    separator = separator_of(lines)
    if separator is None:
        raise DataError(f"{path.name} has rows of different numbers of fields: {TABLE_FORMAT}.")
    rows = _records((row.decode("utf-8", "replace") for row in lines), separator)
    below, all_rows = Counter(map(len, rows[1:] or rows)), Counter(map(len, rows))
    width = max(below, key=lambda fields: (below[fields], all_rows[fields]))
    if width > MAX_FEATURES:
        raise DataError(f"{path.name} has {width:,} fields a line; at most {MAX_FEATURES:,} are possible.")
    rows = list(dropwhile(lambda row: _is_comment(row, width), rows)) or rows
    first, rest = rows[0], [row for row in rows[1:] if len(row) == width]
    classes = _classes_above(first, width) if header == "auto" else None
    numeric = tuple(_mostly_numbers(column) for column in zip(*(rest or [first]), strict=True))
    named = header == "yes" or (header == "auto" and classes is None and _has_names(first, rest, numeric))
    names = tuple(name.lstrip("# ") for name in first) if named and len(first) == width else None
    rows_said = int(first[0]) if classes else None
    headed = names is not None or classes is not None
    column = _label_column(path, label, names, width)
    return TableLayout(separator, width, headed, names, classes, rows_said, column, numeric)


def _is_comment(row: Sequence[str], width: int) -> bool:
    """Return whether a first row is a comment above the table."""
    return row[0].startswith("#") and len(row) != width


def _classes_above(first: Sequence[str], width: int) -> tuple[str, ...] | None:
    """Return the names in a first row of the form rows, features, name, name, ...; None if it has another
    form."""
    if len(first) < 4 or not (first[0].isdigit() and first[1].isdigit()) or int(first[1]) != width - 1:
        return None
    return None if any(map(_is_number, first[2:])) else tuple(first[2:])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text and text.lower() not in MISSING_VALUES


def _mostly_numbers(column: Iterable[str]) -> bool:
    given = [field for field in column if field.lower() not in MISSING_VALUES]
    return 2 * sum(map(_is_number, given)) > len(given)


def _has_names(first: Sequence[str], rest: Sequence[Sequence[str]], numeric: Sequence[bool]) -> bool:
    """Return whether the first row is a header: most of its fields above numeric columns are not numbers.

    In a table without numbers it is a header if none of its fields is repeated in its column.
    """
    if len(first) != len(numeric):
        return False
    over_numbers = [field for field, number in zip(first, numeric, strict=True) if number and field]
    if over_numbers:
        return 2 * sum(map(_is_number, over_numbers)) < len(over_numbers) and bool(rest)
    columns = list(zip(*rest, strict=True))
    if not columns or any(field in column for field, column in zip(first, columns, strict=True)):
        return False
    return len(set(columns[-1])) < len(columns[-1])


def _label_column(path: Path, label: str | None, names: Sequence[str] | None, width: int) -> int:
    lowered = [name.lower() for name in names or ()]
    if label is None:
        known = [i for i, name in enumerate(lowered) if name in LABEL_NAMES]
        return known[0] if len(known) == 1 else width - 1
    return column_called(path, label, names, width)


def column_called(path: Path, called: str, names: Sequence[str] | None, width: int) -> int:
    """Return the index of the column with a name, or with a number counted from 1.

    Raises DataError if there is none.
    """
    lowered = [name.lower() for name in names or ()]
    if called in (names or ()):
        return list(names or ()).index(called)
    if called.lower() in lowered:
        return lowered.index(called.lower())
    if called.isdecimal() and 1 <= int(called) <= width:
        return int(called) - 1
    some = ", ".join(list(names or ())[:20]) + (", ..." if len(names or ()) > 20 else "")
    has = f"it has {some}" if names else f"give its number, from 1 to {width:,}"
    raise DataError(f"{path.name} has no column called {called[:40]!r}: {has}.")


def labels_of(path: Path) -> tuple[Callable[[bytes], list[bytes]], int]:
    """Return a function that extracts the label of a line, as a list, and the number of fields of a line."""
    found = layout(path)
    separator, place = found.separator.encode(), slice(found.label, found.label + 1)

    def label(line: bytes) -> list[bytes]:
        if b'"' not in line:
            return [field.strip() for field in line.split(separator)[place]]
        rows = _records([line.decode("utf-8", "replace")], found.separator)
        return [field.encode() for row in rows for field in row[place]]

    return label, found.width


def read(
    path: Path,
    *,
    label: str | None = None,
    header: str = "auto",
    drop: Sequence[str] = (),
    like: DelimitedTable | None = None,
    progress: Progress | None = None,
) -> DelimitedTable:
    """Read a file in UTF-8 whose columns are numeric or text.

    `label` names the column of labels. By default it is the column called label, class, target or y, or else
    the last. `header` is "yes", "no" or "auto" and determines whether the first row has names. Columns in
    `drop` are skipped, and so is an unnamed first column, in which data frames write their index. For a test
    part, `like` is the training part. Raises DataError with file, line and reason if the file is invalid.
    """
    form = layout(path, label=label, header=header)
    if like is not None:
        form = _fitted(path, form, like.layout)
    left_out = {column_called(path, name, form.names, form.width) for name in drop}
    if form.names and form.names[0].lower() in ("", "unnamed: 0") and form.label != 0:
        left_out.add(0)
    kept = [i for i in range(form.width) if i != form.label and i not in left_out]
    numbers = {i: array("d") for i in kept if form.numeric[i]}
    texts = {i: defaultdict(count().__next__) for i in [*kept, form.label] if i not in numbers}
    codes = {i: array("i") for i in texts}
    n_rows = 0
    rows = _rows(path, form, progress)
    if form.headed:
        next(rows, None)
    while block := list(islice(rows, BLOCK)):
        columns = list(zip(*(row for _, row in block), strict=True))
        for i, values in numbers.items():
            values.extend(_floats(path, form, i, columns[i], block))
        for i, numbering in texts.items():
            codes[i].extend(map(numbering.__getitem__, map(str.strip, columns[i])))
        if MISSING_LABELS & texts[form.label].keys():
            _check_labels(path, form, columns[form.label], block)
        n_rows += len(block)
        if n_rows * form.width > MAX_NONZEROS:
            raise DataError(f"{path.name} has more than {MAX_NONZEROS:,} values: split it.")
    if not n_rows:
        raise DataError(f"{path.name} holds no rows: {TABLE_FORMAT}.")
    if form.rows not in (None, n_rows):
        raise DataError(
            f"{path.name} has {n_rows:,} rows, but its first line says {form.rows:,}: get it again."
        )
    found = {i: np.array(values) for i, values in numbers.items()} | {
        i: Column(np.array(codes[i]), list(texts[i])) for i in texts
    }
    names = tuple(form.names[i] if form.names else f"x{i + 1}" for i in kept)
    labels = found[form.label]
    assert isinstance(labels, Column)  # they are read as texts
    return DelimitedTable(form, names, [found[i] for i in kept], labels)


def _fitted(path: Path, form: TableLayout, train: TableLayout) -> TableLayout:
    """Return the layout of a test part, adapted to that of the training part.

    Raises DataError if their columns differ.
    """
    if form.width != train.width:
        raise DataError(f"{path.name} has {form.width:,} columns but the training part has {train.width:,}.")
    if form.names and train.names and form.names != train.names:
        other = next(pair for pair in zip(form.names, train.names, strict=True) if pair[0] != pair[1])
        raise DataError(f"{path.name} has a column {other[0]!r} where the training part has {other[1]!r}.")
    return replace(form, names=form.names or train.names, label=train.label, numeric=train.numeric)


def _rows(path: Path, form: TableLayout, progress: Progress | None) -> Iterator[Row]:
    """Yield the non-empty rows, each with the number of its last line."""
    lines = numbered_lines(path, limit=MAX_SMALL_BYTES, progress=progress)
    texts = (decoded(path, number, row).removesuffix("\r") for number, row in lines)
    reader = csv.reader(texts, delimiter=form.separator, skipinitialspace=True, strict=True)
    first = True
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise DataError(
                f"{path.name}, line {reader.line_num}: the quotes are not closed, or a field is too long "
                f'({short(error)}); write " within quotes twice.'
            ) from None
        if row is None:
            return
        if not row or (len(row) == 1 and not row[0].strip()):
            continue
        if first and _is_comment(row, form.width):
            continue
        if len(row) != form.width and not (first and form.classes):
            raise DataError(
                f"{path.name}, line {reader.line_num} has {len(row):,} field{'s' * (len(row) != 1)} but most "
                f"rows have {form.width:,}: give each row as many."
            )
        first = False
        yield reader.line_num, row


def _floats(
    path: Path, form: TableLayout, i: int, fields: Sequence[str], block: Sequence[Row]
) -> list[float]:
    try:
        values = list(map(float, fields))
        if all(map(math.isfinite, values)) and not any("_" in field for field in fields):
            return values
    except ValueError:
        pass
    line, field = next(
        (line, field.strip())
        for (line, _), field in zip(block, fields, strict=True)
        if not _is_number(field.strip()) or not math.isfinite(float(field))
    )
    where = f"{path.name}, line {line}: {form.name(i)}"
    if field.lower() in MISSING_VALUES:
        raise DataError(
            f"{where} has no value ({field or 'an empty field'}); fill it in, or leave the row out."
        )
    if DECIMAL_COMMA.fullmatch(field):
        raise DataError(f"{where} is {field}; write a decimal point in place of the comma.")
    if _is_number(field):
        raise DataError(f"{where} is {field[:40]}, which is infinite or too large; give a finite number.")
    raise DataError(f"{where} is {field[:40]!r} where most rows have a number; give a number.")


def _check_labels(path: Path, form: TableLayout, labels: Sequence[str], block: Sequence[Row]) -> None:
    line = next(
        line for (line, _), label in zip(block, labels, strict=True) if label.strip() in MISSING_LABELS
    )
    raise DataError(
        f"{path.name}, line {line}: {form.name(form.label)}, the column of labels, has no value; give each "
        "row a label, or name another column."
    )
