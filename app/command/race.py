"""The command ``race``: our solvers against all other programs that are installed, as tables and plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solverscope import datasets, solvers
from solverscope.ids import unknown_id
from solverscope.solvers.compute.atomic_files import replacing
from solverscope.solvers.traces.trace import plain

from .. import ui
from ..settings import wording
from ..settings.columns import PROGRAMS_TABLE, SHORT_GAPS, seconds_column
from ..settings.experiment import Experiment
from ..ui import run_styles
from ..views import Convergence
from ..views.compare.report import Section, report
from ..views.compare.summary import as_html, seconds_to
from . import headless
from .exit_status import FINISHED, INTERRUPTED
from .headless import Emit
from .printing import cells, show_table
from .progress_bar import ProgressBar


@dataclass(frozen=True)
class RaceProblem:
    """A problem, and our solvers that race on it; the first of them should reach all gaps."""

    data: str
    loss: str
    penalty: str
    lam: float
    ours: tuple[str, ...]
    options: tuple[str, ...] = ()

    @property
    def theirs(self) -> list[str]:
        """Return the ids of the installed programs that accept its loss and penalty."""
        return [
            id for id in solvers.compatible(self.loss, self.penalty) if solvers.SOLVERS[id].observation_mode
        ]


#: The problems of the table in the README, and a small one that more programs can solve.
RACES = {
    "ocr": RaceProblem("ocr", "chain-crf", "l1", 100.0, ("prox-qn", "owl-qn")),
    "conll": RaceProblem("conll2000", "chain-crf", "l1", 1.0, ("prox-qn",)),
    "mnist": RaceProblem("mnist", "multiclass-squared-hinge", "l1-l2", 1e-3, ("bcd-ls",), ("split=none",)),
    "a9a": RaceProblem("a9a", "binary-hinge", "l2", 1e-4, ("dual-cd", "ls-bmrm")),
    "breast-cancer": RaceProblem("breast-cancer", "logistic", "l1", 1e-3, ("newton-cd", "prox-qn")),
}


def execute(
    names: Sequence[str], max_seconds: str, out: Path | None, emit: Emit, progress: ProgressBar
) -> int:
    """Run races one after another; return the exit status.

    After the records of each run, ``emit`` receives a ``race`` record with the seconds to each gap. Plots are
    written to ``out``, also after an interrupt. Raises ValueError for unknown names.
    """
    for name in names:
        if name not in RACES:
            raise ValueError(unknown_id("race", name, RACES))
    status, raced = FINISHED, {}
    for name in names or RACES:
        one = RACES[name]
        available, reason = datasets.DATASETS[one.data].available()
        if not (names or available):
            progress.say(f"{name} is left out: {reason}")
            continue
        experiment = Experiment.from_arguments(
            one.data,
            [*one.ours, *one.theirs],
            **{"loss": one.loss, "penalty": one.penalty, "lam": str(one.lam), "options": list(one.options)},
            **{"gap": str(min(SHORT_GAPS)), "f_star": "auto", "max_seconds": max_seconds},
        )
        traces: list[solvers.Trace] = []
        ended = headless.execute(experiment, emit, progress, traces=traces)
        raced[name] = [trace for trace in traces if trace.result]
        for trace in raced[name]:
            emit(_line(name, trace))
        status = max(status, ended)
        if ended == INTERRUPTED:
            break
    drawn = {name: traces for name, traces in raced.items() if traces}
    if out is not None and drawn:
        with replacing(out, encoding="utf-8") as written:
            written.write(page(drawn))
        progress.say(f"plots: {out}")
    return status


def _line(name: str, trace: solvers.Trace) -> dict[str, Any]:
    about = {"type": "race", "race": name, "label": trace.info.label, "status": trace.status}
    about["watched"] = solvers.SOLVERS[trace.info.solver].observation_mode or None
    about |= {seconds_column(gap): seconds_to(trace, gap) for gap in SHORT_GAPS}
    known = plain({**trace.last, **trace.result})
    return {name: known.get(name) for name in PROGRAMS_TABLE} | about


def _shown(line: Mapping[str, Any]) -> dict[str, Any]:
    return {**line, "watched": line["watched"] or "ours"}


def page(raced: Mapping[str, Sequence[solvers.Trace]]) -> str:
    """Return an HTML page with a plot of each race over CPU seconds, and its table."""
    sections = []
    for name, traces in raced.items():
        plot = Convergence(traces, x="cpu_seconds", x_scale="log")
        runs = enumerate(traces)
        legend = ui.runs_legend(
            (t.info.label, *run_styles.color_and_dash(t, place), "", False) for place, t in runs
        )
        lines = [cells(PROGRAMS_TABLE, _shown(_line(name, trace))) for trace in traces]
        table = as_html([column.heading for column in PROGRAMS_TABLE.values()], lines)
        about = traces[0].info.problem
        heading = f"{wording.of_problem(about)} λ = {about['lam']:g}."
        sections.append(Section(heading, legend + table, plot.figure))
    return report("Our solvers against theirs", sections)


def show(records: Sequence[dict[str, Any]]) -> None:
    """Print a table for each race."""
    races: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        if record["type"] == "race":
            races.setdefault(record["race"], []).append(_shown(record))
    for name, lines in races.items():
        show_table(PROGRAMS_TABLE, lines, name)
