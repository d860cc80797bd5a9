"""The races of README's table with all other programs that are installed, each in a process of its own.

    solverscope race --out race.html

prints and draws the same. CPU seconds of one thread to a relative gap; those of a program that is run anew
are of the run that got there, so that the wait is some three times as long.
"""

from __future__ import annotations

import os

import pytest

from solverscope import datasets
from solverscope.app.command.race import RACES
from solverscope.app.settings.columns import SHORT_GAPS
from tests.benchmarks.report import Report

pytestmark = pytest.mark.bench
#: CPU seconds at most for a run.
SECONDS = os.environ.get("SOLVERSCOPE_BUDGET", "60")


@pytest.mark.parametrize("name", RACES)
def test_ours_against_all_others_that_are_installed(command, name):
    available, reason = datasets.DATASETS[RACES[name].data].available()
    if not available:
        pytest.skip(f"{RACES[name].data} is not available: {reason}")
    answer = command("race", name, "--max-seconds", SECONDS, "--json")
    assert answer.status == 0, answer.err
    runs = answer.of_type("race")
    seconds = [[run[f"seconds_to_{gap:g}"] for gap in SHORT_GAPS] for run in runs]
    rows = [
        (run["label"], run["watched"], *times, run["status"])
        for run, times in zip(runs, seconds, strict=True)
    ]
    report = Report(f"{name}: {RACES[name]}")
    report.table("CPU seconds to a gap", ("", "watched", *(f"{gap:g}" for gap in SHORT_GAPS), "end"), rows)
    assert None not in seconds[0]
