"""Data sets and problems, made once and shared by all sessions of the server."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import datasets
import solvers
from app.setting import ProblemSetting

#: Data sets and problems kept for the next run or visitor.
KEPT = 4

T = TypeVar("T")


class _Shelf:
    """Values by key, each made once by whoever asks first; the least recently used are dropped."""

    def __init__(self, keep: int = KEPT) -> None:
        self._lock = threading.Lock()
        self._keep = keep
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._makers: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        with self._lock:
            maker = self._makers.setdefault(key, threading.Lock())
        with maker:
            try:
                with self._lock:
                    if key in self._values:
                        self._values.move_to_end(key)
                        return self._values[key]
                value = make()
                with self._lock:
                    self._values[key] = value
                    while len(self._values) > self._keep:
                        self._values.popitem(last=False)
                return value
            finally:
                with self._lock:  # whoever waits for it has it; whoever comes now finds the value, if any
                    self._makers.pop(key, None)


_data, _problems = _Shelf(), _Shelf()


def load(id: str, options: dict[str, Any], seed: int) -> datasets.Dataset:
    """The data set, from memory if somebody had it lately. Raises datasets.DataError."""
    key = (id, tuple(sorted(options.items())), seed)
    return _data.get(key, lambda: datasets.load(id, seed=seed, **options))


def problem(
    data: datasets.Dataset, setting: ProblemSetting, pulse: Callable[[], None] | None = None
) -> solvers.Problem:
    """The problem of ``setting`` on ``data``; those that differ in λ alone share data and products. ``pulse``
    as in :func:`variant`."""
    params = setting.penalty_params
    source = (data.id, tuple(sorted(data.options.items())), data.seed, data.digest)
    base = _problems.get(
        (*source, setting.loss, setting.penalty, tuple(sorted(params.items()))),
        lambda: solvers.make_problem(data, setting.loss, setting.penalty, penalty_params=params),
    )
    return variant(base, setting, pulse)


def variant(
    base: solvers.Problem, setting: ProblemSetting, pulse: Callable[[], None] | None = None
) -> solvers.Problem:
    """``base`` with the penalty and at the λ of ``setting`` (None: as it is); data and products shared.

    A new penalty or λ of a huge problem takes a gradient over all weights: ``pulse`` is called meanwhile, and
    may raise. What is returned does not keep it, as it may be used when the worker whose pulse it is has been
    stopped.
    """
    made = base if pulse is None else base.with_pulse(pulse)
    if setting.penalty != made.penalty.id:
        made = made.with_penalty(solvers.PENALTIES[setting.penalty](**setting.penalty_params))
    if setting.lam is not None and made.penalty.takes_lam and setting.lam != made.lam:
        made = made.at_lam(setting.lam)
    return made if pulse is None else made.with_pulse(base.pulse)
