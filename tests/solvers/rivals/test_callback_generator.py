"""A program that calls back, as a generator."""

import threading

import pytest

from solverscope.solvers.rivals.callback_generator import callback_generator


def add_up(ask):
    return sum(ask(k) for k in range(4))


def test_calls_are_yielded_in_turn_and_the_result_is_returned():
    calls = callback_generator(add_up, lambda seconds: None)
    seen = [next(calls)]
    seen += [calls.send(10 * k) for k in range(3)]
    with pytest.raises(StopIteration) as end:
        calls.send(30)
    assert seen == [0, 1, 2, 3]
    assert end.value.value == 60


def test_what_the_program_raises_is_raised_where_it_is_advanced():
    def broken(ask):
        raise ArithmeticError(str(ask("more")))

    calls = callback_generator(broken, lambda seconds: None)
    assert next(calls) == "more"
    with pytest.raises(ArithmeticError, match="answered"):
        calls.send("answered")


def test_a_program_that_is_left_unwinds_and_its_thread_ends():
    unwound = []

    def program(ask):
        try:
            ask(1)
        except Exception:
            unwound.append("caught")  # a program may go on after an exception: this is none
        finally:
            unwound.append(threading.current_thread())

    before = set(threading.enumerate())
    calls = callback_generator(program, lambda seconds: None)
    next(calls)
    calls.close()
    (thread,) = unwound
    assert not thread.is_alive()
    assert set(threading.enumerate()) <= before


def test_the_seconds_of_the_program_are_booked_and_those_of_the_answers_are_not():
    booked = []

    def program(ask):
        ask("first")
        sum(range(300_000))

    calls = callback_generator(program, booked.append)
    next(calls)
    sum(range(3_000_000))
    with pytest.raises(StopIteration):
        calls.send(None)
    assert len(booked) == 2
    assert 0.0 <= booked[0] < booked[1]
