"""Claims of stories: which check each sentence has, and the story's own runs that the checks look at."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from unittest import mock

import numpy as np

from solverscope.app.runs import problem_cache
from solverscope.app.settings.recipe import Entrant, Recipe, RunLimits, make_run
from solverscope.app.stories import LAST_ITERATE, Story, stories
from solverscope.app.stories.question import StoryAnswer
from solverscope.solvers import (
    ACTIVE,
    CUTS,
    LINE,
    MEMORY,
    PLANE,
    ROWS,
    SHRINKING,
    TRAJECTORIES,
    WEIGHTS,
    Probe,
    Problem,
    Trace,
    relative_gap,
)
from solverscope.solvers.compute.lazy import lazy
from solverscope.solvers.probes import probe
from solverscope.solvers.runs.breakpoints import known
from tests.app.helpers import problem_of

#: What is observed of the runs of a story, beside the record.
PROBES: Mapping[str, tuple[Probe, ...]] = {
    "shrinking": (ACTIVE, SHRINKING, MEMORY),
    "wrong-guess": (ACTIVE, SHRINKING),
    "safe-or-bold": (ACTIVE, SHRINKING),
    "growing": (ACTIVE, SHRINKING),
    "features-die": (ROWS,),
    "exact-search": (LINE,),
    "armijo": (LINE,),
    "kink": (PLANE, LINE),
    "steepest": (PLANE,),
    "bundle": (CUTS, PLANE),
    "liblinear": (ACTIVE,),
    "together": (TRAJECTORIES, WEIGHTS),
    "double": (TRAJECTORIES, WEIGHTS),
    "clustering": (TRAJECTORIES,),
    "outliers": (LINE,),
    "screening-drops": (ACTIVE, SHRINKING),
}
#: The second one is for solvers that make random choices.
SEEDS = (0, 1)
#: A sentence ends here; "et al. 2014" goes on.
END = re.compile(r"(?<!\bal\.)(?<=[.?!]) +")


class Told:
    """A story and its runs, as the page would make them: ``told[label]`` is the trace of a run to its end."""

    def __init__(self, story: Story, seed: int) -> None:
        self.story, self.seed = story, seed

    def entrant(self, label: str) -> Entrant:
        """Return a solver of the story, with this seed if it makes random choices."""
        found = next(entrant for entrant in self.story.setting.entrants if entrant.label == label)
        return replace(found, params={**found.params, "seed": self.seed}) if found.make().random else found

    def __getitem__(self, label: str) -> Trace:
        entrant, setting = self.entrant(label), self.story.setting
        recipe = entrant.recipe(setting.problem)
        limits = replace(setting.limits, f_star=self.story.optimum(recipe))
        probes = PROBES.get(self.story.id, ())
        return _run(recipe.key, str(replace(entrant, label=entrant.id, penalty="")), limits, probes)

    @property
    def labels(self) -> list[str]:
        return [entrant.label for entrant in self.story.setting.entrants]

    def traces(self) -> Iterator[Trace]:
        """Return all runs, in their order."""
        return map(self.__getitem__, self.labels)

    def problem(self, label: str = "") -> Problem:
        return problem_of(self.story, label)

    @lazy
    def f_star(self) -> float:
        return self.story.optimum(self.story.setting.problem)

    def gap(self, label: str) -> np.ndarray:
        """Return the relative gaps of a run."""
        return relative_gap(self[label].objective, self[label].info.f_star)

    def row(self, label: str, gap: float) -> int:
        """Return the first row of a run with such a gap."""
        return int(np.flatnonzero(self.gap(label) <= gap)[0])

    def work(self, label: str, gap: float, column: str) -> float:
        """Return iterations, passes or seconds to a gap."""
        return float(self[label][column][self.row(label, gap)])

    def truth(self) -> StoryAnswer:
        """Return what the runs answer to what the story asks before them."""
        labels = tuple(self.labels)
        return self.story.ask.truth({label: [self[label]] for label in labels}, labels)

    def step(self, number: int) -> tuple[Trace, int]:
        """Return the run that a step of the guide talks about, and the row that its cursor is put on; steps
        are counted from 1."""
        step = self.story.steps[number - 1]
        trace = self[step.run]
        if step.until == LAST_ITERATE:
            return trace, len(trace) - 1
        condition = step.condition
        rows = [{name: known(name, trace[name][k]) for name in condition.fields} for k in range(len(trace))]
        before = [{}, *rows]
        return trace, next(k for k, row in enumerate(rows) if condition.holds(row, before[k]))


Check = Callable[[Told], None]
#: The check of each sentence, by its story.
CLAIMS: dict[tuple[str, str], Check] = {}


def claim(story: str, *sentences: str) -> Callable[[Check], Check]:
    """Register what checks these sentences of a story."""

    def register(check: Check) -> Check:
        for sentence in sentences:
            assert (story, sentence) not in CLAIMS, sentence
            CLAIMS[story, sentence] = check
        return check

    return register


@cache
def holds(check: Check, told: Told) -> None:
    """Check a story, once for all sentences that have this check."""
    check(told)


def sentences(text: str) -> list[str]:
    return END.split(text)


def told_by(story: Story) -> list[str]:
    """Return the sentences of a story and its guide, and what it asks before its run; its name or question
    only if it holds a number."""
    why = [story.ask.why] if story.ask else []
    texts = (story.summary, *story.look_for, *(step.text for step in story.steps), *why)
    asked = [text for text in (story.name, story.question) if re.search(r"\d", text)]
    asked += sentences(story.ask.text) if story.ask else []
    found = [sentence for text in texts for sentence in sentences(text)]
    return list(dict.fromkeys([*asked, *found]))


@cache
def told(id: str, seed: int) -> Told:
    return Told(stories()[id], seed)


def seeds(id: str) -> tuple[int, ...]:
    """Return the seeds on which a story is looked at: one where none of its solvers makes random choices."""
    random = any(entrant.make().random for entrant in stories()[id].setting.entrants)
    return SEEDS if random else SEEDS[:1]


@cache
def _run(recipe: str, entrant: str, limits: RunLimits, probes: tuple[Probe, ...]) -> Trace:
    """Run a solver to its end within the limits; stories share runs that are alike."""
    setting = Recipe(**json.loads(recipe))
    problem = problem_cache.problem(problem_cache.load(setting), setting)
    (chosen,) = Entrant.parse_all([entrant])
    # what the tests before this one hold in memory does not make this run keep fewer iterates
    with mock.patch.object(probe, "PROCESS_LIMIT", math.inf):
        return make_run(problem, chosen.make(), limits.stopping(limits.f_star), probes=probes).execute()


def starts(trace: Trace, phase: str) -> np.ndarray:
    """Return the first rows of a phase."""
    inside = trace.phase == phase
    return np.flatnonzero(inside & ~np.append(False, inside[:-1]))
