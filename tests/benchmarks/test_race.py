"""The races of README's table with all other programs that are installed, each in a process of its own.

    pytest -m bench tests/benchmarks/test_race.py -s

CPU seconds of one thread to a relative gap, as `solverscope run` records them; those of a program that is run
anew are of the run that got there, so that the wait is some three times as long.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest

import datasets
import solvers
from tests.benchmarks.report import Report
from tests.solvers.helpers import HERE, HOUSE

pytestmark = pytest.mark.bench
GAPS = (1e-2, 1e-4)
#: CPU seconds at most for a run.
SECONDS = os.environ.get("SOLVERSCOPE_BUDGET", "60")


@dataclass(frozen=True)
class Race:
    """A problem of README's table, or a small one that further programs can solve, and our solvers there; the
    first of them is to reach all gaps."""

    data: str
    loss: str
    penalty: str
    lam: float
    ours: tuple[str, ...]
    options: tuple[str, ...] = ()

    @property
    def theirs(self) -> list[str]:
        """The programs here that take its loss and penalty."""
        fitting = solvers.compatible(self.loss, self.penalty)
        return [id for id in fitting if id in HERE and id not in HOUSE]


RACES = {
    "ocr": Race("ocr", "chain-crf", "l1", 100.0, ("prox-qn", "owl-qn")),
    "conll": Race("conll2000", "chain-crf", "l1", 1.0, ("prox-qn",)),
    "mnist": Race("mnist", "multiclass-squared-hinge", "l1-l2", 1e-3, ("bcd-ls",), ("split=none",)),
    "a9a": Race("a9a", "binary-hinge", "l2", 1e-4, ("dual-cd", "ls-bmrm")),
    "breast-cancer": Race("breast-cancer", "logistic", "l1", 1e-3, ("newton-cd", "prox-qn")),
}


@pytest.mark.parametrize("name", RACES)
def test_ours_against_all_others_that_are_installed(command, name):
    race = RACES[name]
    racing = [*race.ours, *race.theirs]
    available, reason = datasets.DATASETS[race.data].available()
    if not available:
        pytest.skip(f"{race.data} is not at hand: {reason}")
    options = [word for option in race.options for word in ("--option", option)]
    problem = ("--loss", race.loss, "--penalty", race.penalty, "--lam", str(race.lam), *options)
    who = [word for id in racing for word in ("--solver", id)]
    limits = ("--gap", str(min(GAPS)), "--max-seconds", SECONDS)
    answer = command("run", race.data, *problem, *who, *limits, "--json")
    assert answer.status == 0, answer.err
    (reference,) = answer.of_type("reference")
    results = {result["label"]: result for result in answer.of_type("result")}
    rows = []
    for id in racing:
        iterates = [record for record in answer.of_type("iterate") if record["label"] == id]
        times = [first(iterates, reference["f_star"] * (1.0 + gap)) for gap in GAPS]
        rows.append((id, iterates[-1]["phase"], *times, results[id]["status"]))
    report = Report(f"{race.data}, {race.loss}, {race.penalty}, λ = {race.lam:g}")
    report.table("CPU seconds to a gap", ("", "watched", *(f"{gap:g}" for gap in GAPS), "end"), rows)
    assert None not in rows[0][2:]


def first(iterates: list[dict], objective: float) -> float | None:
    """The seconds of the first iterate that is so low."""
    return next((i["cpu_seconds"] for i in iterates if i["objective"] <= objective), None)
