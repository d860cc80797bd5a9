"""Branches: new runs that continue from the iterate under the cursor, and the solvers that they can use."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from solverscope import solvers
from solverscope.app import ui, views
from solverscope.app.help import tip
from solverscope.app.page.protocols import PanelPage
from solverscope.app.runs.live import LiveRun
from solverscope.app.runs.pool import PoolFull
from solverscope.app.settings.recipe import Entrant
from solverscope.solvers import Problem, Trace
from solverscope.solvers.runs.own_loop import OWN_LOOP
from solverscope.solvers.traces.segments import segment_at

#: Menu entry for the solver of the run itself.
SAME_SOLVER = "same solver"


class Branches:
    """Branches of the run under the cursor, by its own solver or by one of the page's list that suits its
    problem.

    Solvers of the list have the hyper-parameters set there. Branches have the limits that are set on the
    page.
    """

    def __init__(self, page: PanelPage) -> None:
        self._page, self._session = page, page.session

    def offer(self) -> dict[str, Any]:
        """Return the content of the cursor bar: names of the possible branches, and a note on the replay.

        It is empty if no branch is possible.
        """
        trace, iteration = self._session.cursor.run, self._iteration
        if trace is None or iteration is None or self._problem(trace, iteration) is None:
            return {}
        rows, _, _ = trace.since(None)
        took = ui.seconds(float(rows["cpu_seconds"][rows["iteration"] == iteration][0]))
        note = tip("cursor_bar.branch", label=trace.info.label, iteration=ui.number(iteration), seconds=took)
        return {"choices": [SAME_SOLVER, *map(_name, self._others(trace))], "note": note}

    def start(self, name: str) -> None:
        """Start the branch with this name."""
        trace, iteration = self._session.cursor.run, self._iteration
        if trace is None or iteration is None or (problem := self._problem(trace, iteration)) is None:
            return
        chosen = next((setting for setting in self._others(trace) if _name(setting) == name), None)
        if chosen is None and name != SAME_SOLVER:
            return
        try:
            origin = solvers.origin_of(trace, iteration)
            run, here = self._session.run_of(trace), segment_at(trace, iteration)
            limits, label = self._page.setting.limits, trace.info.label if chosen is None else chosen.label
            old = run.experiment if run is not None else None
            if chosen is None and old is not None:  # a solver made to go further is another one
                limits = replace(limits, tol=old.limits.tol)
            going_on = None
            if old is not None:  # at its λ there, with these limits and changes
                problem_there = old.problem if here.lam is None else replace(old.problem, lam=here.lam)
                entrants = old.entrants if chosen is None else (chosen,)
                going_on = replace(old, problem=problem_there, limits=limits, entrants=entrants)
            make = partial(
                LiveRun,
                make_problem=lambda worker: problem,
                solver=origin.solver if chosen is None else chosen.make(),
                label=self._session.free_label(f"{label} from {iteration}"),
                style=self._page.solvers.new_style({run.style for run in self._session.runs}),
                experiment=going_on,
                stopping=lambda problem: limits.stopping(here.f_star if problem.key == here.key else None),
                probes=views.probes(problem),
                origin=origin,
            )
            self._session.join(make)
        except (ValueError, PoolFull) as error:
            self._session.notify(str(error))
        self._session.tick()

    @property
    def _iteration(self) -> int | None:
        """Return the recorded iteration under the cursor, or None."""
        cursor = self._session.cursor
        if cursor.run is None:
            return None
        rows, _, _ = cursor.run.since(None)
        row = cursor.row(rows)
        return None if row is None else int(rows["iteration"][row])

    def _problem(self, trace: Trace, iteration: int) -> Problem | None:
        """Return the problem of a run at an iterate, or None if it is not in memory.

        It is the run's own, or the page's if that differs only in λ.
        """
        here, run = segment_at(trace, iteration), self._session.run_of(trace)
        own = run.problem if run is not None else None
        problem = own or self._page.problem.problem
        if problem is None or trace.info.solver == OWN_LOOP:  # which nobody here can replay
            return None
        if here.lam not in (None, problem.lam):
            problem = problem.at_lam(here.lam)
        return problem if own is not None or problem.key == here.key else None

    def _others(self, trace: Trace) -> list[Entrant]:
        about, run = trace.info.problem, self._session.run_of(trace)
        solver = run.solver if isinstance(run, LiveRun) else None
        how = {
            "uniform": not about.get("intercept") and not about.get("penalty_factors"),
            "weighted": bool(about.get("weighted")),
        }
        return [
            setting
            for setting in self._page.solvers.settings
            if setting.penalty in ("", about["penalty"])
            and solvers.why_not_solver(setting.id, about["loss"], about["penalty"], **how) is None
            and not (solver is not None and setting.id == solver.id and setting.make() == solver)
        ]


def _name(setting: Entrant) -> str:
    """Return the menu entry for a solver of the list: its label and its changed hyper-parameters."""
    return ", ".join([setting.label, *(f"{name}={value}" for name, value in setting.params.items())])
