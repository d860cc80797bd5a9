"""Style sheets and scripts, read from the assets folder."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from solverscope.app.help import all_tips, glossary, tips

ASSETS = Path(__file__).resolve().parents[2] / "assets"


@cache
def asset(*names: str) -> str:
    """Return the concatenated content of files in the assets folder. Raises ValueError if one is missing."""
    try:
        return "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in names)
    except FileNotFoundError as error:
        raise ValueError(
            f"there is no {error.filename}, which plots and pages are drawn with: the installation is "
            "damaged, so install Solverscope again"
        ) from None


@cache
def script(*names: str, **exports: str) -> str:
    """Return the script of a component that is used outside of the page, as in a notebook.

    It consists of these files and the library that they need. ``exports`` maps the names under which Panel
    calls functions, such as ``render``, to the functions, unless the files export them.
    """
    texts = {id: text for name in names for id, text in tips(name.removesuffix(".js")).items()}
    return f"{_library(texts)}\n{page_script(*names, **exports)}"


@cache
def page_script(*names: str, **exports: str) -> str:
    """Return the script of a component of the page, whose library is loaded with the page.

    ``exports`` is the same as for :func:`script`.
    """
    text = asset(*names)
    if not exports:
        return text
    functions = ", ".join(f"{function} as {name}" for name, function in exports.items())
    return f"{text}\nexport {{{functions}}}"


@cache
def head_script(*names: str) -> str:
    """Return the script in the head of the page: tooltips, glossary, ``elements.js`` and these files."""
    words = f"const GLOSSARY = {json.dumps(glossary(), ensure_ascii=False)}"
    return f"{_library(all_tips())}\n{words}\n{asset(*names)}"


def _library(texts: dict[str, str]) -> str:
    """Return ``elements.js``, preceded by the tooltips by id."""
    return f"const TIPS = {json.dumps(texts, ensure_ascii=False)}\n{asset('elements.js')}"
