"""The race: places at equal cost, ties, and who came first."""

from __future__ import annotations

import re

import pytest

from solverscope.app.views import Race
from solverscope.app.views.base.cursor import Cursor
from solverscope.solvers import Trace
from tests.app.helpers import note, text


def racer(label: str, *points: tuple[float, float], f_star: float | None = None) -> Trace:
    """A run that has ended, and had reached each objective after so many CPU seconds."""
    records = [{"iteration": k, "cpu_seconds": s, "objective": f} for k, (s, f) in enumerate(points)]
    trace = Trace.from_records(records, label=label, f_star=f_star, problem={"key": "same"})
    trace.result = {"status": "converged"}
    return trace


def standing(*racers: Trace) -> list[list[str]]:
    """The rows of the first table: place, run, objective, gap, behind, iteration."""
    table = text(Race(list(racers))).split("</table>")[0]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in table.split("<tr>")[2:]]


def test_the_lower_objective_at_equal_cost_is_ahead():
    slow = racer("slow", (0, 10.0), (5, 4.0), f_star=1.0)
    quick = racer("quick", (0, 10.0), (4, 2.0), (9, 1.5), f_star=1.0)
    rows = standing(slow, quick)
    assert [(row[0], row[1]) for row in rows] == [("1", "quick"), ("2", "slow")]
    assert [row[4] for row in rows] == ["", "2.5"]


@pytest.mark.parametrize("f_star", [1.0, None])
def test_who_differ_by_rounding_tie_and_the_first_to_come_there_stands_first(f_star):
    early = racer("early", (0, 10.0), (3, 1.0 + 7e-8), f_star=f_star)
    late = racer("late", (0, 10.0), (3, 5.0), (60, 1.0), f_star=f_star)
    behind = racer("behind", (0, 10.0), (60, 1.1), f_star=f_star)
    for racers in ([early, late, behind], [late, behind, early]):
        rows = standing(*racers)
        assert [(row[0], row[1]) for row in rows] == [("1 =", "early"), ("1 =", "late"), ("3", "behind")]
        assert [row[4] for row in rows] == ["tie", "tie", "0.1"]


def test_rounding_near_a_minimum_of_zero_is_a_tie():
    rows = standing(
        racer("one", (0, 1.0), (1, 3.5e-15), f_star=0.0), racer("three", (0, 1.0), (2, 6.7e-16), f_star=0.0)
    )
    assert [(row[0], row[1]) for row in rows] == [("1 =", "one"), ("1 =", "three")]


def test_nobody_ties_before_anybody_is_there():
    rows = standing(racer("a", (0, 2.0), f_star=1.0), racer("b", (0, 2.0001), f_star=1.0))
    assert [row[0] for row in rows] == ["1", "2"]


def test_a_difference_that_is_not_shown_makes_no_rank():
    ends = {"a": 2.0, "b": 2.0 + 1e-15, "c": 2.5, "d": 2.5 + 1e-12, "e": 2.6}
    rows = standing(*(racer(label, (0, 9.0), (1, f), f_star=1.0) for label, f in ends.items()))
    assert [row[:2] for row in rows] == [["1 =", "a"], ["1 =", "b"], ["3 =", "c"], ["3 =", "d"], ["5", "e"]]
    assert [row[4] for row in rows] == ["", "0", "0.5", "0.5", "0.6"]


def test_a_run_that_has_not_begun_has_no_place_and_holds_nobody_back():
    going = [racer(label, (0.0, 9.0), (4.0, f)) for label, f in (("slow", 3.0), ("quick", 2.0))]
    waits = racer("waits", (0.04, 9.0))
    for one in (*going, waits):
        one.result = {}
    view = Race([waits, *going])
    assert "4 s" in view.tables()[0].title
    rows = [[str(cell) for cell in row] for row in view.tables()[0].rows]
    assert [(row[0], row[1], row[5]) for row in rows] == [
        ("1", "quick", "1"),
        ("2", "slow", "1"),
        ("–", "waits", "not begun"),
    ]
    nobody = Race([waits]).tables()[0].rows
    assert [row[0] for row in nobody] == ["–"]


def test_a_standing_before_the_cursor_says_at_which_iterate():
    ahead = racer("ahead", (1.0, 3.0), (2.0, 2.0), (3.0, 1.0))
    behind = racer("behind", (1.0, 3.0), (2.0, 2.5))
    view = Race([ahead, behind], Cursor())
    view.cursor.place(ahead, 1)
    assert note(view) == ""
    behind.result = {}
    view.cursor.place(ahead, 2)
    assert "Showing iterate 1" in note(view)
