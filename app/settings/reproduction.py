"""Command lines and Python code that reproduce recorded runs.

A branch continues from a file that an earlier command writes, and λ changes at the same iterations. Comments
list what the record of a run does not contain.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from solverscope import datasets, solvers
from solverscope.app.settings.experiment import Experiment
from solverscope.app.settings.recipe import Entrant, Recipe, RunLimits
from solverscope.app.settings.resume_point import ResumePoint
from solverscope.app.settings.settings_table import DATA, OPTIONS, PENALTY_FACTORS, SEED, SETTINGS
from solverscope.solvers import LOSSES, PENALTIES, SOLVERS, Origin, Solver, Trace, parameters, segments
from solverscope.solvers.penalty_factors import GIVEN
from solverscope.solvers.runs.own_loop import OWN_LOOP

#: Recorded settings of a problem on given data.
OF_PROBLEM = tuple(one for one in SETTINGS if one.in_record and one not in (DATA, OPTIONS, SEED))
#: Comment that precedes the commands.
LENGTH_NOTE = "# Each run goes as far as it had come: limits of time would not end it at the same iterate."


def experiments(trace: Trace) -> list[Experiment]:
    """Return the experiments that, run in this order, reproduce the iterates of a run up to its newest one.

    If the run is a branch, these are its ancestors and the run itself, each continuing from the file of its
    predecessor. Raises ValueError if the record of the run does not determine them.
    """
    info = trace.info
    if info.solver == OWN_LOOP:
        raise ValueError(f"{info.label} is a loop of your own: only your program repeats it")
    if info.solver not in SOLVERS:
        raise ValueError(f"{info.label} needs the plugin that registers {info.solver}")
    if info.problem.get(PENALTY_FACTORS.in_record) == GIVEN:
        raise ValueError(f"{info.label} has penalty factors that its record does not hold")
    origin = None
    if info.origin is not None or info.warm or not len(trace):
        origin = solvers.origin_of(trace, int(trace.iteration[0]) if len(trace) else 0).before
    declared = {p.name for p in parameters(SOLVERS[info.solver])}
    params = {name: value for name, value in info.params.items() if name in declared}
    last, about = int(trace.last["iteration"]), info.problem
    recorded = {one.name: about[one.in_record] for one in OF_PROBLEM if one.in_record in about}
    recipe = Recipe(about[DATA.in_record], _options(about), about[SEED.in_record], **recorded)
    changes = tuple((s.first, s.lam) for s in segments(trace)[1:] if s.first <= last)
    entrant = _entrant(info.label, solvers.make_solver(info.solver, **params))
    found = [Experiment(recipe, (entrant,), RunLimits(max_iter=last), lams=changes)]
    while origin is not None:
        now = found[0]
        recipe = recipe if origin.lam is None else replace(recipe, lam=origin.lam)
        if recipe != now.problem:  # the same run, before its λ was changed
            changes = ((origin.iteration + 1, now.problem.lam), *now.lams)
            found[0] = replace(now, problem=recipe, lams=changes)
        else:
            limits = RunLimits(max_iter=origin.iteration)
            found.insert(0, Experiment(recipe, (_entrant(origin.label, origin.solver),), limits))
        origin = origin.before
    for k in range(1, len(found)):
        before, last = found[k - 1].entrant, found[k - 1].limits.max_iter
        name = re.sub("[^A-Za-z0-9._]+", "-", before.label)
        file = f"{name}-{last}-{found[k - 1].key[:6]}.jsonl"
        there = Origin(before.label, before.make(), last, (0.0, 0.0), {})
        found[k] = replace(found[k], origin=ResumePoint(f"{file}@{last}", file, info.problem, there))
    return found


def _entrant(label: str, solver: Solver) -> Entrant:
    """Return the entrant of a run, with a label that can be parsed."""
    return Entrant.of("".join("-" if letter in ",=@" else letter for letter in label), solver)


def _repeated(traces: Sequence[Trace], said: list[str]) -> Iterator[tuple[Trace, list[Experiment]]]:
    """Yield the runs that can be reproduced with their experiments; append reasons for others to ``said``."""
    for trace in traces:
        try:
            yield trace, experiments(trace)
        except ValueError as error:
            said.append(f"# {error}.")


def commands(traces: Sequence[Trace]) -> str:
    """Return ``solverscope run`` commands that reproduce the iterates of these runs."""
    said = [LENGTH_NOTE, *_needed(traces)]
    for _, wanted in _repeated(traces, said):
        for one, following in zip(wanted, [*wanted[1:], None], strict=True):
            out = [] if following is None else ["--out", following.origin.file]
            line = shlex.join(["solverscope", *one.arguments(), *out])
            if following is None or line not in said:  # two branches may leave a run at one iterate
                said.append(line)
    return "\n".join(said)


def snippet(traces: Sequence[Trace]) -> str:
    """Return Python code that reproduces the iterates of these runs.

    If there are several runs, the code collects them in a dictionary ``traces``.
    """
    several = len(traces) > 1
    said = ["from solverscope import datasets, solvers", *_needed(traces)]
    said += ["traces = {}"] if several else []
    for trace, wanted in _repeated(traces, said):
        lines = [line for k, one in enumerate(wanted) for line in _calls(one, first=not k)]
        lines += [f"traces[{trace.info.label!r}] = trace"] if several else []
        said.append("\n".join(lines))
    return "\n\n".join(said) + "\n"


def _calls(wanted: Experiment, *, first: bool) -> list[str]:
    p, entrant, last = wanted.problem, wanted.entrant, wanted.limits.max_iter
    solver = f"solver = {_call('solvers.make_solver', entrant.id, **entrant.params)}"
    if first:
        made = {one.name: value for one in OF_PROBLEM if (value := one.of(wanted)) not in (None, {})}
        params_last = sorted(made.items(), key=lambda pair: isinstance(pair[1], dict))
        arguments = ", ".join(f"{name}={value!r}" for name, value in params_last)
        lines = [
            f"data = {_call('datasets.load', p.data, seed=p.seed, **p.options)}",
            f"problem = solvers.make_problem(data, {arguments})",
            solver,
        ]
        if not wanted.lams:
            return [*lines, f"trace = solvers.solve(problem, solver, max_iter={last})"]
        origin = ""
    else:
        lines = [] if p.lam is None else [f"problem = problem.at_lam({p.lam!r})"]
        lines += [solver, f"origin = solvers.origin_of(trace, {wanted.origin.origin.iteration})"]
        origin = "origin=origin, "
    lines.append(f"run = solvers.Run(problem, solver, {origin}stopping=solvers.Stopping(max_iter={last}))")
    if not wanted.lams:
        return [*lines, "trace = run.execute()"]
    changes = (
        f'    if trace.last["iteration"] == {n - 1}:\n        run.set_lam({lam!r})' for n, lam in wanted.lams
    )
    return [*lines, "for trace in run.steps():", *changes]


def _needed(traces: Sequence[Trace]) -> list[str]:
    """Return comments that list the user's own files and plug-ins that the runs require."""
    said = []
    for trace in traces:
        info, problem = trace.info, trace.info.problem
        name = str(problem.get("dataset")).partition(":")[2]
        if name and "/" not in name:
            said.append(f"# {name} is a file of your own: start this in its folder.")
        listed = (SOLVERS, info.solver), (LOSSES, problem.get("loss")), (PENALTIES, problem.get("penalty"))
        said += [
            f"# {id} is from a plug-in: add --plugin FILE, in Python import it."
            for table, id in listed
            if id in table and table[id].__module__.partition(".")[0] != "solverscope"
        ]
    return list(dict.fromkeys(said))


def _options(problem: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the data that differ from the defaults; all of them if the data set is unknown
    here."""
    given = {name: value for name, value in problem["options"].items() if value is not None}
    try:
        usual = {option.name: option.default for option in datasets.describe(problem["dataset"]).options}
    except datasets.DataError:
        return given
    return {name: value for name, value in given.items() if usual.get(name) != value}


def _call(function: str, first: str, **given: Any) -> str:
    return f"{function}({', '.join([repr(first), *(f'{name}={value!r}' for name, value in given.items())])})"
