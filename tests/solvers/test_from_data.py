"""A problem that cannot fit is refused before anything is allocated, with what to change."""

from __future__ import annotations

import tracemalloc
from types import SimpleNamespace

import pytest

from solverscope import datasets, solvers

N = 60_000
TEXTS = {
    "svmlight": "".join(f"{i} {i}:1\n" for i in range(1, N)),
    "columns": "".join(f"w{i} T{i}\n" for i in range(N)) + "\nw T0\n",
}


@pytest.mark.parametrize("scheme", TEXTS)
def test_a_small_file_with_many_labels_is_refused_in_a_sentence(tmp_path, scheme):
    path = tmp_path / "own"
    path.write_text(TEXTS[scheme])
    options = {"kind": "multiclass"} if scheme == "svmlight" else {}
    data = datasets.load(f"{scheme}:{path}", **options)
    tracemalloc.start()
    try:
        refused = r"GiB where this machine has .*: take fewer features or classes"
        with pytest.raises(ValueError, match=refused):
            solvers.make_problem(data)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:  # all that comes later would be many times slower else
        tracemalloc.stop()


def test_what_fits_is_not_refused(monkeypatch):
    data = datasets.load("digits")
    needed = 8 * 3 * (64 * 10 + 1438 * 10)
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(total=needed))
    solvers.make_problem(data)
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(total=needed - 1))
    with pytest.raises(ValueError, match="digits makes 640 weights"):
        solvers.make_problem(data)
