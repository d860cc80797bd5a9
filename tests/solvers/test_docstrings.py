"""Docstrings of what users call: their examples run, and they say what goes in and comes out."""

from __future__ import annotations

import doctest
import inspect
import io

import pytest

from solverscope import solvers
from solverscope.solvers import estimators
from solverscope.solvers.methods.descent.loop import Descent

#: What users call most: each has an example.
MOST_CALLED = {"Run", "Stopping", "Trace", "make_solver", "solve", "solve_path"}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples() -> dict[str, doctest.DocTest]:
    """The docstrings with examples, by name, of everything exported, its methods included."""
    finder, exported = doctest.DocTestFinder(), [Descent]
    exported += [getattr(solvers, name) for name in solvers.__all__]
    exported += [getattr(estimators, name) for name in estimators.__all__]
    found = [
        test
        for thing in exported
        if inspect.isclass(thing) or inspect.isfunction(thing)
        for test in finder.find(thing, thing.__name__, module=inspect.getmodule(thing), globs={})
    ]
    return {test.name: test for test in found if test.examples}


EXAMPLES = examples()


def test_what_users_call_most_has_an_example():
    assert set(EXAMPLES) >= MOST_CALLED


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_as_it_is_printed(name):
    said = io.StringIO()
    doctest.DocTestRunner(verbose=False, optionflags=OPTIONS).run(EXAMPLES[name], out=said.write)
    assert not said.getvalue()


@pytest.mark.parametrize("name", [n for n in solvers.__all__ if inspect.isfunction(getattr(solvers, n))])
def test_a_function_lists_its_parameters(name):
    function = getattr(solvers, name)
    said = inspect.getdoc(function)
    _, _, section = said.partition("Parameters\n----------\n")
    section, _, _ = section.partition("\n\n")
    listed = {
        n.strip() for line in section.splitlines() if line[:1] != " " for n in line.split(" :")[0].split(",")
    }
    assert listed == set(inspect.signature(function).parameters)
