"""A pytest decorator that turns each check into a test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .bank import checks_of


def parametrize_with_checks(tested: Sequence[Any]) -> Callable[..., Any]:
    """Return a pytest decorator that calls a test function with each tested object and each of its checks.

    Parameters
    ----------
    tested : sequence
        Solvers, losses and penalties, as objects or classes, and data sets.

    Returns
    -------
    decorator
        For a function of ``solver`` and ``check``. ``check(solver)`` raises AssertionError with its finding,
        and skips the test if it does not apply.

    Examples
    --------
    >>> from solverscope import solvers
    >>> @solvers.parametrize_with_checks([solvers.make_solver("prox-gd")])
    ... def test_my_solver(solver, check):
    ...     check(solver)
    """
    import pytest

    cases = [
        pytest.param(thing, check, id=f"{id}-{name}")
        for thing in tested
        for id, name, check in checks_of(thing)
    ]
    return pytest.mark.parametrize(("solver", "check"), cases)
