"""Stories: set-ups with a question, one TOML file each beside this one."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from app.setting import ProblemSetting, Setting, SolverSetting, typed
from solvers import PENALTIES


@dataclass(frozen=True)
class Story:
    """A set-up, the question it asks and what to look for. ``f_star`` is the optimum of its problem;
    ``view`` presets the page (``x``, ``tab``, ``pace``)."""

    id: str
    name: str
    summary: str
    question: str
    look_for: tuple[str, ...]
    setting: Setting
    f_star: float | None = None
    view: dict[str, Any] = field(default_factory=dict)


def read(path: Path) -> Story:
    """The story in a TOML file."""
    text = tomllib.loads(path.read_text(encoding="utf-8"))
    about = dict(text["problem"])
    given = {name: value for name, value in about.items() if name != "penalty_params"}
    params = about.get("penalty_params", {})
    problem = replace(ProblemSetting(given.pop("data")), **given)
    problem = replace(problem, penalty_params=typed(PENALTIES[problem.penalty], params))
    setting = Setting(problem, SolverSetting.parse_all(text["solvers"]), **text.get("stop", {}))
    return Story(
        id=text["id"],
        name=text["name"],
        summary=text["summary"],
        question=text["question"],
        look_for=tuple(text["look_for"]),
        setting=setting,
        f_star=text.get("f_star"),
        view=text.get("view", {}),
    )


@cache
def stories() -> dict[str, Story]:
    """All stories by id; the file names give the order, and the first is the page's default."""
    found = [read(path) for path in sorted(Path(__file__).parent.glob("*.toml"))]
    return {story.id: story for story in found}
