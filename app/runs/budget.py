"""How much memory problems may take: one of them, and all that a server holds."""

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
from solverscope.app.serving.serve_options import MEMORY, USUAL_MEMORY, Serving
from solverscope.datasets.size import Size

#: Bytes that an entry of X takes while a problem is made of it, as measured; arrays of scores (rows times
#: outputs) and vectors of all weights that making it and a first run take.
ENTRY, SCORES, VECTORS = 40, 3, 3
#: Shares of a server's memory: of one problem with a run on it, and of what is kept for the next visitor.
ONE, KEPT = 1 / 2, 1 / 4


class Budget:
    """What one server may hold. ``held`` is what was made and is still in use, or kept."""

    def __init__(self, memory: int = USUAL_MEMORY) -> None:
        self.memory = memory
        self.held = 0
        self._lock = threading.Lock()

    @property
    def kept(self) -> int:
        """Return the bytes to keep for the next visitor."""
        return int(self.memory * KEPT)

    def check(self, name: str, size: Size) -> None:
        """Refuse a problem of this size, before it is made. Raises ValueError, one sentence that says what to
        change."""
        wanted, allowed = cost(size), int(self.memory * ONE)
        if wanted > allowed:
            raise ValueError(
                f"{name} would take {gib(wanted)} of memory ({size_in_words(size)}), and one problem may "
                f"take {gib(allowed)} here: {advice(size)}, or start the server with a larger {MEMORY}"
            )

    def room(self, name: str, size: Size, give_up: Callable[[], None]) -> None:
        """Refuse a problem of this size, before it is made, also where the server has no room for it beside
        all that is in use, after ``give_up()`` has dropped what is only kept. Raises ValueError, one
        sentence."""
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
        """Count bytes as held for as long as ``owner`` lives."""
        with self._lock:
            self.held += nbytes
        weakref.finalize(owner, self._release, nbytes)

    def _release(self, nbytes: int) -> None:
        with self._lock:
            self.held -= nbytes


def cost(size: Size) -> int:
    """Estimate the bytes that making a problem of this size, and a run on it, take at most at a time."""
    weights = 8 * VECTORS * size.features * size.outputs
    return ENTRY * size.nonzeros + weights + 8 * SCORES * size.rows * size.outputs


def size_of(data: datasets.Dataset) -> Size:
    """Return the size of a loaded data set."""
    outputs = 1 if data.kind == "binary" else data.n_classes
    parts = [part for part in (data.train, data.test) if part is not None]
    nonzeros = sum(part.X.nnz if hasattr(part.X, "nnz") else part.X.size for part in parts)
    by = [name for name, value in (("degree", 2), ("preset", "paper")) if data.options.get(name) == value]
    return Size(sum(part.X.shape[0] for part in parts), data.n_features, outputs, nonzeros, tuple(by))


def size_in_words(size: Size) -> str:
    """Say what makes a data set large."""
    weights, scores = size.features * size.outputs, size.rows * size.outputs
    parts = [
        (VECTORS * 8 * weights, f"{weights:,} weights: {size.features:,} features times {size.outputs:,}"),
        (ENTRY * size.nonzeros, f"{size.nonzeros:,} non-zeros"),
        (SCORES * 8 * scores, f"{scores:,} scores: {size.rows:,} rows times {size.outputs:,} outputs"),
    ]
    return max(parts)[1]


def advice(size: Size) -> str:
    """Say what to change for a smaller problem."""
    names = list(size.by[:3])
    if "degree" in names:
        return "take degree=1"
    if not names:
        return "choose a smaller data set, or one class against the rest (positive)"
    return "lower " + (" or ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0])


def gib(nbytes: int) -> str:
    """Return a size as a person reads it."""
    return f"{nbytes / 2**30:.1f} GiB" if nbytes >= 2**30 else f"{nbytes / 2**20:.0f} MiB"


#: Not looked into: they belong to the program, not to the thing measured.
_PROGRAM = (type, types.ModuleType, types.BuiltinFunctionType, threading.Thread, type(threading.Lock()))


def footprint(*things: Any) -> int:
    """Count the bytes of these things and of all they refer to, arrays that are views counted with what they
    show."""
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


#: Of this process.
budget = Budget(Serving.from_arguments([]).memory)
