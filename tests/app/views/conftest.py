"""Finished runs to look at."""

from __future__ import annotations

import pytest

import solvers
from solvers import ACTIVE, LINE, MEMORY, ROWS, SCORES, SHRINKING, Run, Stopping, Trace


@pytest.fixture(scope="session")
def traces(chain_problem: solvers.Problem) -> list[Trace]:
    """prox-qn and owl-qn after 60 iterations, with the page's probes."""
    found, probes = [], (ACTIVE, LINE, MEMORY, ROWS, SCORES, SHRINKING)
    for k, id in enumerate(("prox-qn", "owl-qn")):
        solver = solvers.make_solver(id)
        run = Run(chain_problem, solver, stopping=Stopping(max_iter=60), probes=probes)
        run.trace.info["style"] = k
        found.append(run.execute())
    return found
