"""Texts that the page shows on request, stored in TOML files: tooltips, and descriptions of the plots."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

HELP_FOLDER = Path(__file__).parent


@cache
def table(name: str) -> dict[str, Any]:
    """Return the content of a TOML file in this folder, given its name without suffix."""
    return tomllib.loads((HELP_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def tips(component: str) -> dict[str, str]:
    """Return the tooltips of a component by their ids, ``component.control``; empty if it has none."""
    return {f"{component}.{control}": text for control, text in table("tooltips").get(component, {}).items()}


def all_tips() -> dict[str, str]:
    """Return the tooltips of all components by their ids."""
    return {id: text for component in table("tooltips") for id, text in tips(component).items()}


def glossary() -> list[dict[str, Any]]:
    """Return the technical terms in stories: id, names, text, and the two paths of an icon."""
    return [{"id": id, **word} for id, word in table("glossary").items()]


def tip(id: str, **values: object) -> str:
    """Return the tooltip with an id, with names in braces replaced by ``values``."""
    return tips(id.partition(".")[0])[id].format(**values)
