"""The function that runs a solver on a problem and returns its trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..methods.solver import Solver
from ..probes.probe import Probe
from ..problems.problem import Problem
from ..traces.trace import Trace
from .gate import Gate
from .run import Run
from .stopping import Stopping


def solve(
    problem: Problem,
    solver: Solver,
    *,
    tol: float | None = None,
    gap: float | None = None,
    f_star: float | None = None,
    max_iter: int | None = None,
    max_seconds: float | None = None,
    probes: Sequence[Probe] = (),
    w0: np.ndarray | None = None,
    gate: Gate[Run] | None = None,
) -> Trace:
    """Run a solver on a problem to the end.

    Parameters
    ----------
    problem, solver
        As :func:`solvers.make_problem` and :func:`solvers.make_solver` make them.
    tol, gap, f_star, max_iter, max_seconds
        Limits, whichever is met first: those of :class:`solvers.Stopping`. With none given, ``tol`` is 1e-6
        and ``max_seconds`` 600.
    probes : sequence of Probe
        Further observations, recorded with the fields of the record.
    w0 : array of shape (d,), optional
        The starting point; by default that of the problem, which is usually w = 0.
    gate : Gate, optional
        May pause or interrupt the run at each step.

    Returns
    -------
    Trace
        The record of the run; ``trace.w``, shape (d,), are the weights.

    Raises
    ------
    ValueError
        For limits that make no sense, or a problem that the solver refuses. A failure of the solver is the
        trace's status, ``failed``.

    Examples
    --------
    >>> from solverscope import datasets, solvers
    >>> problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam=0.01)
    >>> trace = solvers.solve(problem, solvers.make_solver("prox-qn"), tol=1e-6)
    >>> trace.status, int(trace.nnz[-1])
    ('converged', 10)
    """
    stopping = Stopping(tol, gap, f_star, max_iter, max_seconds).or_usual()
    how = {"stopping": stopping, "probes": probes, "w0": w0, "gate": gate}
    return Run(problem, solver.with_tol(stopping.tol), **how).execute()
