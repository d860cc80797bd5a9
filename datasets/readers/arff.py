"""ARFF files: named numeric attributes, followed by hierarchical labels."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import DataError
from ..limits import MAX_SMALL_BYTES
from ..store import Progress
from . import table
from .files import numbered_lines

ATTRIBUTE = re.compile(r"""@attribute\s+('[^']*'|"[^"]*"|\S+)\s+(\S.*)""", re.IGNORECASE)
#: Types whose values are numbers, a choice of whole ones among them.
NUMERIC_TYPE = re.compile(r"numeric|real|integer|\{\s*\d+\s*(?:,\s*\d+\s*)*\}", re.IGNORECASE)


@dataclass(frozen=True)
class ArffTable:
    """The content of an ARFF file.

    values  (n, d) float64; ``names`` are those of the columns
    labels  the last field of each row, unparsed
    nodes   nodes that the hierarchical attribute lists
    """

    values: np.ndarray
    names: tuple[str, ...]
    labels: list[str]
    nodes: tuple[str, ...]


def read(path: Path, *, progress: Progress | None = None) -> ArffTable:
    """Read an ARFF file whose attributes are numeric except for the last, which is hierarchical.

    Raises DataError with file, line and reason if the file is invalid.
    """
    rows = numbered_lines(path, limit=MAX_SMALL_BYTES, progress=progress)
    names, nodes = [], None
    for number, row in rows:
        text = row.decode("utf-8", "replace").strip()
        if text.lower() == "@data":
            break
        match = ATTRIBUTE.match(text)
        if text.lower().startswith("@attribute") and not match:
            raise DataError(f"{path.name}, line {number}: an attribute needs a name and a type.")
        if not match:
            continue
        name, kind = match[1].strip("'\""), match[2].strip()
        if nodes is not None:
            raise DataError(
                f"{path.name}, line {number}: attribute {name[:40]} comes after the labels; put it before."
            )
        if kind.lower().startswith("hierarchical"):
            nodes = tuple(node.strip() for node in kind[len("hierarchical") :].split(","))
        elif NUMERIC_TYPE.fullmatch(kind):
            names.append(name)
        else:
            raise DataError(
                f"{path.name}, line {number}: attribute {name[:40]} is of type {kind[:40]}; numeric ones "
                "and a last hierarchical one can be read."
            )
    else:
        raise DataError(f"{path.name} has no line @data: it is no ARFF file or cut short.")
    if nodes is None:
        raise DataError(f"{path.name} has no hierarchical attribute: the last one has to be.")
    values, labels = table.parse(path, rows, text_column=-1, width=len(names) + 1)
    return ArffTable(values, tuple(names), labels, nodes)
