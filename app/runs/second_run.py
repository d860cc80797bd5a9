"""Second runs: experiments that remedy what a finding says slows a run down."""

from __future__ import annotations

from dataclasses import replace

from solverscope import datasets, solvers
from solverscope.app.settings.experiment import Experiment
from solverscope.app.settings.recipe import Entrant, RunLimits
from solverscope.app.settings.reproduction import experiments
from solverscope.solvers.doctor.experiment import TrialLimits


def recorded(trace: solvers.Trace) -> Experiment:
    """Return the experiment of a run. Raises ValueError if a second run could not begin where
    the first did."""
    found = experiments(trace)
    if len(found) > 1 or found[0].lams:
        label = trace.info.label
        raise ValueError(
            f"{label} is a branch, or its λ was changed: ask about a run from its start at one λ"
        )
    return found[0]


def second_run(first: Experiment, finding: solvers.Finding, trial: TrialLimits) -> Experiment:
    """Return the experiment of a finding on a run: the first with the change, within the limits of the trial.

    Raises ValueError if the data cannot be changed so.
    """
    stopping, remedy = trial.stopping, finding.remedy
    assert remedy is not None  # it has a trial
    changed = dict(remedy.problem)
    options = {**first.problem.options, **changed.pop("options", {})}
    datasets.describe(first.problem.data).parse(options)  # some data cannot be scaled
    if "lam" in changed:
        changed["lam_ratio"] = None
    recipe = replace(first.problem, options=options, **changed)
    solver = remedy.solver or first.entrant.make()
    says = remedy.says if solver.id != first.entrant.id else f"{first.entrant.label} {remedy.says}"
    label = " ".join(says.replace("=", " ").replace(",", " ").split())  # which can be parsed
    entrant = replace(Entrant.of(label, solver), penalty=first.entrant.penalty)
    limits = RunLimits(stopping.tol, max_seconds=stopping.max_seconds, breaks=stopping.breaks)
    return replace(first, problem=recipe, entrants=(entrant,), limits=limits)
