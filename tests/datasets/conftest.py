import pytest


@pytest.fixture(autouse=True)
def home(tmp_path_factory, monkeypatch):
    """Downloads and caches of the user stay out of the tests."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("SOLVERSCOPE_HOME", str(folder))
    return folder
