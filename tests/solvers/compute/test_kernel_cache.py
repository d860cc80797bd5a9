"""A damaged cache of compiled kernels costs a compilation and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from solverscope.solvers.compute import kernel_cache

SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {folder!r})
from solverscope.solvers.compute import jit
import own_kernels
print(own_kernels.outer(3.0), own_kernels.outer.stats.cache_hits.total())
"""
KERNELS = """
from solverscope.solvers.compute.jit import kernel

@kernel
def inner(x):
    return x * x

@kernel
def outer(x):
    return inner(x) + 1.0
"""
SCRIPT = SCRIPT.replace(".total()", "")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A module with kernels of its own, and the folder they are cached in, by a run that filled it."""
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "own_kernels.py").write_text(KERNELS)
    assert call(folder) == ("10.0", False, "")
    return folder


def call(folder, **environment):
    """What the outer kernel gives, whether it came from the cache, and standard error."""
    script = SCRIPT.format(folder=str(folder))
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), **environment},
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    value, _, hits = done.stdout.strip().partition(" ")
    return value, "float64" in hits, done.stderr


def files(folder):
    return sorted(p for p in (folder / "cache").rglob("*.nb?") if p.name.startswith("own_kernels"))


def damage(content, how, rng):
    if how == "cut":
        return content[: rng.integers(len(content))]
    if how == "empty":
        return b""
    changed = bytearray(content)
    for place in rng.choice(len(content), min(200, len(content)), replace=False):
        changed[place] ^= rng.integers(1, 256)
    return bytes(changed)


NEWER = """
from numba.core import caching
caching.IndexDataCacheFile = type("Newer", (caching.IndexDataCacheFile,), {{}})
"""


def test_a_cache_that_is_not_known_is_left_as_it_is_with_one_line(cache, monkeypatch, tmp_path):
    monkeypatch.setattr(sys.modules[__name__], "SCRIPT", NEWER + SCRIPT)
    value, _, said = call(cache, NUMBA_CACHE_DIR=str(tmp_path))
    assert value == "10.0"
    assert said.startswith("left out kernel_cache: numba ")
    assert said.count("\n") == 1


def test_the_cache_that_is_installed_is_the_known_one():
    assert kernel_cache.found() in kernel_cache.DIGESTS
    assert kernel_cache.lean()


def test_what_is_not_damaged_is_read(cache):
    assert call(cache) == ("10.0", True, "")


@pytest.mark.parametrize(
    "how", ["flipped", *(pytest.param(how, marks=pytest.mark.slow) for how in ("cut", "empty"))]
)
def test_a_damaged_file_is_thrown_away_and_made_again(cache, how):
    rng = np.random.default_rng(0)
    assert files(cache)
    for path in files(cache):
        path.write_bytes(damage(path.read_bytes(), how, rng))
    value, cached, err = call(cache)
    assert (value, cached) == ("10.0", False)
    assert err.count("damaged") == 1
    assert err.count("\n") == 1


def test_two_processes_that_save_at_once_never_get_each_others_code(tmp_path, monkeypatch):
    """Both have looked at what is there before one writes, and one writes all its files in between those of
    the other."""
    replace, looked, began, done = os.replace, threading.Barrier(2), threading.Event(), threading.Event()
    files = {"first": 0, "second": 0}

    def in_turns(source, target):
        who = threading.current_thread().name
        files[who] += 1
        if files[who] == 1:
            looked.wait(60)
        if who == "second":
            began.wait(60)
        elif files[who] > 1:
            done.wait(60)
        replace(source, target)
        began.set()

    def save(key):
        kernel_cache.CheckedFiles(str(tmp_path), "kernel-1.py311", 0).save(key, f"code of {key}")
        if threading.current_thread().name == "second":
            done.set()

    monkeypatch.setattr(os, "replace", in_turns)
    keys = {"first": "float64", "second": "int64"}
    threads = [threading.Thread(target=save, args=(key,), name=name) for name, key in keys.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    read = kernel_cache.CheckedFiles(str(tmp_path), "kernel-1.py311", 0)
    assert {key: read.load(key) for key in keys.values()} == {key: f"code of {key}" for key in keys.values()}


def test_code_of_another_source_or_of_another_signature_by_the_same_name_is_not_run(tmp_path):
    old, new = (kernel_cache.CheckedFiles(str(tmp_path), "kernel-1.py311", stamp) for stamp in (0, 1))
    old.save("float64", "old")
    assert new.load("float64") is None
    assert old.load("float64") == "old"

    class Alike(str):
        """A type that is written like another."""

        def __eq__(self, other):
            return self is other

        __hash__ = str.__hash__

    assert old.load(Alike("float64")) is None


def test_a_file_in_the_place_of_the_folder_is_done_without(cache, tmp_path):
    (tmp_path / "file").write_text("")
    value, _, err = call(cache, NUMBA_CACHE_DIR=str(tmp_path / "file"))
    assert value == "10.0"
    assert "Traceback" not in err
