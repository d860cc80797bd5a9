"""The experiments of Yu et al. 2010, section 8, on data at hand: races, and what is read from them."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import pytest

import datasets
import solvers

#: CPU seconds that each run of the report may take, and how near a run is to get: (f - f*)/f*.
BUDGET, NEAR = float(os.environ.get("SOLVERSCOPE_BUDGET", "3")), 0.02
#: Solvers of the races, by label: id and hyper-parameters.
RACERS = {
    "sublbfgs": ("sublbfgs", {}),
    "subgd": ("subgd", {}),
    "bmrm": ("bmrm", {}),
    "ls-bmrm": ("ls-bmrm", {}),
    "both in turn": ("ls-bmrm", {"warm": "sublbfgs"}),
    "dual-cd": ("dual-cd", {}),
}
#: Those whose time to 2 % is drawn against λ.
AGAINST_LAM = ("sublbfgs", "bmrm", "ls-bmrm")
LAMS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
GAPS = (0.5, 0.1, 0.02, 1e-3, 1e-4)


@dataclass(frozen=True)
class Case:
    """A data set with its loss and λ, as in Tables 2 and 3 where the set is the paper's."""

    data: str
    loss: str
    lam: float
    options: tuple[tuple[str, object], ...] = ()
    #: the minimum by another program, where it is known
    least: float | None = None

    def problem(self, lam: float | None = None) -> solvers.Problem:
        """Return the problem at its own λ or another; skip where the data are not here."""
        options = dict(self.options)
        available, reason = datasets.DATASETS[self.data].available(**options)
        if not available:
            pytest.skip(reason)
        data = datasets.load(self.data, **options)
        return solvers.make_problem(data, loss=self.loss, penalty="l2", lam=lam or self.lam)


CASES = (
    Case("a9a", "binary-hinge", 1e-4, least=0.3517618),
    Case("letter", "multiclass-hinge", 1e-4),
    Case("digits", "multiclass-hinge", 1e-3, (("split", "none"),), least=0.090308),
    Case("scene", "multilabel-hinge", 1e-1),
    Case("leukemia", "binary-hinge", 1e-2, (("scale", "unit"),)),
)


def run(problem: solvers.Problem, label: str, seconds: float) -> solvers.Trace:
    """Run a racer, until a gap of 1e-5 is proved or its time is over."""
    id, params = RACERS[label]
    return solvers.solve(problem, solvers.make_solver(id, **params), tol=1e-5, max_seconds=seconds)


@dataclass
class Race:
    """Runs on one problem, the lowest f that any of them found, and the largest bound that any proved."""

    traces: dict[str, solvers.Trace]
    least: float
    bound: float

    @classmethod
    def of(cls, problem: solvers.Problem, labels: tuple[str, ...], seconds: float = BUDGET) -> Race:
        """Run those that take the problem; dual-cd, or ls-bmrm, has twice the time besides to prove f*."""
        fit = solvers.compatible(problem.loss.id, "l2")
        traces = {label: run(problem, label, seconds) for label in labels if RACERS[label][0] in fit}
        judge = "dual-cd" if "dual-cd" in fit else "ls-bmrm"
        all_of_them = [*traces.values(), run(problem, judge, 2.0 * seconds)]
        least = min(float(t.objective.min()) for t in all_of_them)
        bounds = [t.objective - t.dual_gap for t in all_of_them]
        return cls(traces, least, max(float(np.nanmax(b)) for b in bounds))

    def seconds(self, label: str, gap: float) -> float:
        """Return the CPU seconds until f is proved to be within the gap of f*; inf where it never is."""
        return seconds_to(self.traces[label], (1.0 + gap) * self.bound)

    def leader(self, gap: float) -> str:
        """Return who is first within the gap."""
        first = min(self.traces, key=lambda label: self.seconds(label, gap))
        return first if np.isfinite(self.seconds(first, gap)) else "–"


def seconds_to(trace: solvers.Trace, value: float) -> float:
    """Return the CPU seconds until f has come down to a value; inf where it never does."""
    there = np.flatnonzero(trace.objective <= value)
    return float(trace.cpu_seconds[there[0]]) if there.size else np.inf


def steps(trace: solvers.Trace, until: float = -np.inf) -> int:
    """Return k, the direction-finding iterations until f has come down to a value, or of the whole run."""
    there = np.flatnonzero(trace.objective <= until)
    last = int(there[0]) if there.size else len(trace)
    k = trace.inner_iterations[: last + 1]
    return int(k[k >= 0].sum())
