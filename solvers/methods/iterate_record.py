"""Fields of the record of an iterate, and functions that declare them in a dataclass."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Field:
    """A field of the record: its name, type, unit, and the value that stands for unknown.

    ``title`` is a short name, for menus and tables; ``label`` is for axes.
    """

    name: str
    type: type
    title: str
    label: str
    unit: str
    unknown: Any

    @property
    def numeric(self) -> bool:
        """Return whether the values are numbers, which can be plotted."""
        return self.type in (int, float)

    @property
    def axis(self) -> str:
        """Return the label with its unit in parentheses, for an axis."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    @property
    def dtype(self) -> type:
        """Return the NumPy type of a column of values; object for strings and tuples."""
        return {int: np.int64, float: np.float64}.get(self.type, object)

    def is_known(self, value: Any) -> bool:
        """Return whether a value is known, that is, other than ``unknown``."""
        return value is not None and value == value and not (self.numeric and value == self.unknown)


#: Maximal number of additional fields of a run, and the pattern of their names.
MAX_OWN_FIELDS, OWN_NAME = 32, re.compile("[A-Za-z][A-Za-z0-9_]{0,39}")


def own_field(name: str) -> Field:
    """Return the field of a number or boolean that a solver or a loop adds to the record.

    Booleans are stored as 1 and 0.
    """
    title = name.replace("_", " ")
    return Field(name, float, title, title, "", float("nan"))


def count(label: str, title: str = "", *, required: bool = False) -> int:
    """Declare a field with an integer count; -1 means unknown."""
    return _declared(int, -1, label, title, required=required)


def number(label: str, title: str = "", *, unit: str = "") -> float:
    """Declare a field with a float; nan means unknown."""
    return _declared(float, float("nan"), label, title, unit)


def word(label: str) -> str | None:
    """Declare a field with a string; None means unknown."""
    return _declared(str, None, label)


def words(label: str) -> tuple[str, ...]:
    """Declare a field with a tuple of strings, empty by default."""
    return _declared(tuple, (), label)


def _declared(
    kind: type, unknown: Any, label: str, title: str = "", unit: str = "", *, required: bool = False
) -> Any:
    about = {"type": kind, "title": title, "label": label, "unit": unit, "unknown": unknown}
    default = dataclasses.MISSING if required else unknown
    return dataclasses.field(default=default, metadata={"record": about})


def declared(cls: type) -> dict[str, Field]:
    """Return the fields of the record that a dataclass declares, by name, in the order of declaration."""
    found = {}
    for field in dataclasses.fields(cls):
        if about := field.metadata.get("record"):
            title = about["title"] or field.name.replace("_", " ")
            found[field.name] = Field(**{**about, "name": field.name, "title": title})
    return found
