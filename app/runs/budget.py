"""The memory budget of problems: of a single one, and of all problems of a server."""

from __future__ import annotations

import gc
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from solverscope import datasets
from solverscope.app.serving.serve_options import MEMORY_FLAG, USUAL_MEMORY, Serving
from solverscope.datasets.size import Size

#: Bytes that an entry of X takes while a problem is made of it, as measured; arrays of scores (rows times
#: outputs) and vectors of all weights that making it and a first run take.
BYTES_PER_ENTRY, SCORE_ARRAYS, WEIGHT_VECTORS = 40, 3, 3
#: Fractions of a server's memory: for one problem with a run on it, and for the cache.
MAX_PROBLEM_SHARE, CACHE_SHARE = 1 / 2, 1 / 4


class Budget:
    """The memory that a server may use; ``held`` is the memory of problems that are in use or cached."""

    def __init__(self, memory: int = USUAL_MEMORY) -> None:
        self.memory = memory
        self.held = 0
        self._lock = threading.Lock()

    @property
    def kept(self) -> int:
        """Return the size of the cache in bytes."""
        return int(self.memory * CACHE_SHARE)

    def check(self, name: str, size: Size) -> None:
        """Raise ValueError if a problem of this size is too large; the message explains how to shrink it."""
        wanted, allowed = cost(size), int(self.memory * MAX_PROBLEM_SHARE)
        if wanted > allowed:
            raise ValueError(
                f"{name} would take {gib(wanted)} of memory ({size_in_words(size)}), and one problem may "
                f"take {gib(allowed)} here: {advice(size)}, or start the server with a larger {MEMORY_FLAG}"
            )

    def room(self, name: str, size: Size, give_up: Callable[[], None]) -> None:
        """Raise ValueError if a problem of this size is too large, or not enough memory is free.

        If memory is short, ``give_up()`` is called first, which drops problems that are only cached.
        """
        self.check(name, size)
        if self.held + cost(size) > self.memory:
            give_up()
            gc.collect()
        if self.held + cost(size) > self.memory:
            raise ValueError(
                f"{name} would take {gib(cost(size))} of memory, and problems of other pages hold "
                f"{gib(self.held)} of the {gib(self.memory)} this server may use: "
                "close other pages, or try again later"
            )

    def count(self, owner: Any, nbytes: int) -> None:
        """Add bytes to ``held`` until ``owner`` is garbage-collected."""
        with self._lock:
            self.held += nbytes
        weakref.finalize(owner, self._release, nbytes)

    def _release(self, nbytes: int) -> None:
        with self._lock:
            self.held -= nbytes


def cost(size: Size) -> int:
    """Estimate the peak memory in bytes of building a problem of this size and starting a run."""
    weights = 8 * WEIGHT_VECTORS * size.features * size.outputs
    return BYTES_PER_ENTRY * size.nonzeros + weights + 8 * SCORE_ARRAYS * size.rows * size.outputs


def size_of(data: datasets.Dataset) -> Size:
    """Return the size of a loaded data set."""
    outputs = 1 if data.kind == "binary" else data.n_classes
    parts = [part for part in (data.train, data.test) if part is not None]
    nonzeros = sum(part.X.nnz if hasattr(part.X, "nnz") else part.X.size for part in parts)
    by = [name for name, value in (("degree", 2), ("preset", "paper")) if data.options.get(name) == value]
    return Size(sum(part.X.shape[0] for part in parts), data.n_features, outputs, nonzeros, tuple(by))


def size_in_words(size: Size) -> str:
    """Describe the size of a data set by the quantities that make it large."""
    weights, scores = size.features * size.outputs, size.rows * size.outputs
    parts = [
        (
            WEIGHT_VECTORS * 8 * weights,
            f"{weights:,} weights: {size.features:,} features times {size.outputs:,}",
        ),
        (BYTES_PER_ENTRY * size.nonzeros, f"{size.nonzeros:,} non-zeros"),
        (SCORE_ARRAYS * 8 * scores, f"{scores:,} scores: {size.rows:,} rows times {size.outputs:,} outputs"),
    ]
    return max(parts)[1]


def advice(size: Size) -> str:
    """Return advice on how to make the problem smaller."""
    names = list(size.by[:3])
    if "degree" in names:
        return "take degree=1"
    if not names:
        return "choose a smaller data set, or one class against the rest (positive)"
    return "lower " + (" or ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0])


def gib(nbytes: int) -> str:
    """Format a number of bytes in GiB or MiB."""
    return f"{nbytes / 2**30:.1f} GiB" if nbytes >= 2**30 else f"{nbytes / 2**20:.0f} MiB"


#: Objects that are not measured: they belong to the program.
_PROGRAM = (type, types.ModuleType, types.BuiltinFunctionType, threading.Thread, type(threading.Lock()))


def footprint(*things: Any) -> int:
    """Return the total size in bytes of these objects and all that they refer to.

    For a view of an array, its whole base is included.
    """
    total, seen, todo = 0, set[int](), list(things)
    while todo:
        thing = todo.pop()
        while isinstance(thing, np.ndarray) and thing.base is not None:
            thing = thing.base
        if id(thing) in seen or isinstance(thing, _PROGRAM):
            continue
        seen.add(id(thing))
        if isinstance(thing, types.FunctionType):
            todo += [cell for cell in thing.__closure__ or ()]
            continue
        total += thing.nbytes if isinstance(thing, np.ndarray) else sys.getsizeof(thing, 0)
        todo += gc.get_referents(thing)
    return total


#: The budget of this process.
budget = Budget(Serving.from_arguments([]).memory)
