"""The command ``why``: findings on recorded runs that explain why they are slow, and experiments that test
them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from solverscope import solvers
from solverscope.solvers.doctor.experiment import TrialLimits, judge, trial_of
from solverscope.solvers.doctor.finding import IF_WRONG

from ..runs.second_run import recorded, second_run
from ..settings.experiment import Experiment
from . import runs
from .headless import Emit, RunExecutor, load, problems
from .progress_bar import ProgressBar
from .streams import put

#: Words for the outcome of an experiment.
CONFIRMATION = {True: "confirmed", False: "not confirmed", None: "not tried"}


def execute(run: str, emit: Emit, progress: ProgressBar, *, prove: bool) -> int:
    """Emit the findings on a run, each with the result of its experiment if ``prove``; return the exit
    status.

    ``run`` is an id of the history or ``FILE[#LABEL]``. Raises ValueError if the run cannot be examined.
    """
    _, trace = runs.found_run(run)
    first = recorded(trace)
    problem = _problem(first, progress)
    if problem.key != trace.info.problem.get("key"):
        progress.say("the data or the program differ from those of the run: findings are about these")
    progress.say(str(problem))
    executor = RunExecutor(lambda record: None, progress)
    with executor.listening():
        findings = solvers.why_slow(trace, problem)
        emit(_about(trace, len(findings)))
        for rank, finding in enumerate(findings, 1):
            record = {"type": "finding", "rank": rank}
            record |= {name: getattr(finding, name) for name in ("id", "text", "share", "reference")}
            record["remedy"] = finding.remedy and finding.remedy.says
            record |= dict.fromkeys(("command", "confirmed", "result", "first", "second"))
            try:
                trial = trial_of(finding, trace, problem)
                second = second_run(first, finding, trial)
            except ValueError as error:
                record["result"] = None if finding.remedy is None else str(error)
            else:
                record["command"] = shlex.join(["solverscope", *second.arguments()])
                if prove:
                    record |= _proved(finding, trial, trace, problem, first, second, executor, progress)
            emit(record)
    return executor.status


def _problem(experiment: Experiment, progress: ProgressBar) -> solvers.Problem:
    (problem,) = problems([experiment], load([experiment], progress), progress)
    return problem


def _proved(
    finding: solvers.Finding,
    trial: TrialLimits,
    trace: solvers.Trace,
    problem: solvers.Problem,
    first: Experiment,
    second: Experiment,
    executor: RunExecutor,
    progress: ProgressBar,
) -> dict[str, Any]:
    """Run the experiment of a finding and return a record of its outcome."""
    other = problem if second.problem == first.problem else _problem(second, progress)
    run = second.run(second.entrant, other, executor)
    executor.follow(run)
    verdict = judge(finding, trial, trace, run.trace)
    costs = {name: getattr(verdict, name)._asdict() for name in ("first", "second")}
    return {"confirmed": verdict.confirmed, "result": verdict.text, **costs}


def _about(trace: solvers.Trace, count: int) -> dict[str, Any]:
    last = trace.last
    return {
        "type": "run",
        "label": trace.info.label,
        "solver": trace.info.solver,
        "iterations": int(last["iteration"]),
        "cpu_seconds": float(last["cpu_seconds"]),
        "findings": count,
    }


def show(records: Sequence[Mapping[str, Any]]) -> None:
    """Print findings for people, the costliest first."""
    lines = []
    for record in records:
        if record["type"] == "run":
            took = f"{record['iterations']:,} iterations in {record['cpu_seconds']:.3g} CPU s"
            none = "" if record["findings"] else f": no rule finds a reason why it is slow. {IF_WRONG}"
            lines.append(f"{record['label']}: {took}{none}")
            continue
        lines += ["", f"{record['rank']}. {record['id']}, about {100 * record['share']:.0f} % of the cost"]
        lines.append(f"   {record['text']}")
        if record["remedy"] is not None:
            said = record["result"] or record["remedy"]
            lines.append(f"   {CONFIRMATION[record['confirmed']]}: {said}")
        if record["command"] is not None:
            lines.append(f"   try it: {record['command']}")
        lines.append(f"   see {record['reference']}")
    put("".join(f"{line}\n" for line in lines))
