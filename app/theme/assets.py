"""Texts of the assets folder: style sheets and scripts."""

from __future__ import annotations

from functools import cache
from pathlib import Path

ASSETS = Path(__file__).resolve().parents[2] / "assets"


@cache
def asset(*names: str) -> str:
    """Return the text of files in the assets folder, one after the other; ValueError where they are not."""
    try:
        return "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in names)
    except FileNotFoundError as error:
        raise ValueError(
            f"there is no {error.filename}, which plots and pages are drawn with: the installation is "
            "damaged, so install Solverscope again"
        ) from None
