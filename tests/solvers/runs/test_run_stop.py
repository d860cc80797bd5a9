"""A run ends at the pulse that stops it. (Half a second, also in an iteration of seconds: ``test_stop.py`` of
the benchmarks.)"""

import pytest

from solverscope import solvers
from solverscope.solvers import Run, Stopping
from tests.solvers.helpers import ELSEWHERE, MAKERS

PAIRS = [
    (solver, kind, fitting[0])
    for kind in MAKERS
    for solver in solvers.SOLVERS
    if (fitting := [c for c in solvers.losses_for(kind) if solver in solvers.compatible(c, "l1")])
]
#: A program in a process of its own stops in the same way on any labels: those that it takes first will do.
FIRST = {solver: kind for solver, kind, _ in reversed(PAIRS)}
PAIRS = [pair for pair in PAIRS if pair[0] not in ELSEWHERE or FIRST[pair[0]] == pair[1]]
KINKED = [
    (solver, kind, f"{kind}-hinge")
    for kind in ("binary", "multiclass", "multilabel")
    for solver in ("dual-cd", "bmrm", "ls-bmrm", "ocas", "subgd", "subbfgs", "sublbfgs")
    if solver in solvers.compatible(f"{kind}-hinge", "l2")
]


class StopsAt(solvers.Gate):
    """A gate that ends a run at its n-th pulse after the first iterate, and counts all that come."""

    def __init__(self, n):
        self.n, self.seen = n, 0

    def pulse(self):
        if self.run.trace.status == "running" and len(self.run.trace):
            self.seen += 1
            if self.seen >= self.n:
                self.run.interrupt()


@pytest.mark.parametrize("pair", PAIRS + KINKED, ids="/".join)
def test_a_run_ends_at_the_pulse_that_stops_it(pair):
    """At the first one, and in the middle of a later iteration; what it leaves is a whole iterate."""
    solver, kind, loss = pair
    if pair in KINKED:
        problem = solvers.make_problem(MAKERS[kind](), loss=loss, penalty="l2", lam=1e-3)
    else:
        smooth = solvers.Trait.SMOOTH in solvers.LOSSES[loss].traits
        strength = {"lam_ratio": 1e-3} if smooth else {"lam": 1e-3}
        problem = solvers.make_problem(MAKERS[kind](), loss=loss, penalty="l1", **strength)
    for n in (1, 2, 9):
        gate = StopsAt(n)
        stopping = Stopping(tol=0.0, max_iter=50)
        gate.run = Run(problem, solvers.make_solver(solver), gate=gate, stopping=stopping)
        trace = gate.run.execute()
        assert trace.status == "stopped", f"{gate.seen} pulses in {len(trace)} iterates"
        assert gate.seen == n
        assert problem.at(trace.w).objective == pytest.approx(trace.objective[-1], rel=1e-9)
