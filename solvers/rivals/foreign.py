"""Solvers that are other people's programs, each run in a process of its own and watched there."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Generator
from contextlib import closing
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from queue import SimpleQueue
from typing import IO, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..compute.lazy import lazy
from ..methods.iterate import NAN, Ending, Iterate
from ..methods.solver import Solver
from ..problems.certificates.optimality import Knows
from ..problems.problem import Problem
from .process import Frame, Lost, advanced, write
from .turns import Left
from .watched import ANEW

#: Share of entries other than zero from which on a program is given X as a dense array.
DENSE = 0.3
NOTHING = np.zeros(0)


class Tell:
    """What a program tells its iterates to, in its process. Their seconds are those since the one before was
    asked for, or between ``begin`` and ``end`` where it calls them."""

    def __init__(self, answers: IO[bytes], orders: SimpleQueue[Frame]) -> None:
        self._answers, self._orders = answers, orders
        self.begin()

    def __call__(self, n: int, w: np.ndarray) -> None:
        """Tell the number of an iterate and its weights; returns once the next one is wanted."""
        self.end()
        spent = self._spent or {}
        write(self._answers, iteration=n, w=np.asarray(w, dtype=float).ravel(), **spent)
        if self._orders.get()["do"] == "leave":
            raise Left
        self.begin()

    def begin(self) -> None:
        """Forget the seconds since the last iterate: they went into what is made once."""
        self._cpu, self._wall = time.process_time(), time.perf_counter()
        self._spent: dict[str, float] | None = None

    def end(self, cpu: float | None = None) -> None:
        """Stop the clocks until the iterate is told; ``cpu`` are seconds of another process that works."""
        cpu = time.process_time() - self._cpu if cpu is None else cpu
        self._spent = self._spent or {"cpu": cpu, "wall": time.perf_counter() - self._wall}

    def started(self, pid: int) -> None:
        """Tell of such a process: it is to stand still, and to end, with this one."""
        write(self._answers, started=pid)


@dataclass(frozen=True)
class Task:
    """What a foreign program is given of a problem f(w) = s L(X w) + a‖w‖₁ + ½b‖w‖².

    Attributes
    ----------
    starts, features, values : array
        X by rows; ``values`` is empty for a matrix of ones.
    y : array
        The labels: -1 and +1, numbers of classes, or indicators of labels, (n, m).
    offsets : array
        Where sequences begin and the last one ends; empty for other data.
    w0 : array of shape (d,)
        Where to start; empty for w = 0.
    n_features, n_outputs, size : int
        Features, scores of a row, weights.
    scale, l1, ridge : float
        s, a and b.
    aim : float
        The violation of f at which a program may end.
    loss : str
        The loss's id.
    """

    starts: np.ndarray
    features: np.ndarray
    values: np.ndarray
    y: np.ndarray
    offsets: np.ndarray
    w0: np.ndarray
    n_features: int
    n_outputs: int
    size: int
    scale: float
    l1: float
    ridge: float
    aim: float
    loss: str

    @classmethod
    def of(cls, problem: Problem, w0: np.ndarray | None, aim: float) -> Task:
        """Return the task of a problem, which needs its rows here."""
        rows, loss, penalty = problem.design.by_rows(), problem.loss, problem.penalty
        return cls(
            *rows,
            y=np.asarray(loss.y),
            offsets=getattr(loss, "offsets", NOTHING),
            w0=NOTHING if w0 is None else np.asarray(w0, dtype=float),
            n_features=problem.design.n_features,
            n_outputs=problem.design.n_outputs,
            size=problem.size,
            scale=problem.scale,
            l1=float(penalty.l1),
            ridge=float(penalty.ridge),
            aim=aim,
            loss=loss.id,
        )

    @property
    def n_rows(self) -> int:
        return self.starts.size - 1

    @lazy
    def X(self) -> np.ndarray | sp.csr_matrix:
        """Return X, dense where that is no waste. A matrix, not an array: older programs ask for that."""
        values = self.values if self.values.size else np.ones(self.features.size)
        shape = self.n_rows, self.n_features
        narrow = self.starts.astype(np.int32) if self.starts[-1] < 2**31 else self.starts
        X = sp.csr_matrix((values, self.features, narrow), shape=shape)
        return X.toarray() if X.nnz >= DENSE * self.n_rows * self.n_features else X

    @property
    def strength(self) -> float:
        """Return a + b."""
        return self.l1 + self.ridge

    @property
    def C(self) -> float:
        """Return the weight of Σ_i L_i where the penalty has strength a + b = 1: f is (a + b) times that
        objective. It is inf without a penalty."""
        return self.scale / self.strength if self.strength else math.inf

    @property
    def l1_ratio(self) -> float:
        """Return a/(a + b)."""
        return self.l1 / self.strength if self.strength else 0.0


def signs(task: Task) -> list[np.ndarray]:
    """Return labels of -1 and +1 for each output."""
    if task.y.ndim == 1:
        return [task.y]
    return [np.where(column > 0, 1, -1) for column in task.y.T]


class Foreign(Solver):
    """Base of programs in a process of their own.

    A subclass defines :meth:`advance`, which is called in that process, and tells its iterates. The process
    has one thread for BLAS and OpenMP, stands still while the run is paused, and is killed where the run
    stops while it computes. Its CPU seconds are the run's.

    Attributes
    ----------
    program : str
        What the program is called in a sentence.
    passes_each : float
        Passes over X in an iteration; nan where nobody counts them.
    variables : tuple of str
        Variables of the environment that it looks at, as they are when a run begins.
    """

    program: ClassVar[str]
    variables: ClassVar[tuple[str, ...]] = ()
    passes_each: ClassVar[float] = NAN
    knows = Knows(violation=False, dual_gap=False)
    dense_vectors = 8

    def advance(self, task: Task, tell: Tell) -> str:
        """Solve a task: tell each iterate but the start, and return why the program ended by itself."""
        raise TypeError(f"{type(self).__name__} does not define advance(task, tell)")

    def _order(self, task: Task) -> dict[str, Any]:
        """Return what the process is sent."""
        order = {"module": type(self).__module__, "name": type(self).__qualname__, "params": asdict(self)}
        order["environment"] = {name: os.environ.get(name, "") for name in self.variables}
        return order | {f.name: getattr(task, f.name) for f in fields(task)}

    def load(self, task: Task) -> None:
        """Make X, and import what the program needs: off the clock, like our rows."""
        task.X  # noqa: B018 (kept there)
        for module in self.modules:
            import_module(module)

    @property
    def counts_passes(self) -> bool:
        return not math.isnan(self.passes_each)

    def iterate(
        self, problem: Problem, w0: np.ndarray | None = None
    ) -> Generator[Iterate, None, Ending | None]:
        if w0 is not None and not self.takes_start:
            return Ending("failed", f"{self.program} starts from zero alone: leave the start out")
        start, anew = problem.at(w0).w, self.watched == ANEW
        seconds: dict[str, Any] = {"cpu_seconds": 0.0, "wall_seconds": 0.0} if anew else {}
        yield Iterate(0, w=start, phase=self.watched, **seconds)
        w, aim, touched = start, problem.aim(getattr(self, "tol", 0.0)), 0
        task = Task.of(problem, w0, aim)
        try:
            with closing(advanced(self._order(task), problem.pulse)) as told:
                while True:
                    try:
                        n, w, cpu, wall = next(told)
                    except StopIteration as stop:
                        said = stop.value
                        break
                    problem.team.book(cpu)
                    if anew:  # a clock does not run backwards: points of nearly the same length may
                        seconds = {
                            "cpu_seconds": max(cpu, seconds["cpu_seconds"]),
                            "wall_seconds": max(wall, seconds["wall_seconds"]),
                        }
                    if self.counts_passes:
                        entries = round(2.0 * n * self.passes_each * problem.design.nnz)
                        problem.design.touched += entries - touched
                        touched = entries
                    yield Iterate(n, w=w, phase=self.watched, **seconds)
        except Lost as error:
            return Ending("failed", f"{self.program}: {error}")
        violation = problem.at(w).violation()
        return Ending("stalled" if violation > aim else "converged", f"{self.program}: {said}")
