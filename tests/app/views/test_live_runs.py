"""Views drawn at every moment at which a run may wait, and of observations that change between two reads."""

from __future__ import annotations

import numpy as np
import pytest

from solverscope import datasets, solvers
from solverscope.app import views
from solverscope.app.views import TABS, Convergence, Cursor, Path, Sparsity, View
from solverscope.app.views.compare.rule_race import RuleRace
from solverscope.solvers import Iterate, Probe, Run, Stopping
from solverscope.solvers.probes.probe import ProbeStore


def views_of(cursor: Cursor) -> list[View]:
    """Every view that draws runs, all with one cursor."""
    return [kind((), cursor) for kind in (Convergence, Sparsity, *TABS.values()) if kind is not Path]


class Painter:
    """The gate of a run: draws all views whenever the run could be made to wait."""

    def __init__(self) -> None:
        self.cursor = Cursor()
        self.views = views_of(self.cursor)
        self.run: Run | None = None
        self.count = 0

    def pulse(self) -> None:
        self.count += 1
        self.cursor.keep_up([self.run.trace])
        for view in self.views:
            view.show([self.run.trace])

    def step(self, run: Run, iterate: Iterate) -> None:
        self.pulse()


@pytest.mark.quick("owl-qn")
@pytest.mark.parametrize("id", ["prox-qn", "owl-qn", "prox-gd"])
def test_every_view_can_be_drawn_whenever_a_run_waits(id):
    problem = solvers.make_problem(datasets.load("digits"), penalty="l1", lam_ratio=0.05)
    painter = Painter()
    run = painter.run = Run(
        problem, solvers.make_solver(id), stopping=Stopping(max_iter=2), probes=views.probes(), gate=painter
    )
    run.execute()
    assert (run.trace.status, run.trace.message) == ("max-iter", "2 iterations done")
    assert painter.count > 4


class Restless(ProbeStore):
    """Observations of a run that goes on between any two reads. What ``seldom`` names is seen at every second
    iterate alone, which are the first to go where room is short."""

    def __init__(self, store: ProbeStore, seldom: tuple[str, ...]) -> None:
        entries = dict(store.everything())

        def take(name: str) -> Probe:
            rare = name in seldom
            return Probe(name, lambda it: None if rare and it.iteration % 2 == 0 else found(it, name))

        def found(it: Iterate, name: str) -> dict[str, np.ndarray] | None:
            return entries[it.iteration].get(name)

        super().__init__([take(probe.name) for probe in store.probes])
        self.coming = iter(entries)
        self.reads = 0

    def go_on(self) -> None:
        self.reads += 1
        if (k := next(self.coming, None)) is not None:
            self.observe(Iterate(k))

    def last(self, name, iteration):
        self.go_on()
        return super().last(name, iteration)

    def entries(self, name, after=-1):
        self.go_on()
        return super().entries(name, after)

    def iterations(self, name):
        self.go_on()
        return super().iterations(name)


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("follow", [True, False])
@pytest.mark.parametrize("seldom", [(), ("shrinking", "line", "memory"), ("active", "rows", "scores")])
def test_every_view_can_be_drawn_while_observations_come_and_go(
    traces, again, place, follow, seldom, monkeypatch
):
    probes = traces[place].probes
    monkeypatch.setattr(
        "solverscope.solvers.probes.probe.RUN_LIMIT", 5 * probes.bytes // len(list(probes.everything()))
    )
    for kind in (type(view) for view in views_of(Cursor())):
        trace = again(traces[place])
        trace.probes = store = Restless(traces[place].probes, seldom)
        view = kind((), cursor := Cursor(follow=follow))
        for k in range(60):
            if not follow and k % 5 == 0:
                cursor.place(trace, k)
            view.show([trace])
        # curves of the race of rules read observations with the rows, which are all there at once
        least = 0 if kind is RuleRace else 20
        assert store.reads == 0 or store.reads > least, "a view that reads them reads them again and again"
