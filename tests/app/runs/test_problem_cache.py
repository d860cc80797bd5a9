"""Data and problems are made once; making another λ or penalty can be interrupted."""

from __future__ import annotations

import threading

import pytest

from solverscope import datasets, solvers
from solverscope.app.runs import problem_cache
from solverscope.app.runs.pool import RunPool
from solverscope.app.settings.recipe import Recipe


def setting(**changes):
    return Recipe("breast-cancer", loss="logistic", **({"penalty": "l1"} | changes))


def cache_of(room: float) -> problem_cache.LruCache:
    """A cache on which every value takes one byte."""
    return problem_cache.LruCache(lambda: room, lambda value: 1)


def test_a_value_is_made_once_however_many_ask_for_it_at_a_time():
    cache, made, together = cache_of(9), [], threading.Barrier(4)

    def make():
        made.append(object())
        return made[-1]

    def ask():
        together.wait()
        found.append(cache.get("key", make))

    found: list[object] = []
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == made * 4


def test_who_waits_for_a_value_leaves_the_only_slot_to_who_makes_it():
    cache, share = cache_of(9), RunPool(1).share()
    begun, asked = threading.Event(), threading.Event()

    def makes(worker):
        def make():
            begun.set()
            worker.wait_for(asked.is_set)
            return 7

        return cache.get("key", make)

    def waits(worker):
        asked.set()
        return cache.get("key", lambda: 8, worker.pulse)

    first = share.start(makes)
    assert begun.wait(60)
    second = share.start(waits)
    assert first.join(60)
    assert second.join(60)
    assert (first.result, second.result) == (7, 7)


def test_the_least_recently_used_value_is_dropped():
    cache = cache_of(2)
    made = []
    for key in ("a", "b", "a", "c", "a", "b"):
        cache.get(key, lambda key=key: made.append(key))
    assert made == ["a", "b", "c", "b"]


def test_what_is_kept_is_bounded_by_bytes_and_not_by_number():
    cache = problem_cache.LruCache(lambda: 1000, len)
    for k in range(100):
        cache.get(k, lambda: b"x" * 9)
    assert all(cache.peek(k) is not None for k in range(100))
    cache.get("large", lambda: b"x" * 950)
    assert [k for k in range(100) if cache.peek(k) is not None] == list(range(95, 100))
    assert len(cache.get("too large", lambda: b"x" * 1001)) == 1001
    assert cache.peek("too large") is None


def test_what_failed_is_made_anew():
    cache = cache_of(9)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            cache.get("key", lambda: 1 / 0)
    assert cache.get("key", lambda: 7) == 7


@pytest.mark.parametrize("changes", [{"lam": 0.02}, {"penalty": "l2"}, {"penalty": "l2", "lam": 0.02}])
def test_another_penalty_or_lambda_is_made_with_pulses_that_it_does_not_keep(as_if_huge, changes):
    problem = solvers.make_problem(
        datasets.load("breast-cancer"), loss="logistic", penalty="l1", lam_ratio=0.05
    )
    pulses = []
    made = problem_cache.variant(problem, setting(**changes), lambda: pulses.append(1))
    assert len(pulses) > 0
    assert made.design.rows is problem.design.rows
    pulses.clear()
    made.at().gradient()
    assert pulses == []

    def stop():
        raise solvers.Interrupted

    with pytest.raises(solvers.Interrupted):
        problem_cache.variant(problem, setting(**changes), stop)
    problem.at().gradient()


def test_a_problem_that_was_interrupted_while_it_was_made_is_made_by_the_next_who_asks():
    def stop() -> None:
        raise solvers.Interrupted

    problem_cache.cache.clear()
    data = datasets.load("digits")
    wanted = Recipe("digits", loss="multiclass-logistic", penalty="l1")
    with pytest.raises(solvers.Interrupted):
        problem_cache.problem(data, wanted, stop)
    made = problem_cache.problem(data, wanted)
    assert made.lam > 0.0
    made.pulse()
