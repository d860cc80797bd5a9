"""The source of a user's class."""

from __future__ import annotations

from solverscope import solvers
from solverscope.solvers.compute import user_code
from solverscope.solvers.compute.user_code import functions_of


def test_functions_of_a_file_are_found_behind_what_decorates_them():
    solver = solvers.SOLVERS["prox-gd"]  # `register` has wrapped its iterate
    file = solver.iterate.__wrapped__.__code__.co_filename
    names = {code.co_name for code in functions_of(solver, file)}
    assert "iterate" in names
    assert functions_of(solver, user_code.__file__) == set()
