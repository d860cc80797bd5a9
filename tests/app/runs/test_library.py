"""Data and problems are made once; making another λ or penalty can be interrupted."""

from __future__ import annotations

import threading

import pytest

from solverscope import datasets, solvers
from solverscope.app.runs import library
from solverscope.app.runs.pool import RunPool
from solverscope.app.settings.recipe import Recipe


def setting(**changes):
    return Recipe("breast-cancer", loss="logistic", **({"penalty": "l1"} | changes))


def shelf_of(room: float) -> library.Shelf:
    """A shelf on which every value takes one byte."""
    return library.Shelf(lambda: room, lambda value: 1)


def test_a_value_is_made_once_however_many_ask_for_it_at_a_time():
    shelf, made, together = shelf_of(9), [], threading.Barrier(4)

    def make():
        made.append(object())
        return made[-1]

    def ask():
        together.wait()
        found.append(shelf.get("key", make))

    found: list[object] = []
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == made * 4


def test_who_waits_for_a_value_leaves_the_only_slot_to_who_makes_it():
    shelf, share = shelf_of(9), RunPool(1).share()
    begun, asked = threading.Event(), threading.Event()

    def makes(worker):
        def make():
            begun.set()
            worker.wait_for(asked.is_set)
            return 7

        return shelf.get("key", make)

    def waits(worker):
        asked.set()
        return shelf.get("key", lambda: 8, worker.pulse)

    first = share.start(makes)
    assert begun.wait(60)
    second = share.start(waits)
    assert first.join(60)
    assert second.join(60)
    assert (first.result, second.result) == (7, 7)


def test_the_least_recently_used_value_is_dropped():
    shelf = shelf_of(2)
    made = []
    for key in ("a", "b", "a", "c", "a", "b"):
        shelf.get(key, lambda key=key: made.append(key))
    assert made == ["a", "b", "c", "b"]


def test_what_is_kept_is_bounded_by_bytes_and_not_by_number():
    shelf = library.Shelf(lambda: 1000, len)
    for k in range(100):
        shelf.get(k, lambda: b"x" * 9)
    assert all(shelf.peek(k) is not None for k in range(100))
    shelf.get("large", lambda: b"x" * 950)
    assert [k for k in range(100) if shelf.peek(k) is not None] == list(range(95, 100))
    assert len(shelf.get("too large", lambda: b"x" * 1001)) == 1001
    assert shelf.peek("too large") is None


def test_what_failed_is_made_anew():
    shelf = shelf_of(9)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            shelf.get("key", lambda: 1 / 0)
    assert shelf.get("key", lambda: 7) == 7


@pytest.mark.parametrize("changes", [{"lam": 0.02}, {"penalty": "l2"}, {"penalty": "l2", "lam": 0.02}])
def test_another_penalty_or_lambda_is_made_with_pulses_that_it_does_not_keep(as_if_huge, changes):
    problem = solvers.make_problem(
        datasets.load("breast-cancer"), loss="logistic", penalty="l1", lam_ratio=0.05
    )
    pulses = []
    made = library.variant(problem, setting(**changes), lambda: pulses.append(1))
    assert len(pulses) > 0
    assert made.design.rows is problem.design.rows
    pulses.clear()
    made.at().gradient()
    assert pulses == []

    def stop():
        raise solvers.Interrupted

    with pytest.raises(solvers.Interrupted):
        library.variant(problem, setting(**changes), stop)
    problem.at().gradient()


def test_a_problem_that_was_interrupted_while_it_was_made_is_made_by_the_next_who_asks():
    def stop() -> None:
        raise solvers.Interrupted

    library.shelf.clear()
    data = datasets.load("digits")
    wanted = Recipe("digits", loss="multiclass-logistic", penalty="l1")
    with pytest.raises(solvers.Interrupted):
        library.problem(data, wanted, stop)
    made = library.problem(data, wanted)
    assert made.lam > 0.0
    made.pulse()
