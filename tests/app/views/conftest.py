"""Finished runs to look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from solverscope import datasets, solvers
from solverscope.app import views
from solverscope.app.ui import run_styles
from solverscope.app.views import View
from solverscope.solvers import Run, Stopping, Trace


@pytest.fixture(scope="session")
def traces(chain_problem: solvers.Problem) -> list[Trace]:
    """prox-qn and owl-qn after 60 iterations, with the page's probes."""
    found, probes = [], views.probes()
    for k, id in enumerate(("prox-qn", "owl-qn")):
        solver = solvers.make_solver(id)
        run = Run(chain_problem, solver, stopping=Stopping(max_iter=60), probes=probes)
        run_styles.set_style(run.trace, k)
        found.append(run.execute())
    return found


@pytest.fixture(scope="session")
def hinge_problem() -> solvers.Problem:
    """A loss with kinks, for solvers that keep cutting planes."""
    return solvers.make_problem(datasets.load("breast-cancer"), loss="binary-hinge", penalty="l2", lam=1e-3)


@pytest.fixture(scope="session")
def bundles(hinge_problem: solvers.Problem) -> list[Trace]:
    """bmrm and ls-bmrm after 60 iterations, with the page's probes: they have cuts, and no pairs."""
    found, probes = [], views.probes()
    for k, id in enumerate(("bmrm", "ls-bmrm")):
        run = Run(hinge_problem, solvers.make_solver(id), stopping=Stopping(max_iter=60), probes=probes)
        run_styles.set_style(run.trace, k)
        found.append(run.execute())
    return found


@pytest.fixture(scope="session")
def descents(hinge_problem: solvers.Problem) -> list[Trace]:
    """sublbfgs and subgd after 20 iterations, with the page's probes: they find directions at kinks."""
    found, probes = [], views.probes()
    for k, id in enumerate(("sublbfgs", "subgd")):
        run = Run(hinge_problem, solvers.make_solver(id), stopping=Stopping(max_iter=20), probes=probes)
        run_styles.set_style(run.trace, k)
        found.append(run.execute())
    return found


@pytest.fixture
def drawable(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[[type[View] | None], list[Trace]]:
    """``drawable(view)``: runs that a view has something to draw of."""

    def find(view: type[View] | None) -> list[Trace]:
        others = {views.Bundle: "bundles", views.DirectionFinding: "descents"}
        found = request.getfixturevalue(others.get(view, "traces"))
        monkeypatch.setattr(found[0], "info", replace(found[0].info, f_star=1.0))
        return found

    return find


class Restless(Trace):
    """A run that goes on between any two reads, as one in another thread may."""

    def since(self, cursor: tuple[int, int] | None) -> Any:
        self.go_on()
        return super().since(cursor)

    def column(self, name: str) -> Any:
        self.go_on()
        return super().column(name)

    def go_on(self) -> None:
        last = self.last
        self.append(last | {"iteration": last["iteration"] + 1, "cpu_seconds": last["cpu_seconds"] + 1e-3})


@pytest.fixture
def again() -> Callable[..., Trace]:
    """``again(trace)`` makes another trace with all that a trace has, if it shall be one that goes on."""

    def make(trace: Trace, live: bool = False) -> Trace:
        made = (Restless if live else Trace).from_records(list(trace.records()), **trace.info.record())
        made.names, made.probes, made.result = trace.names, trace.probes, trace.result
        if live and trace.problem is not None:
            made.problem = trace.problem
        made.test_metric, made.w = list(trace.test_metric), trace.w
        return made

    return make


@pytest.fixture
def restless(
    request: pytest.FixtureRequest,
    drawable: Callable[[type[View] | None], list[Trace]],
    again: Callable[..., Trace],
    monkeypatch: pytest.MonkeyPatch,
) -> list[Trace]:
    """The runs, in the hands of a writer that is as quick as their readers, and thins them often."""
    view = request.node.callspec.params.get("view") if hasattr(request.node, "callspec") else None
    found = drawable(view)
    monkeypatch.setattr("solverscope.solvers.traces.trace.CAPACITY", 70)
    return [again(trace, live=True) for trace in found]
