"""Second runs: experiments that test the remedy for what slows a run down according to a finding."""

from __future__ import annotations

from dataclasses import replace

from solverscope import datasets, solvers
from solverscope.app.settings.experiment import Experiment
from solverscope.app.settings.recipe import Entrant, RunLimits
from solverscope.app.settings.reproduction import experiments
from solverscope.solvers.doctor.experiment import TrialLimits


def recorded(trace: solvers.Trace) -> Experiment:
    """Return the experiment of a run.

    Raises ValueError if a second run could not start as the first did, because it was a branch or λ was
    changed.
    """
    found = experiments(trace)
    if len(found) > 1 or found[0].lams:
        label = trace.info.label
        raise ValueError(
            f"{label} is a branch, or its λ was changed: ask about a run from its start at one λ"
        )
    return found[0]


def second_run(first: Experiment, finding: solvers.Finding, trial: TrialLimits) -> Experiment:
    """Return the experiment that tests a finding: ``first`` with the remedy applied, within the limits of
    ``trial``.

    Raises ValueError if the remedy cannot be applied to the data.
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
