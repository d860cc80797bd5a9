"""Work within a share of the solver's time."""

import pytest

from solverscope.solvers.runs.cpu_budget import CpuBudget


def test_work_is_allowed_while_one_more_of_its_kind_fits_into_the_share(clock):
    budget = CpuBudget(0.5)
    assert budget.allows(0.0)
    with budget.charged():
        clock.work(2.0)
        clock.idle(100.0)
    assert budget.spent == 2.0
    assert not budget.allows(7.9)
    assert budget.allows(8.0), "twice 2 seconds are half of 8"


def test_work_that_fails_is_charged(clock):
    budget = CpuBudget(0.5)

    def fail():
        clock.work(1.0)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), budget.charged():
        fail()
    assert budget.spent == 1.0
