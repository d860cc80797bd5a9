"""What the pointer shows of a control stands in one file, and is used where the control is made."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from solverscope.app import ui
from solverscope.app.help import all_tips, table, tip

APP = Path(__file__).resolve().parents[3] / "app"
#: A text that a script or module shows as a tooltip, and does not take from the file.
LITERAL = re.compile(r"""\btitle: ["'`][A-Z]|\bcalled\(["'`]|\bdescription=["']""")
IDS = all_tips().keys()


def sources() -> dict[Path, str]:
    files = [*ui.ASSETS.glob("*.js"), *APP.rglob("*.py")]
    return {file: file.read_text(encoding="utf-8") for file in files}


def test_every_tooltip_is_used_and_every_used_one_is_there():
    texts = sources().values()
    called = {id for text in texts for id in re.findall(r'\btip\(\s*"(\w+\.\w+)"', text)}
    assert called - IDS == set()
    named = {id for text in texts for id in re.findall(r'"(\w+\.\w+)"', text)}
    unused = {id for id in IDS - named if not id.startswith("header_buttons.")}
    assert unused == set()
    assert "tip(`header_buttons.${view}`)" in ui.asset("header_buttons.js")


def test_no_script_and_no_module_has_a_tooltip_of_its_own():
    found = {file.name: LITERAL.findall(text) for file, text in sources().items()}
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_values_stand_in_place_of_the_names_in_braces():
    assert tip("legend.pause", label="prox-qn") == "Pause prox-qn"
    with pytest.raises(KeyError):
        tip("legend.nothing")


def test_a_script_has_the_tooltips_of_its_files_as_data():
    text = ui.script("tables.js", "runs.js")
    assert tip("runs.pin", title="{title}") in text
    assert table("tooltips")["teaching"]["open"] not in text
    head = ui.head_script("plots.js")
    assert json.dumps(all_tips(), ensure_ascii=False) in head
    assert "TIPS = " not in ui.page_script("legend.js")
