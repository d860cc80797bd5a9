"""The examples of docstrings run as they stand."""

from __future__ import annotations

import doctest
import importlib

import pytest

from solverscope import datasets

MODULES = ("dataset", "matrix", "metrics", "options", "registry")


@pytest.fixture
def registered():
    """What an example registers is gone afterwards."""
    before = dict(datasets.DATASETS)
    yield
    datasets.DATASETS.clear()
    datasets.DATASETS.update(before)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_docstrings_run(name, registered):
    module = importlib.import_module(f"solverscope.datasets.{name}")
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
