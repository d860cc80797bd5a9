"""A user's own loop as a run: it reports its iterates, which become a trace like any other."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self

import numpy as np

from ..declare import number
from ..methods.iterate import FIELDS, Ending, checked_own
from ..problems.point import Point
from ..problems.problem import Problem
from ..traces.run_info import RunInfo
from ..traces.trace import Trace, plain
from .cpu_budget import CpuBudget
from .endings import failure, with_messages

#: Replaces the id of a solver.
OWN_LOOP = "own-loop"
ENDED = "the loop has ended"
#: Share of the loop's time that may go into computing objectives and violations at its weights, and into
#: copies of these; and seconds that may go into copies anyhow.
BUDGET_SHARE, COPY_SECONDS = 0.005, 0.02
#: Relative difference of objectives beyond which those of the loop and the problem disagree.
OBJECTIVE_TOL = 1e-6


def relative_difference(told: float | None, objective: float) -> float:
    """Return the relative difference between a loop's objective and the problem's; 0 if the loop reports
    none."""
    return 0.0 if told is None else abs(told - objective) / (abs(objective) or 1.0)


def disagreement(apart: float) -> str:
    """Return the message that a loop's objective differs from the problem's; "" if it does not."""
    if apart <= OBJECTIVE_TOL:
        return ""
    return f"its own objective differs from the problem's by {apart:.1e}, relatively"


class OwnLoop:
    """A user's own loop as a run: ``with OwnLoop(...) as run``, and ``run.iterate(w=...)`` in each iteration.

    With a problem, the objective, the violation and the non-zeros are the problem's at the weights. So the
    loop is comparable with solvers on the same problem. These values are computed off the clock, for as many
    iterates as fit into 0.5 % of the loop's time. Only these iterates have a row, the first and the last
    among them. If copying the weights would take more than another 0.5 %, an iterate shortly before the last
    one is used instead of it. Without a problem there is a row for each iterate, with the objective that it
    reports.

    Parameters
    ----------
    label : str
        Name of the run.
    problem : Problem, optional
        The problem that the loop solves.
    watch : callable, optional
        Called with the trace, off the clock, for every new row and at the end.
    free_seconds : float
        Additional CPU seconds for computing objectives.

    Attributes
    ----------
    trace : Trace
        The record of the loop. Its seconds are those of the thread that calls :meth:`iterate`.

    Examples
    --------
    >>> import numpy as np
    >>> from solverscope import datasets, solvers
    >>> problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l2", lam=0.1)
    >>> with solvers.OwnLoop("my descent", problem) as run:
    ...     w = np.zeros(problem.size)
    ...     for _ in range(100):
    ...         _ = run.iterate(w=w)
    ...         w = w - 0.1 * problem.at(w).gradient()
    >>> run.trace.iteration[-1].item(), bool(run.trace.objective[-1] < run.trace.objective[0])
    (99, True)
    """

    def __init__(
        self,
        label: str,
        problem: Problem | None = None,
        *,
        watch: Callable[[Trace], None] = lambda trace: None,
        free_seconds: float = 0.0,
    ) -> None:
        about = {} if problem is None else problem.describe()
        self.trace = Trace(RunInfo(label=label, solver=OWN_LOOP, problem=about))
        self._problem, self._watch = problem, watch
        self._budget, self._copying = CpuBudget(BUDGET_SHARE, free_seconds), 0.0
        self._n, self._apart = -1, 0.0
        self._last: tuple[np.ndarray, dict[str, Any]] | None = None
        if problem is not None:
            self.trace.names, self.trace.problem = problem.names, problem

    def __enter__(self) -> Self:
        if self._problem is not None:  # compiles, too
            self._measured(np.zeros(self._problem.size), {})
            self._problem.violation_at_zero()
        self.trace.status = "running"
        self._cpu, self._wall = time.thread_time(), time.perf_counter()
        return self

    def iterate(self, w: Any = None, objective: float | None = None, **fields: Any) -> bool:
        """Report an iterate; return True: nothing stops the loop from outside.

        Parameters
        ----------
        w : array, optional
            The flat weights, see ``problem.unpack``: anything with ``__array__``. They are copied if they are
            used.
        objective : float, optional
            f as the loop computed it. With a problem it is only compared with the problem's f. If they differ
            by more than 1e-6, relatively, the trace's message reports it at the end.
        fields
            Further fields of the record, such as ``step``. Numbers and booleans with other names, such as
            ``trust_radius=r, accepted=False``, become additional fields of this run.

        Raises
        ------
        ValueError
            If there are no arguments, if the number of weights is wrong, or if a field is not a number.
        """
        cpu, wall = time.thread_time(), time.perf_counter()
        if not fields.keys() <= FIELDS.keys():
            fields |= checked_own({name: fields[name] for name in fields if name not in FIELDS})
        if w is None and objective is None and not fields:
            raise ValueError("an iterate tells nothing: give its weights w, its objective, or other numbers")
        self._n += 1
        spent = cpu - self._cpu
        row = {"iteration": self._n, "cpu_seconds": spent, "wall_seconds": wall - self._wall, **fields}
        if objective is not None:
            row["objective"] = number("objective", objective)
        kept = None
        if w is not None and self._copying <= BUDGET_SHARE * spent + COPY_SECONDS:
            kept = self._copied(w)
            self._copying += time.thread_time() - cpu
        if self._problem is None or w is None:
            self._append(row if kept is None else row | {"nnz": int(np.count_nonzero(kept))}, kept)
        elif kept is not None:
            self._last = kept, row
            if self._n == 0 or self._budget.allows(spent):
                with self._budget.charged():
                    self._look()
        # what was done here is off the clock
        self._cpu += time.thread_time() - cpu
        self._wall += time.perf_counter() - wall
        return True

    @property
    def measuring_seconds(self) -> float:
        """Return the CPU seconds spent on computing objectives and violations."""
        return self._budget.spent

    def callback(self, intermediate_result: Any) -> None:
        """Report an iterate of SciPy: ``scipy.optimize.minimize(f, w0, callback=run.callback)``.

        SciPy does not report its start: call ``run.iterate(w=w0)`` before.
        """
        # TNC passes the weights alone
        w = getattr(intermediate_result, "x", intermediate_result)
        self.iterate(w=w, objective=getattr(intermediate_result, "fun", None))

    def _copied(self, w: Any) -> np.ndarray:
        w = np.asarray(w, dtype=np.float64).reshape(-1).copy()  # not every __array__ heeds `copy`
        if self._problem is not None and w.size != self._problem.size:
            raise ValueError(f"w has {w.size} entries: this problem has {self._problem.size} weights")
        return w

    def _look(self) -> None:
        """Append the row of the last iterate, with the values computed by the problem."""
        if self._last is not None:
            (w, row), self._last = self._last, None
            self._append(self._measured(w, row), w)

    def _measured(self, w: np.ndarray, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row with the objective, its parts, the violation and the non-zeros at ``w``."""
        assert self._problem is not None
        point = Point(self._problem, w, self._problem.design.scores(w))
        nnz, nnz_rows = point.sparsity()
        seen = {"loss": point.loss, "penalty": point.penalty, "nnz": nnz, "nnz_rows": nnz_rows}
        seen["violation"] = point.violation()
        self._apart = max(self._apart, relative_difference(row.get("objective"), point.objective))
        return row | seen | {"objective": point.objective}

    def _append(self, row: dict[str, Any], w: np.ndarray | None) -> None:
        if w is not None:
            self.trace.w = w
        self.trace.append(row)
        self._watch(self.trace)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._problem is not None:
            self._look()
        ending = failure(error) if isinstance(error, Exception) else Ending("stopped", ENDED)
        ending = with_messages(ending, disagreement(self._apart))
        last = self.trace.last
        known = ("objective", "violation", "nnz", "nnz_rows", "cpu_seconds", "wall_seconds")
        result = {name: last.get(name, math.nan) for name in known}
        about = {"type": "result", "label": self.trace.info.label, "solver": self.trace.info.solver}
        self.trace.result = plain(about | asdict(ending) | result | {"iterations": max(self._n, 0)})
        self.trace.finish(ending.status, ending.message)
        self._watch(self.trace)
