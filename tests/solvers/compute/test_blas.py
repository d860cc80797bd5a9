"""BLAS keeps to one thread wherever a solver is advanced, and gets its threads back in between."""

import threading
from dataclasses import dataclass

import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from solverscope import solvers
from solverscope.solvers.compute import blas
from solverscope.solvers.compute.blas import one_blas_thread
from tests.solvers.helpers import HERE, binary, posed_to


def blas_threads():
    """Threads of the libraries that can have some: a package may bring one built without."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {pool["num_threads"] for pool in pools if pool.get("threading_layer") != "disabled"}


@pytest.fixture(autouse=True)
def two_threads():
    for pool in ThreadpoolController().lib_controllers:
        blas.take_control(pool)  # a thread of another test may live on and hold it
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


@pytest.mark.parametrize("id", HERE)
def test_every_solver_gives_the_threads_back_also_when_it_is_left(id):
    iterates = solvers.make_solver(id).iterate(posed_to(id))
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
            second.wait(60)

    thread = threading.Thread(target=stay)
    thread.start()
    first.wait(60)
    with one_blas_thread():
        second.set()
        thread.join()
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_thread_pools_are_searched_for_once(monkeypatch):
    """A search takes a millisecond, as long as many an iteration."""
    with one_blas_thread():
        searched = []
        monkeypatch.setattr(blas, "ThreadpoolController", lambda: searched.append(1))
    for _ in range(100):
        with one_blas_thread(), one_blas_thread():
            pass
    assert searched == []
