"""What is computed when first asked for is computed once, and nobody waits for another object's."""

from __future__ import annotations

import threading

from solverscope.solvers.compute.lazy import lazy
from tests.waiting import PATIENCE


class Square:
    def __init__(self, side: float, before=lambda: None) -> None:
        self.side, self.before, self.computed = side, before, 0

    @lazy
    def area(self) -> float:
        """Return the area."""
        self.before()
        self.computed += 1
        return self.side**2


def test_a_value_is_computed_at_its_first_use_and_once():
    square = Square(3.0)
    assert square.computed == 0
    assert (square.area, square.area, square.computed) == (9.0, 9.0, 1)


def test_the_class_shows_the_docstring():
    assert isinstance(Square.area, lazy)
    assert Square.area.__doc__ == "Return the area."


def test_a_thread_that_is_held_within_a_value_does_not_hold_up_those_of_other_objects():
    begun, go_on = threading.Event(), threading.Event()

    def held() -> None:
        begun.set()
        assert go_on.wait(PATIENCE)

    slow, quick = Square(2.0, held), Square(3.0)
    first = threading.Thread(target=lambda: slow.area, daemon=True)
    second = threading.Thread(target=lambda: quick.area, daemon=True)
    first.start()
    assert begun.wait(PATIENCE)
    second.start()
    second.join(PATIENCE)
    assert not second.is_alive()
    go_on.set()
    first.join(PATIENCE)
    assert (slow.area, slow.computed, quick.computed) == (4.0, 1, 1)
