"""Validation of records of runs, field by field.

Records in a file or a database may have been written by any program.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

#: Commands of terminals: sequences that begin with an escape, and control characters.
_COMMANDS = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?|[\x00-\x1f\x7f-\x9f]"
)
#: Marks that change the direction of the following text, so that it reads differently.
_DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
#: Unpaired surrogates, which no file or database accepts.
_HALVES = re.compile("[\ud800-\udfff]")
MAX_COUNT = np.iinfo(np.int64).max


class InvalidRecord(ValueError):
    """Raised if a record is invalid; the message continues a sentence that begins with the place of the
    record."""


class FieldKind(NamedTuple):
    """The kind of a field's values.

    ``take`` converts a value, or raises ValueError or TypeError; it makes strings :func:`printable`.
    ``words`` describes the allowed values.
    """

    words: str
    take: Callable[[Any], Any]


def printable(text: str) -> str:
    """Return a string without control characters of terminals and without changes of direction.

    Line ends become spaces.
    """
    if text.isascii() and text.isprintable():
        return text
    return _HALVES.sub("\ufffd", _DIRECTIONS.sub("", _COMMANDS.sub("", re.sub(r"\s", " ", text))))


def for_spreadsheet(value: Any) -> Any:
    """Return a value as a cell of a CSV file; numbers stay numbers, and strings get a single line.

    A string that a spreadsheet would evaluate is prefixed with an apostrophe.
    """
    if not isinstance(value, str):
        return value
    text = printable(value)
    if not text.lstrip().startswith(("=", "+", "-", "@")):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def _kind(
    words: str,
    types: Collection[type],
    fits: Callable[[Any], object] = lambda value: True,
    take: Callable[[Any], Any] = lambda value: value,
) -> FieldKind:
    """Return the kind of values of exactly these types that ``fits`` accepts, converted by ``take``.

    A bool is not a number.
    """

    def taken(value: Any) -> Any:
        if type(value) not in types or not fits(value):
            raise TypeError
        return take(value)

    return FieldKind(words, taken)


def _or_null(kind: FieldKind) -> FieldKind:
    return FieldKind(f"{kind.words} or null", lambda value: None if value is None else kind.take(value))


TEXT = _kind("a text", [str], take=printable)
NAME = _kind("a text that is not empty", [str], lambda text: printable(text).strip(), printable)
NUMBER = _kind("a number", [int, float], math.isfinite)
COUNT = _kind("a whole number from 0", [int], lambda n: 0 <= n <= MAX_COUNT)
MOMENT = _kind("seconds since 1970", [int, float], lambda seconds: abs(seconds) <= 1e11)
FLAG = _kind("true or false", [bool, int, float], lambda value: value in (0, 1), bool)
SIMPLE = FieldKind(
    "a text, a number, true, false or null",
    lambda value: (
        value if value in (None, True, False) else (TEXT if isinstance(value, str) else NUMBER).take(value)
    ),
)
TABLE = _kind(
    "a table of texts, numbers, true, false and null",
    [dict],
    take=lambda table: {NAME.take(name): SIMPLE.take(value) for name, value in table.items()},
)
WORDS = _kind("a list of texts", [list], take=lambda texts: tuple(map(TEXT.take, texts)))
NUMBER_OR_NULL, COUNT_OR_NULL, TEXT_OR_NULL = map(_or_null, (NUMBER, COUNT, TEXT))

#: Required fields of the record of a problem.
REQUIRED_PROBLEM_FIELDS = ("key", "dataset", "loss", "penalty")
PROBLEM_KINDS = {
    **dict.fromkeys(REQUIRED_PROBLEM_FIELDS, NAME),
    **dict.fromkeys(("options", "loss_params", "penalty_params"), TABLE),
    **dict.fromkeys(("lam", "lam_max"), NUMBER_OR_NULL),
    **dict.fromkeys(("n_samples", "n_features", "n_outputs", "n_params"), COUNT),
    **dict.fromkeys(("average", "intercept", "weighted"), FLAG),
    **{"seed": COUNT_OR_NULL, "source": TEXT_OR_NULL, "penalty_factors": TEXT_OR_NULL},
}
REFERENCE_KINDS = {
    **dict.fromkeys(("f_star", "violation"), NUMBER_OR_NULL),
    **{"solver": TEXT_OR_NULL, "cached": FLAG},
}
_NUMBERS = (
    *("objective", "violation", "dual_gap", "passes", "cpu_seconds", "wall_seconds", "setup_seconds"),
    *("compile_seconds", "replay_seconds", "train_metric", "test_metric"),
)
RESULT_KINDS = {
    **dict.fromkeys(("label", "solver", "status", "message"), TEXT),
    **dict.fromkeys(("nnz", "nnz_rows", "iterations", "epochs"), COUNT_OR_NULL),
    **dict.fromkeys(_NUMBERS, NUMBER_OR_NULL),
}
#: Fields of the origin of a branch, and of a change of λ during a run.
ORIGIN_KINDS = {
    **{"label": NAME, "solver": NAME, "params": TABLE, "iteration": COUNT, "objective": NUMBER_OR_NULL},
    **{"cpu_seconds": NUMBER, "wall_seconds": NUMBER, "lam": NUMBER},
}
LAM_CHANGE_KINDS = {
    **{"iteration": COUNT, "lam": NUMBER, "key": NAME, "f_star": NUMBER_OR_NULL},
    **{"cpu_seconds": NUMBER, "wall_seconds": NUMBER},
}


def checked(record: Any, kinds: Mapping[str, FieldKind], required: Sequence[str] = ()) -> dict[str, Any]:
    """Return a record with its fields validated; fields not in ``kinds`` must be simple values.

    Raises :class:`InvalidRecord` if a value is invalid, or a ``required`` field is missing.
    """
    if not isinstance(record, dict):
        raise InvalidRecord("is no record")
    found = {}
    for name, value in record.items():
        kind = kinds.get(name, SIMPLE)
        try:
            found[printable(name)] = kind.take(value)
        except InvalidRecord as error:
            raise InvalidRecord(f"{error} in {printable(name)[:40]}") from None
        except (TypeError, ValueError, OverflowError, RecursionError):
            raise InvalidRecord(f"has {_short(value)} for {printable(name)[:40]}, not {kind.words}") from None
    for name in required:
        if name not in found:
            raise InvalidRecord(f"has no {name}")
    return found


def _short(value: Any) -> str:
    try:
        return f"{value!r:.40}"
    except (ValueError, RecursionError):  # a number of thousands of digits, or a list in a list in a list
        return "a value beyond all bounds"


def record_of(kinds: Mapping[str, FieldKind]) -> FieldKind:
    """Return the kind of a nested record with fields of these kinds."""
    return FieldKind("a record", lambda value: checked(value, kinds))


ORIGIN_KINDS["from"] = record_of(ORIGIN_KINDS)
#: Fields of the record of a :class:`.run_info.RunInfo`.
INFO_KINDS = {
    **{"label": NAME, "solver": NAME, "params": TABLE, "from": ORIGIN_KINDS["from"]},
    "lams": _kind(
        "a list of records",
        [list],
        take=lambda changes: [checked(one, LAM_CHANGE_KINDS, tuple(LAM_CHANGE_KINDS)) for one in changes],
    ),
    "problem": record_of(PROBLEM_KINDS),
    "reference": _or_null(record_of(REFERENCE_KINDS)),
    **{"f_star": NUMBER_OR_NULL, "warm": FLAG, "code": TEXT},
}
