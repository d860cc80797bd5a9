from functools import lru_cache

import pytest

from solverscope import datasets

load_once = lru_cache(maxsize=8)(datasets.load)


@pytest.fixture(autouse=True)
def home(tmp_path_factory, monkeypatch):
    """Downloads and caches of the user stay out of the tests."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("SOLVERSCOPE_HOME", str(folder))
    return folder


@pytest.fixture
def load_real():
    """datasets.load of a set whose files are in SOLVERSCOPE_DATA; the test is skipped where they are not."""

    def load(id, **options):
        available, reason = datasets.describe(id).available(
            **{k: v for k, v in options.items() if k != "seed"}
        )
        if not available:
            pytest.skip(reason)
        return load_once(id, **options)

    return load
