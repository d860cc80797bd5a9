"""The compilation of kernels, and the folder of Numba's cache.

Numba does not notice that a helper in another file has changed. So its cache is in a folder named after a
hash of all sources of ``solvers``: after any edit the folder is a new one, and no kernel is stale. Nor does
Numba notice that a file of its cache is damaged, and would run its code. So all kernels that the process
caches from here on are stored with a digest (see :mod:`.kernel_cache`).
"""

import hashlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, Protocol

import numba
import platformdirs
from numba.core import config, event

from . import kernel_cache

P = ParamSpec("P")

PACKAGE = Path(__file__).resolve().parents[1]


def source_hash() -> str:
    """Return a hash of all Python sources below ``solvers/``, 16 hexadecimal digits.

    The hash includes the version of Numba, and the name under which the package is imported: a cached kernel
    contains the names of modules.
    """
    digest = hashlib.sha256(f"{numba.__version__} {__name__}".encode())
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


if "NUMBA_CACHE_DIR" not in os.environ:
    folder = str(platformdirs.user_cache_path("solverscope") / "numba" / source_hash())
    config.CACHE_DIR = folder  # pyright: ignore[reportAttributeAccessIssue] (Numba sets its options by name)

kernel_cache.apply()

#: How kernels are compiled: cached on disk, they run without the GIL, and 1/0 is inf as in IEEE 754 (the
#: algorithms compare such values; Python's ZeroDivisionError would end a run instead).
COMPILED = {"nogil": True, "cache": True, "error_model": "numpy", **kernel_cache.lean()}


class Compiler(Protocol):
    """The type of a decorator that compiles a function: it preserves the parameters, and returns any type."""

    def __call__(self, function: Callable[P, Any], /) -> Callable[P, Any]: ...


#: Decorator of every kernel.
kernel: Compiler = numba.njit(**COMPILED)

#: Decorator of a part of a kernel: compiled inside it alone, where a kernel would be compiled by itself and
#: once more inside each that calls it. It cannot leave out what is for arguments that are not None.
inlined: Compiler = numba.njit(**COMPILED, inline="always")


#: Decorator of a kernel whose sums may be taken in any order, several entries at a time by SIMD instructions.
reordered: Compiler = numba.njit(**COMPILED, fastmath={"reassoc"})


class CompileClock(event.Listener):
    """Wall and CPU seconds that each thread has spent in Numba's compiler."""

    def __init__(self) -> None:
        self._local = threading.local()

    def on_start(self, event) -> None:
        depth = getattr(self._local, "depth", 0)
        if depth == 0:
            self._local.began = (time.perf_counter(), time.thread_time())
        self._local.depth = depth + 1

    def on_end(self, event) -> None:
        self._local.depth -= 1
        if self._local.depth == 0:
            wall, cpu = self._local.began
            spent = self.spent()
            self._local.spent = (spent[0] + time.perf_counter() - wall, spent[1] + time.thread_time() - cpu)

    def spent(self) -> tuple[float, float]:
        """Return the wall and CPU seconds that the calling thread has spent compiling so far."""
        return getattr(self._local, "spent", (0.0, 0.0))

    def net(self) -> tuple[float, float]:
        """Return the wall and CPU clock of the calling thread, net of compiling."""
        wall, cpu = self.spent()
        return time.perf_counter() - wall, time.thread_time() - cpu


compile_clock = CompileClock()
event.register("numba:compile", compile_clock)
