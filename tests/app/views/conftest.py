"""Finished runs to look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import solvers
from app import views
from solvers import Run, Stopping, Trace


@pytest.fixture(scope="session")
def traces(chain_problem: solvers.Problem) -> list[Trace]:
    """prox-qn and owl-qn after 60 iterations, with the page's probes."""
    found, probes = [], views.probes()
    for k, id in enumerate(("prox-qn", "owl-qn")):
        solver = solvers.make_solver(id)
        run = Run(chain_problem, solver, stopping=Stopping(max_iter=60), probes=probes)
        run.trace.info["style"] = k
        found.append(run.execute())
    return found


class Restless(Trace):
    """A run that goes on between any two reads, as one in another thread may."""

    def since(self, cursor: tuple[int, int] | None) -> Any:
        self._go_on()
        return super().since(cursor)

    def column(self, name: str) -> Any:
        self._go_on()
        return super().column(name)

    def _go_on(self) -> None:
        last = self.last
        self.append(last | {"iteration": last["iteration"] + 1, "cpu_seconds": last["cpu_seconds"] + 1e-3})


@pytest.fixture
def again() -> Callable[..., Trace]:
    """``again(trace)`` makes another trace with all that a trace has, if it shall be one that goes on."""

    def make(trace: Trace, live: bool = False) -> Trace:
        made = (Restless if live else Trace).from_records(list(trace.records()), **trace.info)
        made.names, made.probes, made.result = trace.names, trace.probes, trace.result
        made.test_metric, made.w = list(trace.test_metric), trace.w
        return made

    return make


@pytest.fixture
def restless(
    traces: list[Trace], again: Callable[..., Trace], monkeypatch: pytest.MonkeyPatch
) -> list[Trace]:
    """The runs, in the hands of a writer that is as quick as their readers, and thins them often."""
    monkeypatch.setattr("solvers.runs.trace.CAPACITY", 70)
    monkeypatch.setitem(traces[0].info, "f_star", 1.0)
    return [again(trace, live=True) for trace in traces]
