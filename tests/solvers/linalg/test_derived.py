"""What is derived from the data once is set-up of every run that uses it, whichever came first."""

import threading

import pytest

from solverscope import solvers
from solverscope.solvers.linalg import by_rows as module
from solverscope.solvers.linalg.derived import Derived
from tests.solvers.helpers import binary

SECONDS = 0.3


@pytest.fixture
def slow_transposition(monkeypatch, clock):
    made = []
    transpose = module.transpose

    def slow(*args):
        made.append(1)
        clock.work(SECONDS)
        return transpose(*args)

    monkeypatch.setattr(module, "transpose", slow)
    return made


@pytest.mark.parametrize("id", ["sgd-l1", "fobos"])
@pytest.mark.parametrize("eta0", [0.0, 0.05])
def test_rows_are_made_once_and_charged_to_all_as_set_up(slow_transposition, id, eta0):
    problem = solvers.make_problem(binary(), lam_ratio=0.1)
    solvers.solve(problem.at_lam(0.5 * problem.lam), solvers.make_solver("prox-gd"), max_iter=1)
    assert not slow_transposition
    traces = [
        solvers.solve(problem, solvers.make_solver(id, eta0=eta0), tol=0.0, max_iter=3) for _ in range(3)
    ]
    # the tiny copy on which kernels are compiled has rows of its own
    assert len(slow_transposition) == 1 + len(traces)
    for trace in traces:
        assert trace.result["cpu_seconds"] == pytest.approx(0.0, abs=1e-9)
        assert trace.result["wall_seconds"] == pytest.approx(0.0, abs=1e-9)
        assert trace.result["setup_seconds"] == pytest.approx(SECONDS)


def test_solvers_that_do_not_walk_over_rows_pay_nothing_for_them(slow_transposition):
    problem = solvers.make_problem(binary(), lam_ratio=0.1)
    solvers.solve(problem, solvers.make_solver("sgd-l1", eta0=0.05), max_iter=1)
    trace = solvers.solve(problem, solvers.make_solver("bcd-ls"), max_iter=1)
    assert trace.result["setup_seconds"] == pytest.approx(0.0, abs=1e-9)


def test_two_users_at_once_share_one_making(clock):
    shared, made = Derived(), []
    users = [shared.attached() for _ in range(4)]

    def make():
        made.append(1)
        clock.work(SECONDS)
        return "thing"

    threads = [threading.Thread(target=user, args=("name", make)) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]
    assert [user.setup_seconds for user in users] == pytest.approx([SECONDS] * 4)
    assert sum(user.spent[1] for user in users) == pytest.approx(SECONDS), "one makes it, the others wait"


def test_what_fails_to_be_made_is_made_at_the_next_call():
    derived = Derived()

    def fail():
        raise MemoryError

    with pytest.raises(MemoryError):
        derived("name", fail)
    assert derived("name", lambda: 7) == 7
