"""Shards at work together: a tree of sums, and somebody who waits for it."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from solverscope import solvers
from solverscope.solvers.problems.shards.worker_pool import ShardWorker, size_of, wait_for


class Stub:
    """Stands for a shard: says its number, as text, so that the order of sums shows."""

    def __init__(self, number: int) -> None:
        self.number, self.go = number, threading.Event()
        self.go.set()

    def execute(self, orders):
        assert self.go.wait(60)
        return Term(str(self.number)), 1.0


class Term:
    """A sum that remembers how it was made."""

    nbytes = 100

    def __init__(self, text: str) -> None:
        self.text = text

    def __add__(self, other: Term) -> Term:
        return Term(f"({self.text}+{other.text})")


@pytest.mark.parametrize(
    ("count", "said"),
    [(1, "0"), (2, "(0+1)"), (3, "((0+1)+2)"), (4, "((0+1)+(2+3))"), (5, "(((0+1)+2)+(3+4))")],
)
def test_sums_are_made_in_pairs_in_one_order(count, said):
    pool = solvers.LocalWorkerPool([Stub(k) for k in range(count)])
    for _ in range(5):
        answer = pool.ask([("loss.value",)], lambda: None)
        assert answer.value.text == said
        assert answer.seconds == count


def test_each_shard_sends_one_answer_and_the_root_alone_answers_here():
    pool = solvers.LocalWorkerPool([Stub(k) for k in range(8)])
    order = ("design.scores", 1, np.zeros(100))
    pool.ask([order, ("loss.value",)], lambda: None)
    asked, answered = size_of([order, ("loss.value",)]), size_of(Term(""))
    assert asked == 13 + 8 + 800 + 10
    assert pool.moved == 8 * (asked + answered)
    assert pool.at_root == asked + answered


def test_who_waits_can_be_stopped_and_the_shards_are_ready_for_more():
    shards = [Stub(k) for k in range(4)]
    pool = solvers.LocalWorkerPool(shards)
    shards[3].go.clear()
    looks = iter(range(3))

    def pulse() -> None:
        if next(looks, None) is None:
            raise solvers.Interrupted

    with pytest.raises(solvers.Interrupted):  # while a shard is at work still: it would be for 10 s
        pool.ask([("loss.value",)], pulse)
    shards[3].go.set()
    assert pool.ask([("loss.value",)], lambda: None).value.text == "((0+1)+(2+3))"


def test_what_a_shard_raises_is_heard():
    pool = solvers.LocalWorkerPool([Stub(k) for k in range(4)])
    pool.shards[2].execute = lambda orders: (_ for _ in ()).throw(TimeoutError("its own"))
    with pytest.raises(TimeoutError, match="its own"):
        pool.ask([("loss.value",)], lambda: None)


def test_a_hand_that_has_parted_waits_for_nobody():
    class Never:
        def result(self, timeout):
            raise TimeoutError

        def done(self):
            return False

    worker = ShardWorker(Stub(0))
    with pytest.raises(StopIteration):
        worker.disconnect().send(None)
    with pytest.raises(solvers.ShardLost):
        wait_for(Never(), worker.check)
