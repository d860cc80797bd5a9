"""BLAS keeps to one thread wherever a solver is advanced, and gets its threads back in between."""

import threading
import time
from dataclasses import dataclass

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

import solvers
from solvers.compute.blas import _take_control, one_blas_thread
from tests.solvers.helpers import binary


def blas_threads():
    """Threads of the libraries that can have some: a package may bring one built without."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {pool["num_threads"] for pool in pools if pool.get("threading_layer") != "disabled"}


@pytest.fixture(autouse=True)
def two_threads():
    _take_control(ThreadpoolController())  # a thread of another test may live on and hold it
    with threadpool_limits(limits=2, user_api="blas"):
        yield


@pytest.fixture
def problem():
    return solvers.make_problem(binary(), lam_ratio=0.1)


@dataclass(frozen=True)
class Watching(solvers.Solver):
    """A plug-in that notes what BLAS may use inside its own iterate."""

    id, name, summary = "watching", "Watching", "notes the threads of BLAS"

    def iterate(self, problem, w0=None):
        point = problem.at(w0)
        for n in range(3):
            seen.append(blas_threads())
            yield solvers.Iterate.at(point, n)
        seen.append(blas_threads())
        return solvers.Ending("stalled", "nothing to do")


@dataclass(frozen=True)
class Heir(Watching):
    id = "heir"


@dataclass(frozen=True)
class Delegating(Watching):
    id = "delegating"

    def iterate(self, problem, w0=None):
        return (yield from super().iterate(problem, w0))


seen: list[set[int]] = []


@pytest.mark.parametrize("solver", [Watching(), Heir(), Delegating()])
def test_a_solver_advanced_by_hand_has_one_thread_and_its_caller_all(problem, solver):
    seen.clear()
    iterates = solver.iterate(problem)
    for _ in range(3):
        next(iterates)
        assert blas_threads() == {2}
    with pytest.raises(StopIteration) as stop:
        next(iterates)
    assert stop.value.value.status == "stalled"
    assert seen == [{1}] * 4
    assert blas_threads() == {2}


@pytest.mark.parametrize("id", list(solvers.SOLVERS))
def test_every_solver_gives_the_threads_back_also_when_it_is_left(problem, id):
    if id not in solvers.compatible(problem.loss.id, problem.penalty.id):
        pytest.skip(f"{id} takes other problems")
    iterates = solvers.make_solver(id).iterate(problem)
    next(iterates)
    assert blas_threads() == {2}
    iterates.close()
    del iterates
    assert blas_threads() == {2}


def test_a_solver_that_fails_gives_the_threads_back(problem):
    @dataclass(frozen=True)
    class Failing(solvers.Solver):
        id, name, summary = "failing", "Failing", "fails"

        def iterate(self, problem, w0=None):
            yield solvers.Iterate.at(problem.at(w0), 0)
            raise ArithmeticError

    iterates = Failing().iterate(problem)
    next(iterates)
    with pytest.raises(ArithmeticError):
        next(iterates)
    assert blas_threads() == {2}


def test_a_generator_may_be_advanced_by_one_thread_after_another(problem):
    seen.clear()
    iterates = Watching().iterate(problem)
    for _ in range(3):
        thread = threading.Thread(target=next, args=(iterates,))
        thread.start()
        thread.join()
    assert seen == [{1}] * 3
    assert blas_threads() == {2}


def test_the_last_thread_to_leave_lifts_the_limit_whichever_came_first():
    first, second = threading.Event(), threading.Event()

    def stay():
        with one_blas_thread():
            first.set()
            second.wait(10.0)

    thread = threading.Thread(target=stay)
    thread.start()
    first.wait(10.0)
    with one_blas_thread():
        second.set()
        thread.join()
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_the_limit_costs_next_to_nothing():
    """The least of several rounds, in CPU seconds: a search for thread pools would take a millisecond."""

    def seconds_each(rounds=5, times=200):
        found = []
        for _ in range(rounds):
            began = time.thread_time()
            for _ in range(times):
                with one_blas_thread():
                    pass
            found.append((time.thread_time() - began) / times)
        return min(found)

    assert seconds_each() < 100e-6
    with one_blas_thread():
        assert seconds_each() < 20e-6


def test_a_dense_solver_uses_the_cpu_of_one_thread_by_hand():
    """The helpers of BLAS would add theirs to it."""

    @dataclass(frozen=True)
    class Multiplying(solvers.Solver):
        id, name, summary = "multiplying", "Multiplying", "multiplies matrices"

        def iterate(self, problem, w0=None):
            point, A = problem.at(w0), np.ones((400, 400))
            while True:
                A = np.tanh(A @ A)
                yield solvers.Iterate.at(point, 0)

    iterates = Multiplying().iterate(solvers.make_problem(binary(), lam_ratio=0.1))
    next(iterates)
    own, all_threads = time.thread_time(), time.process_time()
    for _ in range(30):
        next(iterates)
    own, all_threads = time.thread_time() - own, time.process_time() - all_threads
    assert all_threads < 1.3 * own
