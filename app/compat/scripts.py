"""Changes made in the browser: each is a script in ``assets/compat`` whose first comment declares its
:class:`.Change` in TOML."""

from __future__ import annotations

import tomllib
from pathlib import Path

from solverscope.app.compat.change import Change

SCRIPTS_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "compat"


def _change(file: Path) -> Change:
    about, _, script = file.read_text(encoding="utf-8").partition("*/\n")
    said = tomllib.loads(about.removeprefix("/*"))
    lists = {name: tuple(value) for name, value in said.items() if isinstance(value, list)}
    return Change(name=file.stem, script=script, **said | lists)


#: The changes by name; they are independent, so their order does not matter.
CHANGES = {file.stem: _change(file) for file in sorted(SCRIPTS_FOLDER.glob("*.js"))}


def scripts() -> str:
    """Return the source of the scripts of all changes that fit."""
    return "\n".join(change.script for change in CHANGES.values() if change.fits())
