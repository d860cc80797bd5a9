"""Stories: set-ups with a question, one TOML file each beside this one; some lead a visitor through."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from app.settings.experiment import Experiment
from app.settings.recipe import PAGE_LIMITS, Entrant, Recipe, typed
from app.stories.ask import LAST, Ask
from solvers import PENALTIES, Condition


@dataclass(frozen=True)
class Step:
    """A step of a guided story: what is said, what is ``set`` (by the names of an address), whether the runs
    ``start``, the ``run`` and the condition ``until`` whose first iterate gets the cursor (or "last"; without
    one the cursor follows the run), and the ``view`` that is pointed at, by its id."""

    text: str
    set: Mapping[str, str] = field(default_factory=dict)
    start: bool = False
    run: str = ""
    until: str = ""
    view: str = ""

    @property
    def condition(self) -> Condition | None:
        """Return what the iterate under the cursor is the first to satisfy; None for a head or an end."""
        return None if self.until in ("", LAST) else Condition.parse(self.until)


@dataclass(frozen=True)
class Story:
    """A set-up, the question it asks and what to look for. ``f_star`` holds optima by penalty, that of its
    problem and those that solvers have of their own; ``view`` presets the page (``x``, ``tab``, ``speed``).
    ``steps`` lead through it, and ``ask`` is answered before its run, if there are any.
    """

    id: str
    name: str
    topic: str
    summary: str
    question: str
    look_for: tuple[str, ...]
    setting: Experiment
    f_star: Mapping[str, float] = field(default_factory=dict)
    view: dict[str, Any] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    ask: Ask | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """Return what its runs are called."""
        return tuple(entrant.label for entrant in self.setting.entrants)

    def optimum(self, problem: Recipe) -> float | None:
        """Return f* if it is the story's problem, or that of one of its solvers, from whatever start; else
        None."""
        own = self.setting.problem
        solved = map(_anywhere, (own, *(entrant.recipe(own) for entrant in self.setting.entrants)))
        return self.f_star.get(problem.penalty) if _anywhere(problem) in solved else None


def _place(path: Path) -> tuple[int, str]:
    """Return the number and the id of a story, which its file is named by."""
    number, _, id = path.stem.partition("-")
    return int(number), id


def _anywhere(problem: Recipe) -> Recipe:
    """Return the problem but for where runs on a function start."""
    return replace(problem, options={k: v for k, v in problem.options.items() if k != "start"})


def read(path: Path) -> Story:
    """Read the story in a TOML file; ValueError that names the file where it is none."""
    try:
        text = tomllib.loads(path.read_text(encoding="utf-8"))
        problem = Recipe(**text.pop("problem"))
        problem = replace(problem, penalty_params=typed(PENALTIES[problem.penalty], problem.penalty_params))
        limits = replace(PAGE_LIMITS, **text.pop("stop", {}))
        return Story(
            id=_place(path)[1],
            look_for=tuple(text.pop("look_for")),
            setting=Experiment(problem, Entrant.parse_all(text.pop("solvers")), limits),
            steps=tuple(Step(**step) for step in text.pop("step", ())),
            ask=Ask(**text.pop("ask")) if "ask" in text else None,
            **text,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path.name} is no story: {error}") from error


@cache
def stories() -> dict[str, Story]:
    """Return all stories by id, in the order of their numbers; the first is the page's default."""
    found = [read(path) for path in sorted(Path(__file__).parent.glob("*.toml"), key=_place)]
    return {story.id: story for story in found}


def by_topic() -> dict[str, dict[str, str]]:
    """Return the ids of stories by name, within topics, each in the order of its first story."""
    found: dict[str, dict[str, str]] = {}
    for story in stories().values():
        found.setdefault(story.topic, {})[story.name] = story.id
    return found
