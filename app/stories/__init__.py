"""Stories: set-ups with a question, in one TOML file each in this folder; some guide the visitor step by
step."""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from solverscope.app.settings.experiment import Experiment
from solverscope.app.settings.recipe import PAGE_LIMITS, Entrant, Recipe, info_of, typed
from solverscope.app.stories.question import LAST_ITERATE, StoryQuestion
from solverscope.solvers import PENALTIES, Condition

log = logging.getLogger(__name__)

#: Id and name in place of those of a story.
FREE, FREE_NAME = "free", "Free experiment"
#: The files of stories.
STORIES_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class StoryStep:
    """A step of a guided story.

    It has a ``text`` and settings to ``set``, as URL parameters, and may ``start`` the runs. The cursor moves
    to the first iterate of ``run`` that satisfies the condition ``until``, or to the last iterate if that is
    "last". Without a condition the cursor follows the run. ``view`` is the id of the view to highlight.
    """

    text: str
    set: Mapping[str, str] = field(default_factory=dict)
    start: bool = False
    run: str = ""
    until: str = ""
    view: str = ""

    @property
    def condition(self) -> Condition | None:
        """Return the condition for the iterate under the cursor, or None if ``until`` is empty or "last"."""
        return None if self.until in ("", LAST_ITERATE) else Condition.parse(self.until)


@dataclass(frozen=True)
class Story:
    """A set-up with a question and things to look for.

    ``f_star`` maps penalties to optima: that of the story's problem, and those for solvers with other
    penalties. ``view`` contains settings of the page (``x``, ``tab``, ``speed``). ``steps`` guide through the
    story, and ``ask`` is a question to be answered before its run.
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
    steps: tuple[StoryStep, ...] = ()
    ask: StoryQuestion | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels of its runs."""
        return tuple(entrant.label for entrant in self.setting.entrants)

    def optimum(self, problem: Recipe) -> float | None:
        """Return f* of a problem if it is that of the story or of one of its solvers, else None.

        The starting point does not matter.
        """
        own = self.setting.problem
        solved = map(_anywhere, (own, *(entrant.recipe(own) for entrant in self.setting.entrants)))
        return self.f_star.get(problem.penalty) if _anywhere(problem) in solved else None


def _place(path: Path) -> tuple[int, str]:
    """Return the number and the id of a story, given by its file name. Raises ValueError if the name is
    invalid."""
    number, _, id = path.stem.partition("-")
    if not (number.isdecimal() and id):
        raise ValueError(f"its file is named NUMBER-ID.toml, and not {path.name}")
    return int(number), id


def _anywhere(problem: Recipe) -> Recipe:
    """Return the problem without the starting point, which is an option of functions."""
    return replace(problem, options={k: v for k, v in problem.options.items() if k != "start"})


def read(path: Path) -> Story:
    """Read the story in a TOML file.

    Raises ValueError, which names the file, if the story is invalid or cannot be run here.
    """
    try:
        text = tomllib.loads(path.read_text(encoding="utf-8"))
        for part in ("problem", "look_for", "solvers"):
            if part not in text:
                raise ValueError(f"it lacks {part!r}")
        problem = Recipe(**text.pop("problem"))
        problem = replace(problem, penalty_params=typed(PENALTIES[problem.penalty], problem.penalty_params))
        limits = replace(PAGE_LIMITS, **text.pop("stop", {}))
        story = Story(
            id=_place(path)[1],
            look_for=tuple(text.pop("look_for")),
            setting=Experiment(problem, Entrant.parse_all(text.pop("solvers")), limits),
            steps=tuple(StoryStep(**step) for step in text.pop("step", ())),
            ask=StoryQuestion(**text.pop("ask")) if "ask" in text else None,
            **text,
        )
        for wrong in _wrong(story):
            raise ValueError(wrong)
    except KeyError as error:
        raise ValueError(f"{path.name} is no story: it names {error}, which is not there") from error
    except OSError as error:
        raise ValueError(f"{path.name} is no story: it cannot be read ({error.strerror})") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"{path.name} is no story: {error}") from error
    return story


def _wrong(story: Story) -> Iterator[str]:
    """Yield a sentence for each part of a story that the page cannot show or run."""
    texts = [story.name, story.topic, story.summary, story.question, *story.look_for]
    texts += [text for step in story.steps for text in (step.text, step.run, step.until, step.view)]
    if not all(isinstance(text, str) for text in texts):
        yield "its name, topic, summary, question, look_for and the entries of its steps are texts"
    for given in (story.view, *(step.set for step in story.steps)):
        if not all(isinstance(text, str) for pair in given.items() for text in pair):
            yield "its view, and what its steps set, are texts by name"
    if not all(isinstance(f, int | float) for f in story.f_star.values()):
        yield "f_star has a number for each penalty"
    named = [step.run for step in story.steps]
    named += [] if story.ask is None else [story.ask.run, story.ask.against]
    for run in named:
        if run and run not in story.labels:
            yield f"it has no run {run!r}: its runs are {', '.join(story.labels)}"
    for step in story.steps:
        step.condition  # noqa: B018  it is parsed
    if not story.setting.entrants:
        yield "it names no solver"
    info_of(story.setting.problem.data)  # else it would be taken as it is
    story.setting.limits.stopping()
    setting = story.setting
    for given in (setting.address(), *(step.set for step in story.steps)):
        setting, wrong = Experiment.read_parts(given, setting)
        for name, one_of, why in wrong:
            yield f"{name} is {given[name] if one_of is None else one_of!r}: {why}"


_read = cache(read)


def stories() -> dict[str, Story]:
    """Return all stories by id, in the order of their numbers; the first is the page's default.

    Stories that cannot be read or run here are omitted, until the solvers that they lack are registered.
    """
    return _all()[0]


def free() -> Story:
    """Return the story of a free experiment: no question, and at first the settings of the first story."""
    first = next(iter(stories().values()))
    without = {"id": FREE, "name": FREE_NAME, "summary": "", "question": "", "look_for": ()}
    return replace(first, **without, steps=(), ask=None)


def left_out() -> dict[str, str]:
    """Return why stories are omitted, by id; log each reason once."""
    wrong = _all()[1]
    for sentence in wrong.values():
        _log_once(sentence)
    return wrong


@cache
def _log_once(sentence: str) -> None:
    log.warning("a story is left out: %s", sentence)


def _all() -> tuple[dict[str, Story], dict[str, str]]:
    found, wrong = [], {}
    for path in STORIES_FOLDER.glob("*.toml"):
        try:
            found.append((_place(path), _read(path)))
        except ValueError as error:
            wrong[path.stem.partition("-")[2] or path.stem] = str(error)
    return {story.id: story for _, story in sorted(found, key=lambda one: one[0])}, wrong


def by_topic() -> dict[str, dict[str, str]]:
    """Return the ids of stories by topic and name; topics are in the order of their first story."""
    found: dict[str, dict[str, str]] = {}
    for story in stories().values():
        found.setdefault(story.topic, {})[story.name] = story.id
    return found
