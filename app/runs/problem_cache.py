"""The cache of data sets and problems, which are built once and shared by all sessions of a server."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from solverscope import datasets, solvers
from solverscope.app.runs.budget import budget, footprint, size_of
from solverscope.app.runs.pool import WORKER_POLL_SECONDS
from solverscope.app.settings.own_file_names import named
from solverscope.app.settings.recipe import Recipe, info_of
from solverscope.solvers.compute.team import no_pulse

#: Weights up to which another λ is cheap enough for the page's own thread.
MAX_QUICK_WEIGHTS = 1_000_000

T = TypeVar("T")


class LruCache:
    """A thread-safe cache: each value is computed once, by the first thread that requests it.

    The least recently used values are dropped if the total size in bytes exceeds ``room()``.
    """

    def __init__(self, room: Callable[[], float], nbytes: Callable[[Any], int] = footprint) -> None:
        self._lock = threading.Lock()
        self._room, self._nbytes = room, nbytes
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._makers: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, make: Callable[[], T], pulse: Callable[[], None] = no_pulse) -> T:
        """Return the cached value of a key; if there is none, cache the result of ``make()``.

        While another thread computes the value, ``pulse`` is called repeatedly. It may raise to cancel the
        wait, or release the caller's slot, which the other thread may need.
        """
        with self._lock:
            maker = self._makers.setdefault(key, threading.Lock())
        while not maker.acquire(timeout=WORKER_POLL_SECONDS):
            pulse()
        try:
            with self._lock:
                if key in self._values:
                    self._values.move_to_end(key)
                    return self._values[key][0]
            value = make()
            nbytes = self._nbytes(value)
            with self._lock:
                self._values[key] = value, nbytes
                while sum(size for _, size in self._values.values()) > self._room():
                    self._values.popitem(last=False)
            return value
        finally:
            with self._lock:  # threads that wait know the lock already; later ones find the value, if any
                self._makers.pop(key, None)
            maker.release()

    def peek(self, key: Hashable) -> Any:
        """Return the cached value of a key, or None, without computing it or waiting for it."""
        with self._lock:
            return self._values.get(key, (None, 0))[0]

    def drop(self, id: str) -> None:
        """Drop the values of a data set whose file has been deleted."""
        with self._lock:
            for key in [key for key in self._values if isinstance(key, tuple) and key[0] == id]:
                del self._values[key]

    def clear(self) -> None:
        """Drop all values from the cache."""
        with self._lock:
            self._values.clear()


#: The cache of this process.
cache = LruCache(lambda: budget.kept)


def load(setting: Recipe, progress: Callable[[str, float | None], None] | None = None) -> datasets.Dataset:
    """Return the data of ``setting``, from the cache if possible; ``progress`` is passed on to
    ``datasets.load``.

    The name of data from a file is the file's name without the folder. Raises ValueError if the data cannot
    be loaded (datasets.DataError), or, before loading them, if they exceed the server's budget.
    """

    def make() -> datasets.Dataset:
        info = info_of(setting.data)
        budget.room(info.name, info.estimate(**setting.options), cache.clear)
        try:
            data = setting.load(progress)
        except datasets.DataError as error:
            said = str(error)
            for path in info.paths:
                said = said.replace(path, Path(path).name)
            raise datasets.DataError(said) from None
        return replace(data, id=named(setting.data), source=info.name) if info.paths else data

    return cache.get(_data_key(setting), make)


def problem(
    data: datasets.Dataset, setting: Recipe, pulse: Callable[[], None] | None = None
) -> solvers.Problem:
    """Return the problem of ``setting`` on ``data``, from the cache if possible.

    Problems that differ only in λ share data and products. ``pulse`` is used as in :func:`variant`. Raises
    ValueError if the problem exceeds the server's budget.
    """

    def make() -> solvers.Problem:
        name, size = info_of(setting.data).name, size_of(data)
        budget.room(name, size, cache.clear)
        made = replace(setting, lam=None, threads=1).make(data, pulse=pulse or no_pulse)
        # its copies at other λ share this array, which lives until the last of them is gone
        budget.count(made.design.edges, footprint(data, made))
        return made

    made = cache.get(_problem_key(data, setting), make, pulse or no_pulse)
    return variant(made, setting, pulse)


def cached(setting: Recipe) -> tuple[datasets.Dataset, solvers.Problem] | None:
    """Return data and problem of ``setting``, or None if one is not cached or a change of λ would be slow."""
    data = cache.peek(_data_key(setting))
    base = None if data is None else cache.peek(_problem_key(data, setting))
    return (
        None
        if data is None or base is None or base.size > MAX_QUICK_WEIGHTS
        else (data, variant(base, setting))
    )


def _data_key(setting: Recipe) -> Hashable:
    return setting.data, tuple(sorted(setting.options.items())), setting.seed


def _problem_key(data: datasets.Dataset, setting: Recipe) -> Hashable:
    return setting.data, data.digest, replace(setting, lam=None, threads=1).key


def variant(
    base: solvers.Problem, setting: Recipe, pulse: Callable[[], None] | None = None
) -> solvers.Problem:
    """Return ``base`` with the penalty, λ and threads of ``setting``; if λ is None, it does not change.

    Data and products are shared. For a huge problem, a new penalty or λ requires a gradient for all weights,
    so ``pulse`` is called meanwhile, and may raise. The returned problem does not refer to ``pulse``, as it
    may outlive the worker that owns it.
    """
    made = base if pulse is None else base.with_pulse(pulse)
    if setting.penalty != made.penalty.id:
        made = made.with_penalty(solvers.PENALTIES[setting.penalty](**setting.penalty_params))
    if setting.lam is not None and made.penalty.takes_lam and setting.lam != made.lam:
        made = made.at_lam(setting.lam)
    if setting.threads != made.team.threads:
        made = made.with_threads(setting.threads)
    made.violation_at_zero()  # here, where it may take a while, not when the page shows λ_max
    return made if pulse is None else made.with_pulse(base.pulse)
