"""Folders of dropped files go with their page, and at the next start where their server was killed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from solverscope.app.files.upload_dirs import DIR_PREFIX, UploadDir, remove_lost
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
SERVER = """
import sys
from solverscope.app.files.upload_dirs import UploadDir
folder = UploadDir()
(folder.path / "1").mkdir()
(folder.path / "1" / "mine.svm").write_text("1 1:1")
print(folder.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Where this process, and those that it starts, have their folders."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def server(places):
    """A process with a file that was dropped, and its folder."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", SERVER], cwd=ROOT, **pipes)
    yield process, Path(process.stdout.readline().strip())
    process.kill()
    process.communicate()


def test_a_folder_is_there_until_its_page_is_gone(places):
    folder = UploadDir()
    (folder.path / "mine.svm").write_text("1 1:1")
    remove_lost()
    assert (folder.path / "mine.svm").exists()
    folder.remove()
    assert list(places.iterdir()) == []


def test_the_folder_of_a_server_that_was_killed_goes_and_no_other(places, server):
    process, lost = server
    other = UploadDir()
    remove_lost()
    assert (lost / "1" / "mine.svm").exists()
    process.kill()
    process.communicate()
    remove_lost()
    assert list(places.iterdir()) == [other.path]
    other.remove()


def test_what_is_no_folder_of_a_server_is_left_alone(places, tmp_path_factory):
    mine = tmp_path_factory.mktemp("mine")
    for name in ("held", "precious"):
        (mine / name).write_text("mine")
    (places / f"{DIR_PREFIX}link").symlink_to(mine, target_is_directory=True)
    (places / f"{DIR_PREFIX}file").write_text("mine")
    (places / f"{DIR_PREFIX}other").mkdir()
    (places / "another").mkdir()
    remove_lost()
    assert len(list(places.iterdir())) == 4
    assert sorted(path.name for path in mine.iterdir()) == ["held", "precious"]


@pytest.mark.slow
def test_a_server_that_starts_clears_up_after_one_that_was_killed(places, server, tmp_path_factory):
    from tests.app.conftest import Served

    process, lost = server
    process.kill()
    process.communicate()
    served = Served(tmp_path_factory.mktemp("served") / "log")
    wait_until(lambda: not lost.exists())  # it takes connections before it has cleared up
    served.stop()
