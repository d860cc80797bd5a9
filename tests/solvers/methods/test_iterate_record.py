import math
from dataclasses import dataclass

import numpy as np

from solverscope.solvers.methods.iterate_record import count, declared, number, word, words


@dataclass
class Row:
    n: int = count("things counted", "things", required=True)
    seconds: float = number("time of the run", unit="s")
    ls_kind: str | None = word("kind")
    events: tuple[str, ...] = words("events")
    w: object = None


def test_a_field_knows_its_type_its_names_its_unit_and_its_unknown():
    fields = declared(Row)
    assert list(fields) == ["n", "seconds", "ls_kind", "events"]
    n, seconds, kind, events = fields.values()
    assert [f.type for f in fields.values()] == [int, float, str, tuple]
    assert [f.dtype for f in fields.values()] == [np.int64, np.float64, object, object]
    assert [f.numeric for f in fields.values()] == [True, True, False, False]
    assert (n.title, n.label, n.axis) == ("things", "things counted", "things counted")
    assert (seconds.title, seconds.axis) == ("seconds", "time of the run (s)")
    assert kind.title == "ls kind"
    assert (n.unknown, kind.unknown, events.unknown) == (-1, None, ())
    assert math.isnan(seconds.unknown)


def test_what_is_unknown_is_told_from_what_is_zero_or_infinite():
    n, seconds, kind, _ = declared(Row).values()
    assert [n.is_known(value) for value in (0, 7, np.int64(3), -1, np.int64(-1), None)] == [True] * 3 + [
        False
    ] * 3
    assert [seconds.is_known(v) for v in (0.0, -1.0, math.inf, math.nan, None)] == [True] * 3 + [False] * 2
    assert [kind.is_known(value) for value in ("armijo", None)] == [True, False]
