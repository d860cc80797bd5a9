"""Data sets and problems, made once and shared by all sessions of the server."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from solverscope import datasets, solvers
from solverscope.app.runs.budget import budget, footprint, size_of
from solverscope.app.runs.pool import LOOK
from solverscope.app.settings.own_file_names import named
from solverscope.app.settings.recipe import Recipe, info_of
from solverscope.solvers.compute.team import no_pulse

#: Weights up to which another λ costs so little that it need not wait for a thread.
QUICK = 1_000_000

T = TypeVar("T")


class Shelf:
    """Values by key, each made once, by the first thread that needs it. The least recently used are dropped
    when all together take more bytes than ``room()``."""

    def __init__(self, room: Callable[[], float], nbytes: Callable[[Any], int] = footprint) -> None:
        self._lock = threading.Lock()
        self._room, self._nbytes = room, nbytes
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._makers: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, make: Callable[[], T], pulse: Callable[[], None] = no_pulse) -> T:
        """Return the value. ``pulse`` is called, and may raise, while another thread makes it: that one may
        need the slot of this one to go on."""
        with self._lock:
            maker = self._makers.setdefault(key, threading.Lock())
        while not maker.acquire(timeout=LOOK):
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
        """Return the value if it is there, else None; nothing is made, and no other thread is waited for."""
        with self._lock:
            return self._values.get(key, (None, 0))[0]

    def drop(self, id: str) -> None:
        """Drop the values of a data set: its file is gone."""
        with self._lock:
            for key in [key for key in self._values if isinstance(key, tuple) and key[0] == id]:
                del self._values[key]

    def clear(self) -> None:
        """Drop all values; what somebody uses stays as long as it is used."""
        with self._lock:
            self._values.clear()


#: Data and problems of this process.
shelf = Shelf(lambda: budget.kept)


def load(setting: Recipe, progress: Callable[[str, float | None], None] | None = None) -> datasets.Dataset:
    """Return the data of ``setting``, from memory if they were used lately; a file tells its name, and no
    folder of this machine. ``progress`` as of ``datasets.load``. Raises ValueError, one sentence:
    datasets.DataError, or that they are beyond the server's budget, in which case nothing has been made."""

    def make() -> datasets.Dataset:
        info = info_of(setting.data)
        budget.room(info.name, info.estimate(**setting.options), shelf.clear)
        try:
            data = setting.load(progress)
        except datasets.DataError as error:
            said = str(error)
            for path in info.paths:
                said = said.replace(path, Path(path).name)
            raise datasets.DataError(said) from None
        return replace(data, id=named(setting.data), source=info.name) if info.paths else data

    return shelf.get(_data_key(setting), make)


def problem(
    data: datasets.Dataset, setting: Recipe, pulse: Callable[[], None] | None = None
) -> solvers.Problem:
    """Return the problem of ``setting`` on ``data``; those that differ in λ alone share data and products.
    ``pulse`` as in :func:`variant`. Raises ValueError, one sentence, for a problem beyond the server's
    budget."""

    def make() -> solvers.Problem:
        name, size = info_of(setting.data).name, size_of(data)
        budget.room(name, size, shelf.clear)
        made = replace(setting, lam=None, threads=1).make(data, pulse=pulse or no_pulse)
        # its copies at whatever λ share this array, which lives as long as the last of them
        budget.count(made.design.edges, footprint(data, made))
        return made

    made = shelf.get(_problem_key(data, setting), make, pulse or no_pulse)
    return variant(made, setting, pulse)


def at_hand(setting: Recipe) -> tuple[datasets.Dataset, solvers.Problem] | None:
    """Return data and problem of ``setting`` if they are in memory and take no more of it, else None."""
    data = shelf.peek(_data_key(setting))
    base = None if data is None else shelf.peek(_problem_key(data, setting))
    return None if data is None or base is None or base.size > QUICK else (data, variant(base, setting))


def _data_key(setting: Recipe) -> Hashable:
    return setting.data, tuple(sorted(setting.options.items())), setting.seed


def _problem_key(data: datasets.Dataset, setting: Recipe) -> Hashable:
    return setting.data, data.digest, replace(setting, lam=None, threads=1).key


def variant(
    base: solvers.Problem, setting: Recipe, pulse: Callable[[], None] | None = None
) -> solvers.Problem:
    """Return ``base`` with the penalty, at the λ (None: as it is) and for the threads of ``setting``; data
    and products shared.

    A new penalty or λ of a huge problem takes a gradient over all weights: ``pulse`` is called meanwhile, and
    may raise. What is returned does not keep it, as it may be used when the worker whose pulse it is has been
    stopped.
    """
    made = base if pulse is None else base.with_pulse(pulse)
    if setting.penalty != made.penalty.id:
        made = made.with_penalty(solvers.PENALTIES[setting.penalty](**setting.penalty_params))
    if setting.lam is not None and made.penalty.takes_lam and setting.lam != made.lam:
        made = made.at_lam(setting.lam)
    if setting.threads != made.team.threads:
        made = made.with_threads(setting.threads)
    made.violation_at_zero()  # here, where it may take a while, and not where the page shows λ_max
    return made if pulse is None else made.with_pulse(base.pulse)
