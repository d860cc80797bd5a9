"""Texts of the assets folder: style sheets and scripts."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from solverscope.app.help import all_tips, glossary, tips

ASSETS = Path(__file__).resolve().parents[2] / "assets"


@cache
def asset(*names: str) -> str:
    """Return the concatenated text of files in the assets folder; raise ValueError if one is missing."""
    try:
        return "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in names)
    except FileNotFoundError as error:
        raise ValueError(
            f"there is no {error.filename}, which plots and pages are drawn with: the installation is "
            "damaged, so install Solverscope again"
        ) from None


@cache
def script(*names: str, **exports: str) -> str:
    """Return the script of a component that stands alone, as in a notebook: these files and all they need.

    ``exports`` are functions of a component by the names that Panel calls them, as ``render``, unless the
    files export these themselves.
    """
    texts = {id: text for name in names for id, text in tips(name.removesuffix(".js")).items()}
    return f"{_library(texts)}\n{page_script(*names, **exports)}"


@cache
def page_script(*names: str, **exports: str) -> str:
    """Return the script of a component of the page, after the scripts that it needs."""
    text = asset(*names)
    if not exports:
        return text
    functions = ", ".join(f"{function} as {name}" for name, function in exports.items())
    return f"{text}\nexport {{{functions}}}"


@cache
def head_script(*names: str) -> str:
    """Return the script in the head of a page: tooltips, the glossary, ``elements.js`` and these files."""
    words = f"const GLOSSARY = {json.dumps(glossary(), ensure_ascii=False)}"
    return f"{_library(all_tips())}\n{words}\n{asset(*names)}"


def _library(texts: dict[str, str]) -> str:
    """Return ``elements.js`` with the tooltips that it finds by their ids."""
    return f"const TIPS = {json.dumps(texts, ensure_ascii=False)}\n{asset('elements.js')}"
