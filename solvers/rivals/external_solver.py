"""Base class of solvers that are external programs, each in its own process."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from queue import SimpleQueue
from typing import IO, Any, ClassVar

import numpy as np
import psutil
import scipy.sparse as sp

from ..compute.lazy import lazy
from ..declare import Trait
from ..methods.iterate import NAN, Ending, Iterate
from ..methods.solver import Solver
from ..problems.certificates.optimality import Knows
from ..problems.problem import Problem
from .callback_generator import Cancelled
from .observation_mode import RERUN
from .process import Frame, ProgramFailed, program_iterates, write

#: Fraction of non-zero entries from which on a program gets X as a dense array.
DENSE = 0.3
EMPTY = np.zeros(0)
#: The smallest duality gap, relative to ‖y‖², that a least-squares program can reach despite rounding.
LEAST_GAP = 1e-13


class IterateReporter:
    """Callback with which a program reports its iterates, in the program's process.

    The seconds of an iterate begin when it is requested. A program that also reads data or stores a model
    restricts the clock to its work with ``begin`` and ``end``, as ``crfsuite`` does.
    """

    def __init__(self, answers: IO[bytes], orders: SimpleQueue[Frame]) -> None:
        self._answers, self._orders = answers, orders
        self.begin()

    def __call__(self, n: int, w: np.ndarray) -> None:
        """Send an iterate with index ``n`` and weights ``w``; return once the next one is requested.

        Raises :class:`.Cancelled` if the program is cancelled instead.
        """
        self.end()
        spent = self._spent or {}
        write(self._answers, iteration=n, w=np.asarray(w, dtype=float).ravel(), **spent)
        if self._orders.get()["do"] == "cancel":
            raise Cancelled
        self.begin()

    def begin(self) -> None:
        """Restart the clock; the seconds before belong to set-up."""
        self._cpu, self._wall = time.process_time(), time.perf_counter()
        self._spent: dict[str, float] | None = None

    def end(self, cpu: float | None = None) -> None:
        """Stop the clock until the iterate is reported; ``cpu`` are the seconds of a child process, if it
        works there."""
        cpu = time.process_time() - self._cpu if cpu is None else cpu
        self._spent = self._spent or {"cpu": cpu, "wall": time.perf_counter() - self._wall}

    def started(self, pid: int) -> None:
        """Report the id of a child process, so that it is suspended and ended with this one."""
        write(self._answers, started=pid)


@dataclass(frozen=True)
class Task:
    """The data of a problem f(w) = s L(X w) + a‖w‖₁ + ½b‖w‖² + cΣ_j ‖W_j‖₂ for an external program.

    Attributes
    ----------
    starts, features, values : array
        X by rows; ``values`` is empty for a matrix of ones.
    y : array
        The labels: -1 and +1, indices of classes, or indicators of labels, (n, m). Or targets, (n,) or (n,
        m).
    offsets : array
        The first row of each sequence, and the end of the last one; empty for other data.
    w0 : array of shape (d,)
        The starting point; empty for w = 0.
    n_features, n_outputs, size : int
        Numbers of features, of scores per row, and of weights.
    scale, l1, ridge, row_norm : float
        The factors s, a, b and c.
    aim : float
        The violation of f at which a program may end.
    loss : str
        The id of the loss.
    loss_params : mapping
        The hyper-parameters of the loss.
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
    row_norm: float
    aim: float
    loss: str
    loss_params: Mapping[str, Any]

    @classmethod
    def of(cls, problem: Problem, w0: np.ndarray | None, aim: float) -> Task:
        """Return the task of a problem, whose rows must be on this machine."""
        rows, loss, penalty = problem.design.by_rows(), problem.loss, problem.penalty
        return cls(
            *rows,
            y=np.asarray(loss.y),
            offsets=getattr(loss, "offsets", EMPTY),
            w0=EMPTY if w0 is None else np.asarray(w0, dtype=float),
            n_features=problem.design.n_features,
            n_outputs=problem.design.n_outputs,
            size=problem.size,
            scale=problem.scale,
            l1=float(penalty.l1),
            ridge=float(penalty.ridge),
            row_norm=float(penalty.row_norms[1]),
            aim=aim,
            loss=loss.id,
            loss_params=asdict(loss.declared),
        )

    @property
    def n_rows(self) -> int:
        return self.starts.size - 1

    @lazy
    def X(self) -> np.ndarray | sp.csr_matrix:
        """Return X as a SciPy matrix, which older programs require, or dense if nearly all entries are
        stored."""
        values = self.values if self.values.size else np.ones(self.features.size)
        shape = self.n_rows, self.n_features
        narrow = self.starts.astype(np.int32) if self.starts[-1] < 2**31 else self.starts
        X = sp.csr_matrix((values, self.features, narrow), shape=shape)
        return X.toarray() if X.nnz >= DENSE * self.n_rows * self.n_features else X

    @property
    def X_by_columns(self) -> np.ndarray | sp.csc_matrix:
        """Return X stored by columns, dense or sparse as ``X``."""
        return np.asfortranarray(self.X) if isinstance(self.X, np.ndarray) else self.X.tocsc()

    @property
    def strength(self) -> float:
        """Return a + b."""
        return self.l1 + self.ridge

    @property
    def C(self) -> float:
        """Return the factor of Σ_i L_i for a penalty of strength 1; inf without a penalty.

        f is a + b times the objective with this factor.
        """
        return self.scale / self.strength if self.strength else math.inf

    @property
    def l1_ratio(self) -> float:
        """Return a/(a + b)."""
        return self.l1 / self.strength if self.strength else 0.0


def signs(task: Task) -> list[np.ndarray]:
    """Return labels of -1 and +1 for each output; numeric targets are returned unchanged."""
    if task.y.ndim == 1:
        return [task.y]
    if task.y.dtype.kind == "f":
        return list(np.ascontiguousarray(task.y.T))
    return [np.where(column > 0, 1, -1) for column in task.y.T]


def gap_tol(tol: float) -> float:
    """Return the duality gap, relative to ‖y‖², at which a least-squares solver may end.

    It corresponds to the relative violation ``tol``: the gap is of the order of its square, but at least
    rounding.
    """
    return max(tol * tol, LEAST_GAP)


class ExternalSolver(Solver):
    """Base of solvers that are programs in their own process.

    A subclass defines :meth:`advance`, which is called in that process, and reports its iterates. The process
    has one thread for BLAS and OpenMP. It is suspended while the run is paused, and killed if the run stops
    while it computes. Its CPU seconds count as those of the run.

    Attributes
    ----------
    program : str
        Name of the program, for messages.
    passes_each : float
        Passes over X per iteration; nan if they are not counted.
    formulas : Trait
        Traits for the losses that it implements, of which the loss must have one.
    variables : tuple of str
        Environment variables that it reads, with their values at the start of a run.
    """

    program: ClassVar[str]
    formulas: ClassVar[Trait] = Trait(0)
    variables: ClassVar[tuple[str, ...]] = ()
    passes_each: ClassVar[float] = NAN
    knows = Knows(violation=False, dual_gap=False)
    dense_vectors = 8

    def advance(self, task: Task, report: IterateReporter) -> str:
        """Solve a task: report each iterate except the start, and return why the program ended by itself."""
        raise TypeError(f"{type(self).__name__} does not define advance(task, report)")

    def _order(self, task: Task) -> dict[str, Any]:
        """Return the order to send to the process."""
        order = {"module": type(self).__module__, "name": type(self).__qualname__, "params": asdict(self)}
        order["environment"] = {name: os.environ.get(name, "") for name in self.variables}
        return order | {f.name: getattr(task, f.name) for f in fields(task)}

    def load(self, task: Task) -> None:
        """Compute X, and import the program's modules, off the clock."""
        task.X  # noqa: B018 (kept there)
        for module in self.modules:
            import_module(module)

    def _why_no_room(self, nbytes: float, what: str, advice: str) -> str | None:
        """Return why the program's arrays, ``nbytes`` in all, do not fit into free memory; None if they do.

        ``what`` names the arrays, and ``advice`` the remedy.
        """
        free = psutil.virtual_memory().available
        if nbytes <= free:
            return None
        sizes = f"{nbytes / 2**30:.1f} GiB in all, and {free / 2**30:.1f} GiB are free"
        return f"{self.id} keeps {what}, {sizes}: {advice}"

    @property
    def counts_passes(self) -> bool:
        return not math.isnan(self.passes_each)

    def iterate(
        self, problem: Problem, w0: np.ndarray | None = None
    ) -> Generator[Iterate, None, Ending | None]:
        if w0 is not None and not self.takes_start:
            return Ending("failed", f"{self.program} starts from zero alone: leave the start out")
        start, anew = problem.at(w0).w, self.observation_mode == RERUN
        seconds: dict[str, Any] = {"cpu_seconds": 0.0, "wall_seconds": 0.0} if anew else {}
        yield Iterate(0, w=start, phase=self.observation_mode, **seconds)
        w, aim, touched = start, problem.aim(getattr(self, "tol", 0.0)), 0
        task = Task.of(problem, w0, aim)
        try:
            with closing(program_iterates(self._order(task), problem.pulse)) as told:
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
                    yield Iterate(n, w=w, phase=self.observation_mode, **seconds)
        except ProgramFailed as error:
            return Ending("failed", f"{self.program}: {error}")
        violation = problem.at(w).violation()
        return Ending("stalled" if violation > aim else "converged", f"{self.program}: {said}")


class DenseExternalSolver(ExternalSolver):
    """Base of programs that only accept X as a dense array."""

    def refuses(self, problem: Problem) -> str | None:
        nbytes = 8.0 * problem.loss.n_instances * problem.design.n_features * 2
        what, advice = "X as a dense array", "take fewer features or samples"
        return self._why_no_room(nbytes, what, advice) or super().refuses(problem)

    def load(self, task: Task) -> None:
        super().load(task)
        dense_by_columns(task)


def dense_by_columns(task: Task) -> np.ndarray:
    """Return X as a dense array in Fortran order."""
    X = task.X
    return np.asfortranarray(X if isinstance(X, np.ndarray) else X.toarray())
