"""Why runs are slow: whether experiments confirm what is found on the runs of all stories.

    pytest -m bench tests/benchmarks/test_why.py -s

runs every story as the page would, asks why each of its runs is slow, and tries every experiment. At most one
finding in twenty may be one that its experiment does not confirm. ``-k`` takes a story.
"""

from __future__ import annotations

import pytest

from solverscope import solvers
from solverscope.app.runs import problem_cache
from solverscope.app.runs.second_run import second_run
from solverscope.app.settings.experiment import Experiment
from solverscope.app.settings.recipe import make_run
from solverscope.app.stories import stories
from solverscope.solvers.doctor.experiment import judge, trial_of
from tests.benchmarks.report import Report

pytestmark = pytest.mark.bench

#: Share of the findings that their experiments need not confirm.
UNCONFIRMED = 1 / 20


def executed(experiment: Experiment, problem: solvers.Problem) -> solvers.Trace:
    """Return the run of an experiment with one entrant, on its problem."""
    return make_run(problem, experiment.entrant.make(), experiment.limits.stopping()).execute()


def examined(story: str) -> list[list[object]]:
    """Return a row for each finding on the runs of a story."""
    rows: list[list[object]] = []
    setting = stories()[story].setting
    for entrant in setting.entrants:
        recipe = entrant.recipe(setting.problem)
        first = Experiment(recipe, (entrant,), setting.limits)
        problem = problem_cache.problem(problem_cache.load(recipe), recipe)
        trace = executed(first, problem)
        for finding in solvers.why_slow(trace, problem):
            try:
                trial = trial_of(finding, trace, problem)
                second = second_run(first, finding, trial)
            except ValueError as error:
                rows.append([story, entrant.label, finding.id, finding.share, None, str(error)])
                continue
            other = problem_cache.problem(problem_cache.load(second.problem), second.problem)
            outcome = judge(finding, trial, trace, executed(second, other))
            rows.append([story, entrant.label, finding.id, finding.share, outcome.confirmed, outcome.text])
    return rows


def test_nearly_every_finding_on_the_stories_is_confirmed():
    report = Report("Findings on the runs of the stories")
    rows = [row for story in stories() for row in examined(story)]
    report.table("findings", ["story", "run", "finding", "share", "confirmed", "experiment"], rows)
    report.write("why")
    tried = [row for row in rows if row[4] is not None]
    refuted = [row for row in tried if not row[4]]
    assert len(tried) >= 20
    assert len(refuted) <= UNCONFIRMED * len(rows), refuted
