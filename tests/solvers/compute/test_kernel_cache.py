"""A damaged cache of compiled kernels costs a compilation and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = """
import sys
from pathlib import Path
sys.path[:0] = [{root!r}, {folder!r}]
from solvers.compute import jit
import own_kernels
print(own_kernels.outer(3.0), own_kernels.outer.stats.cache_hits.total())
"""
KERNELS = """
from solvers.compute.jit import kernel

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
    script = SCRIPT.format(root=str(Path(__file__).resolve().parents[3]), folder=str(folder))
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


def test_what_is_not_damaged_is_read(cache):
    assert call(cache) == ("10.0", True, "")


@pytest.mark.parametrize(("which", "how"), [(".nbi", "cut"), (".nbc", "flipped"), (".nbc", "empty")])
def test_a_damaged_file_is_thrown_away_and_made_again(cache, which, how):
    rng = np.random.default_rng(0)
    for path in files(cache):
        if path.suffix == which:
            path.write_bytes(damage(path.read_bytes(), how, rng))
    value, cached, err = call(cache)
    assert (value, cached) == ("10.0", False)
    assert err.count("damaged") == 1
    assert err.count("\n") == 1


def test_a_file_in_the_place_of_the_folder_is_done_without(cache, tmp_path):
    (tmp_path / "file").write_text("")
    value, _, err = call(cache, NUMBA_CACHE_DIR=str(tmp_path / "file"))
    assert value == "10.0"
    assert "Traceback" not in err
