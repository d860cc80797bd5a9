"""Files that are replaced as a whole or not at all."""

from __future__ import annotations

import errno
import os
import resource
import stat
from contextlib import contextmanager

import pytest

from solverscope import solvers
from solverscope.solvers.compute.atomic_files import NotWritten, replacing


@contextmanager
def small_files():
    """No file may grow beyond 4 kB, as if the disk were full from there on: not even that of the tests' own
    output, so the block holds nothing but what is tested."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def trace():
    """A trace of a few hundred iterates."""
    record = {"objective": 1.0, "loss": 1.0, "penalty": 0.0, "cpu_seconds": 0.1, "wall_seconds": 0.1}
    records = [{"iteration": k, **record, "objective": 1.0 / (k + 1)} for k in range(500)]
    info = {"label": "run", "solver": "prox-gd", "params": {}, "problem": {"type": "problem"}}
    return solvers.Trace.from_records(records, **info)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "npz"])
@pytest.mark.parametrize("old", [None, b"what was there"])
def test_a_disk_that_fills_up_leaves_the_old_file_and_nothing_else(tmp_path, trace, ending, old):
    path = tmp_path / f"trace.{ending}"
    if old is not None:
        path.write_bytes(old)
    refusal = r"trace\.\w+ was not written, for .*: .* is (kept|left)"
    with pytest.raises(OSError, match=refusal) as error, small_files():
        trace.save(path)
    assert "\n" not in str(error.value)
    assert isinstance(error.value, NotWritten)
    assert os.listdir(tmp_path) == ([] if old is None else [path.name])
    assert old is None or path.read_bytes() == old


@pytest.mark.parametrize("ending", ["jsonl", "csv", "npz"])
def test_a_new_file_takes_the_place_of_the_old_one_with_its_rights(tmp_path, trace, ending):
    path, link = tmp_path / f"trace.{ending}", tmp_path / f"link.{ending}"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    trace.save(link)
    assert link.is_symlink()
    assert path.stat().st_size > 1000
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, link.name])


def test_a_new_file_has_the_rights_that_new_files_have(tmp_path):
    with replacing(tmp_path / "ours") as file:
        file.write("x")
    (tmp_path / "plain").write_text("x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("wrong"), OSError(errno.ENOSPC, "full")])
def test_whatever_goes_wrong_leaves_what_was_there(tmp_path, error):
    path = tmp_path / "file"
    path.write_text("old")

    def write():
        with replacing(path) as file:
            file.write("new")
            raise error

    with pytest.raises((type(error), NotWritten)):
        write()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_place_that_is_no_file_is_refused_before_anything_runs(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match="choose a file that may be written"):
        solvers.traces.trace.checked_path(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match="choose another name"):
        solvers.traces.trace.checked_path(tmp_path / f"{'a' * 300}.csv")
