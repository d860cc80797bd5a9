"""Checks of records of runs, field by field: records that are read from a file or a database may have been
written by anybody."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

#: What a terminal takes for a command: sequences that begin with an escape, and control characters.
_COMMANDS = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?|[\x00-\x1f\x7f-\x9f]"
)
#: Halves of characters, which no file or database takes.
_HALVES = re.compile("[\ud800-\udfff]")
LARGEST = np.iinfo(np.int64).max


class Unfit(ValueError):
    """A record is not what it should be; the message follows the name of where it stands."""


class Kind(NamedTuple):
    """What values a field has: ``take`` returns a value, its texts :func:`printable`, and raises ValueError
    or TypeError for any other; ``words`` says what it takes."""

    words: str
    take: Callable[[Any], Any]


def printable(text: str) -> str:
    """Return a text without what a terminal would take for a command; line ends become spaces."""
    return _HALVES.sub("\ufffd", _COMMANDS.sub("", re.sub(r"\s", " ", text)))


def for_spreadsheet(value: Any) -> Any:
    """Return a value as a cell of a CSV file: a text, on one line, that a spreadsheet would compute gets an
    apostrophe before it; numbers stay numbers."""
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


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return printable(value)


def _name(value: Any) -> str:
    name = _text(value)
    if not name.strip():
        raise ValueError
    return name


def _number(value: Any) -> float:
    # a whole number keeps its digits
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST:
        raise TypeError
    return value


def _moment(value: Any) -> float:
    if abs(_number(value)) > 1e11:
        raise ValueError
    return value


def _flag(value: Any) -> bool:
    if value not in (True, False):
        raise TypeError
    return bool(value)


def _simple(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    return _text(value) if isinstance(value, str) else _number(value)


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return {_name(name): _simple(each) for name, each in value.items()}


def _or_null(kind: Kind) -> Kind:
    return Kind(f"{kind.words} or null", lambda value: None if value is None else kind.take(value))


TEXT = Kind("a text", _text)
NAME = Kind("a text that is not empty", _name)
NUMBER = Kind("a number", _number)
COUNT = Kind("a whole number from 0", _count)
MOMENT = Kind("seconds since 1970", _moment)
FLAG = Kind("true or false", _flag)
SIMPLE = Kind("a text, a number, true, false or null", _simple)
TABLE = Kind("a table of texts, numbers, true, false and null", _table)
WORDS = Kind("a list of texts", lambda value: tuple(_text(one) for one in _list(value)))
NUMBER_OR_NULL, COUNT_OR_NULL, TEXT_OR_NULL = map(_or_null, (NUMBER, COUNT, TEXT))

#: What every record of a problem has.
NAMED = ("key", "dataset", "loss", "penalty")
PROBLEM = {
    **dict.fromkeys(NAMED, NAME),
    **dict.fromkeys(("options", "loss_params", "penalty_params"), TABLE),
    **dict.fromkeys(("lam", "lam_max"), NUMBER_OR_NULL),
    **dict.fromkeys(("n_samples", "n_features", "n_outputs", "n_params"), COUNT),
    **{"average": FLAG, "seed": COUNT_OR_NULL, "source": TEXT_OR_NULL},
}
REFERENCE = {
    **dict.fromkeys(("f_star", "violation"), NUMBER_OR_NULL),
    **{"solver": TEXT_OR_NULL, "cached": FLAG},
}
_NUMBERS = (
    *("objective", "violation", "dual_gap", "passes", "cpu_seconds", "wall_seconds", "setup_seconds"),
    *("compile_seconds", "replay_seconds", "train_metric", "test_metric"),
)
RESULT = {
    **dict.fromkeys(("label", "solver", "status", "message"), TEXT),
    **dict.fromkeys(("nnz", "nnz_rows", "iterations", "epochs"), COUNT_OR_NULL),
    **dict.fromkeys(_NUMBERS, NUMBER_OR_NULL),
}
#: What a run says of the run it comes from, and of a change of its λ on the way.
ORIGIN = {
    **{"label": NAME, "solver": NAME, "params": TABLE, "iteration": COUNT, "objective": NUMBER_OR_NULL},
    **{"cpu_seconds": NUMBER, "wall_seconds": NUMBER, "lam": NUMBER},
}
CHANGE = {
    **{"iteration": COUNT, "lam": NUMBER, "key": NAME, "f_star": NUMBER_OR_NULL},
    **{"cpu_seconds": NUMBER, "wall_seconds": NUMBER},
}


def checked(record: Any, kinds: Mapping[str, Kind], required: Sequence[str] = ()) -> dict[str, Any]:
    """Return a record whose fields are of their kinds, those that are not listed simple values. Raises
    :class:`Unfit`."""
    if not isinstance(record, dict):
        raise Unfit("is no record")
    found = {}
    for name, value in record.items():
        kind = kinds.get(name, SIMPLE)
        try:
            found[printable(name)] = kind.take(value)
        except Unfit as error:
            raise Unfit(f"{error} in {printable(name)[:40]}") from None
        except (TypeError, ValueError, OverflowError, RecursionError):
            raise Unfit(f"has {_short(value)} for {printable(name)[:40]}, not {kind.words}") from None
    for name in required:
        if name not in found:
            raise Unfit(f"has no {name}")
    return found


def _short(value: Any) -> str:
    try:
        return f"{value!r:.40}"
    except (ValueError, RecursionError):  # a number of thousands of digits, or a list in a list in a list
        return "a value beyond all bounds"


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def record_of(kinds: Mapping[str, Kind]) -> Kind:
    """Return the kind of a record within a record."""
    return Kind("a record", lambda value: checked(value, kinds))


ORIGIN["from"] = record_of(ORIGIN)
#: What a record of a :class:`.run_info.RunInfo` has.
INFO = {
    **{"label": NAME, "solver": NAME, "params": TABLE, "from": ORIGIN["from"]},
    "lams": Kind(
        "a list of records", lambda value: [checked(one, CHANGE, tuple(CHANGE)) for one in _list(value)]
    ),
    "problem": record_of(PROBLEM),
    "reference": _or_null(record_of(REFERENCE)),
    **{"f_star": NUMBER_OR_NULL, "warm": FLAG},
}
