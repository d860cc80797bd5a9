"""The panel of the tab *Why slow?*: experiments on findings, as runs shown with the first run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from solverscope.app import views
from solverscope.app.page.protocols import PanelPage
from solverscope.app.runs import problem_cache
from solverscope.app.runs.live import LiveRun
from solverscope.app.runs.pool import PoolFull, PoolWorker
from solverscope.app.runs.second_run import recorded, second_run
from solverscope.app.settings.experiment import Experiment
from solverscope.app.settings.recipe import Recipe
from solverscope.app.views import WhySlow
from solverscope.solvers import Finding, Problem, Trace
from solverscope.solvers.doctor.experiment import TrialLimits, judge, trial_of

#: Prefixes of the outcome of an experiment.
CONFIRMED, NOT_CONFIRMED = "Confirmed: ", "Not confirmed: "


@dataclass(frozen=True)
class StartedExperiment:
    """An experiment that was started: the first run, the finding on it, its limits, and the second run."""

    first: Trace
    finding: Finding
    trial: TrialLimits
    second: LiveRun

    def result(self) -> str:
        """Return a sentence on the outcome of the second run so far."""
        trace = self.second.trace
        if self.second.alive:
            return f"{self.second.label} is running."
        if trace is None or not trace.result or not len(trace):
            return f"{self.second.label} did not run: {self.second.message or 'it was stopped'}."
        outcome = judge(self.finding, self.trial, self.first, trace)
        return f"{CONFIRMED if outcome.confirmed else NOT_CONFIRMED}{outcome.text}."


class WhyPanel:
    """The findings on the run under the cursor, with a button for each experiment.

    They are updated at each tick of the session.
    """

    def __init__(self, page: PanelPage) -> None:
        self._page, self._session = page, page.session
        self._started: list[StartedExperiment] = []
        self.view = WhySlow((), page.session.cursor)
        self.view.problem_of, self.view.try_out = self._problem, self._start
        page.session.show_in(self.view)

    def update(self) -> None:
        """Update the outcomes of experiments, and drop those on runs that have been removed."""
        there = [run.trace for run in self._session.runs]
        self._started = [one for one in self._started if any(one.first is trace for trace in there)]
        here = [one for one in self._started if one.first is self._session.cursor.run]
        self.view.results = {one.finding.id: one.result() for one in here}

    def _problem(self, trace: Trace) -> Problem | None:
        """Return the problem of a run, or None if it is not in memory."""
        run = self._session.run_of(trace)
        own = run.problem if run is not None else None
        return own or self._page.problem.known(trace.info.problem.get("key"))

    def _start(self, trace: Trace, finding: Finding) -> None:
        """Start the experiment of a finding on a run."""
        problem = self._problem(trace)
        try:
            if problem is None:
                raise ValueError(f"the problem of {trace.info.label} is no longer in memory: run it again")
            first, trial = self._experiment(trace), trial_of(finding, trace, problem)
            second = second_run(first, finding, trial)
            same = second.problem == first.problem
            make = partial(
                LiveRun,
                make_problem=(lambda worker: problem) if same else partial(_made, second.problem),
                solver=second.entrant.make(),
                label=self._session.free_label(second.entrant.label),
                style=self._page.solvers.new_style({run.style for run in self._session.runs}),
                experiment=second,
                stopping=lambda problem: second.limits.stopping(),
                probes=views.probes(problem),
            )
            self._session.join(make)
        except (ValueError, PoolFull) as error:
            self._session.notify(str(error))
        else:
            run = self._session.runs[-1]
            assert isinstance(run, LiveRun)  # that is what was joined
            self._started.append(StartedExperiment(trace, finding, trial, run))
        self._session.tick()

    def _experiment(self, trace: Trace) -> Experiment:
        """Return the experiment of a run, with a single entrant."""
        run = self._session.run_of(trace)
        found = run.experiment if isinstance(run, LiveRun) and run.origin is None else None
        if found is None or len(found.entrants) != 1 or trace.info.lams:
            return recorded(trace)
        lam = trace.info.problem.get("lam")
        return replace(found, problem=replace(found.problem, lam=lam, lam_ratio=None))


def _made(recipe: Recipe, worker: PoolWorker) -> Problem:
    """Build the problem of an experiment in the thread of its run."""
    data = problem_cache.load(recipe, lambda *said: worker.pulse())
    return problem_cache.problem(data, recipe, worker.pulse)
