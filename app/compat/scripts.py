"""The changes made in the browser: a script of ``assets/compat`` each, which begins with the fields of its
:class:`.Change` as TOML in a comment."""

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


#: By their names; none of them changes what another one does, so that their order does not matter.
CHANGES = {file.stem: _change(file) for file in sorted(SCRIPTS_FOLDER.glob("*.js"))}


def scripts() -> str:
    """Return the scripts of the changes that fit."""
    return "\n".join(change.script for change in CHANGES.values() if change.fits())
