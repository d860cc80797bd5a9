"""The question of a story before its runs: the visitors' answers, and the answer that the runs give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from solverscope.app import ui
from solverscope.app.page.protocols import PanelPage
from solverscope.app.settings.recipe import make_run
from solverscope.app.stories.question import StoryAnswer, StoryQuestion
from solverscope.solvers import FIELDS, LINE, Trace
from solverscope.solvers.probes.study import Study

#: Number of intervals of a plot of φ.
FINE = 120
#: Maximal number of followers' answers that are counted.
MAX_COUNTED_ANSWERS = 1000
#: Fields of the question that the poll of a lesson shows.
POLL = ("text", "kind", "choices", "open", "low", "high", "range", "unit", "why", "picture", "search")
#: Maximal number of different answers of followers that are shown.
MAX_SHOWN_ANSWERS = 12


class Prediction:
    """The visitor's answer to the question of the story.

    It can be given and changed until the story's own runs start, which determine the ``truth``. Nothing waits
    for an answer. Answers of followers are counted, one for each browser tab, without names.
    """

    def __init__(self, page: PanelPage) -> None:
        self._page = page
        self.reset()

    def reset(self) -> None:
        """Discard the answer after another story was opened."""
        self.answer: str | float | None = None
        self.skipped = False
        self.truth: StoryAnswer | None = None
        self.picture: dict[str, list[float]] = {}
        self._drawing = False
        self._answers: dict[str, str | float] = {}  # of followers

    def adopt(self, other: Prediction) -> None:
        """Take over the answers given on the page that this page replaces."""
        self.answer, self.skipped, self.truth = other.answer, other.skipped, other.truth
        self.picture, self._answers = other.picture, other._answers

    @property
    def ask(self) -> StoryQuestion | None:
        """Return the question of the story, or None if it has none."""
        return self._page.story.ask

    @property
    def started(self) -> bool:
        """Return whether the runs on the page are those that the question is about."""
        return self._page.running == self._page.story.setting

    @property
    def open(self) -> bool:
        """Return whether the question can be answered now."""
        return self.ask is not None and not (self.skipped or self.started or self.truth)

    def take(self, given: object) -> None:
        """Store an answer, or replace it, if the question can be answered."""
        if self.open:
            found = self.ask.answer(given, self._page.story.labels)
            self.answer = self.answer if found is None else found

    def skip(self) -> None:
        """Skip the question."""
        self.skipped = self.skipped or self.open

    def update(self) -> None:
        """Determine the right answer from the runs, once they have ended."""
        if self.ask is None or self.truth is not None:
            return
        if not self.started:
            self._draw()
        elif not self.skipped:
            runs: dict[str, list[Trace]] = {}
            for run in self._page.session.runs:
                if run.trace and run.label in self._page.racing and not (run.ghost or run.stays):
                    runs.setdefault(self._page.racing[run.label], []).append(run.trace)
            self.truth = self.ask.truth(runs, self._page.story.labels)

    @property
    def state(self) -> dict[str, Any]:
        """Return the content of the card.

        It is empty if there is no question, if the question was skipped, or if the page's settings are not
        those that it is about.
        """
        ask, about = self.ask, self._page.story.setting
        elsewhere = self._page.setting != about and not (self.started or self.truth)
        if ask is None or self.skipped or elsewhere:
            return {}
        told = {"text": ask.text, "kind": ask.kind, "choices": list(ask.offers(self._page.story.labels))}
        told |= {"open": self.open, "answer": self.answer}
        told["said"] = "" if self.truth is None else verdict(ask, self.answer, self.truth)
        told |= {"low": ask.low, "high": ask.high, "unit": ask.unit, "picture": self.picture}
        told["range"] = f"from {ui.number(ask.low)} to {ui.number(ask.high)}"
        told["given"] = "" if self.answer is None else worded(ask, self.answer)
        told |= {"others": [], "counted": ""} if self.open else self.others
        return told | {"why": ask.why if self.truth else "", "search": ask.search > 0}

    # those who follow

    @property
    def poll(self) -> dict[str, Any]:
        """Return the question for followers, or {} if there is none."""
        told = self.state
        said = "" if self.truth is None else verdict(self.ask, None, self.truth)
        return {name: told[name] for name in POLL} | {"said": said} if told else {}

    @property
    def counts(self) -> list[list[Any]]:
        """Return pairs of an answer and the number of followers who gave it, the most frequent first."""
        found = Counter(worded(self.ask, answer) for answer in self._answers.values())
        return (
            [[answer, number] for answer, number in found.most_common(MAX_SHOWN_ANSWERS)]
            if self.state
            else []
        )

    @property
    def others(self) -> dict[str, Any]:
        """Return the answers of followers, once the question can no longer be answered.

        Each answer has a count, and whether it is right. A line summarizes all answers.
        """
        ask, answers = self.ask, list(self._answers.values())
        found = Counter(answers).most_common(MAX_SHOWN_ANSWERS)
        right = () if self.truth is None else self.truth.right
        said = f"The class: {ui.counted(len(answers), 'answer')}" if answers else ""
        if answers and ask.kind != "choice":
            found.sort()
            said += f", median {worded(ask, float(np.median(answers)))}"
        rows = [[worded(ask, answer), number, answer in right] for answer, number in found]
        return {"others": rows, "counted": said}

    def count(self, who: object, given: object) -> bool:
        """Count the newest answer of a browser tab; return False if it is not accepted."""
        if not (self.state and self.open and isinstance(who, str)):
            return False
        answer = self.ask.answer(given, self._page.story.labels)
        counts = answer is not None and (
            who[:40] in self._answers or len(self._answers) < MAX_COUNTED_ANSWERS
        )
        if counts:
            self._answers[who[:40]] = answer
        return counts

    # the picture of a search

    def _draw(self) -> None:
        """Compute φ of the line search that the question is about, in a separate run that ends there."""
        ask, problem = self.ask, self._page.problem.problem
        story = self._page.story
        if not ask.search or self._drawing or problem is None or self._page.setting != story.setting:
            return
        self._drawing = True

        def work(pulse: Callable[[], None]) -> dict[str, list[float]]:
            entrant = next(one for one in story.setting.entrants if one.label == ask.run)
            limits = replace(story.setting.limits.stopping(None), max_iter=ask.search)
            run = make_run(problem.with_pulse(pulse), entrant.make(), limits, probes=(LINE,))
            _, seen = run.execute().probes.entry(LINE.name, ask.search)
            study = Study(problem, seen, pulse)
            t = np.linspace(ask.low, ask.high, FINE + 1)
            return {"t": t.tolist(), "phi": [study.phi(step) for step in t.tolist()]}

        def then(found: dict[str, list[float]] | None) -> None:
            if found is not None and self._page.story is story:
                self.picture = found

        self._page.session.later(self, work, then)


def worded(ask: StoryQuestion, answer: str | float | None) -> str:
    """Format an answer: a choice, or a number with its unit."""
    if answer is None or isinstance(answer, str):
        return answer or ""
    shown = ui.number(answer, 3)
    return f"t = {shown}" if ask.search else f"{shown} {ask.unit}".strip()


def verdict(ask: StoryQuestion, answer: str | float | None, truth: StoryAnswer) -> str:
    """Return sentences with the visitor's answer, the right one, and the numbers of the runs."""
    if truth.value is None:
        return "No run came as far as the question asks."
    name = FIELDS[ask.value].title
    was = " and ".join(truth.right) or worded(ask, truth.value)
    of = f" (median of {truth.of} runs)." if truth.of > 1 else "."
    counts = ask.kind == "choice" and not ask.against
    digits = 6 if ask.value == "objective" else 4  # objectives of runs that end alike differ late
    shown = {label: ui.cell(FIELDS[ask.value], value, digits) for label, value in truth.values.items()}
    figures = ", ".join(f"{label} {text}" for label, text in shown.items()) if counts or ask.against else ""
    told = f"It was {was}{of}" if answer is None else f"You said {worded(ask, answer)}; it was {was}{of}"
    if answer is not None and answer in truth.right:
        told = f"You said {worded(ask, answer)}, and so it was{of}"
    return f"{told} {ui.capital(name)}: {figures}." if figures else told
