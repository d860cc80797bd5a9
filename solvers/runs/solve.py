"""The function that runs a solver on a problem and returns its trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ..declare import chosen_parameters, text_of
from ..methods.solver import Solver
from ..probes.probe import Probe
from ..problems.certificates.optimality import check_tolerance
from ..problems.problem import Problem
from ..registry import make_solver
from ..traces.trace import Trace
from .endings import raise_failure
from .gate import Gate
from .run import Run
from .stopping import Stopping


def solve(
    problem: Problem,
    solver: Solver | str,
    *,
    label: str | None = None,
    tol: float | None = None,
    gap: float | None = None,
    f_star: float | None = None,
    max_iter: int | None = None,
    max_seconds: float | None = None,
    probes: Sequence[Probe] = (),
    w0: np.ndarray | None = None,
    gate: Gate[Run] | None = None,
    on_error: Literal["raise", "keep"] = "raise",
    **params: Any,
) -> Trace:
    """Run a solver on a problem to the end.

    Parameters
    ----------
    problem : Problem
        The problem, from :func:`solvers.make_problem`.
    solver : Solver or str
        The solver, from :func:`solvers.make_solver`, or its id.
    label : str, optional
        Name of the run. Default: the solver's id and the hyper-parameters that differ from their defaults, as
        in "lbfgs memory=5".
    tol, gap, f_star, max_iter, max_seconds
        Limits, see :class:`solvers.Stopping`; the run ends when the first is met. Without any, ``tol`` is
        1e-6 and ``max_seconds`` is 600.
    probes : sequence of Probe
        Further observations, recorded with the fields of the record.
    w0 : array of shape (d,), optional
        The starting point; by default that of the problem, which is usually w = 0.
    gate : Gate, optional
        May pause or interrupt the run at each step.
    on_error : {"raise", "keep"}
        Whether an exception of the solver is raised. With "keep" the status of the trace is ``failed``, and
        ``trace.exception`` is the exception.
    params
        Hyper-parameters by name, and ``preset``, if ``solver`` is an id.

    Returns
    -------
    Trace
        The record of the run; ``trace.w``, shape (d,), are the weights.

    Raises
    ------
    ValueError
        If a limit is invalid, or if the solver does not accept the problem.
    SolverFailed
        If the solver fails without an exception, for example because its objective becomes nan.

    Examples
    --------
    >>> from solverscope import datasets, solvers
    >>> problem = solvers.make_problem(datasets.load("breast-cancer"), penalty="l1", lam=0.01)
    >>> trace = solvers.solve(problem, solvers.make_solver("prox-qn"), tol=1e-6)
    >>> trace.status, int(trace.nnz[-1])
    ('converged', 10)
    >>> solvers.solve(problem, "prox-qn", memory=5, max_iter=2).info.label
    'prox-qn memory=5'
    """
    if isinstance(solver, str):
        made, chosen = make_solver(solver, **params), params
    else:
        made = _checked(solver, params)
        chosen = _chosen(made)
    if on_error not in ("raise", "keep"):
        raise ValueError(f"on_error={on_error!r} is not possible: give 'raise' or 'keep'")
    stopping = Stopping(tol, gap, f_star, max_iter, max_seconds)
    if label is None:
        label = " ".join([made.id, *(f"{name}={text_of(value)}" for name, value in chosen.items())])
    run = Run(
        problem,
        made.with_tol(stopping.or_usual().tol),
        label=label,
        stopping=stopping.or_usual(),
        probes=probes,
        w0=w0,
        gate=gate,
    )
    check_tolerance(tol, problem, made.knows)
    trace = run.execute()
    if trace.status == "failed" and on_error == "raise":
        raise_failure(trace)
    return trace


def _checked(solver: Any, params: Mapping[str, Any]) -> Solver:
    """Return the solver; raise ValueError if it is not a solver, or if ``params`` come with a solver
    object."""
    if not isinstance(solver, Solver):
        said = f"the class {solver.__name__}" if isinstance(solver, type) else f"{solver!r:.80}"
        raise ValueError(f"{said} is no solver: give an id of solvers.SOLVERS, or solvers.make_solver(id)")
    if params:
        raise ValueError(
            f"{min(params)} is given with a solver that is already made: give it to make_solver, or solve "
            f"with the id {solver.id!r}"
        )
    return solver


def _chosen(solver: Solver) -> dict[str, Any]:
    """Return the hyper-parameters that differ from their defaults, or the preset to which they belong."""
    chosen = chosen_parameters(solver)
    preset = next((name for name, preset in solver.presets.items() if preset == chosen), None)
    return chosen if preset is None else {"preset": preset}
