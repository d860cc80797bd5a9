"""The page in a window of its own: which browser shows it, and what ends with it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import psutil
import pytest

from solverscope.app.command import desktop
from solverscope.app.command.cli import main

#: A program in place of a browser: it reads the page and its manifest, and ends as if its window were closed.
BROWSER = """#!{python}
import json, sys, urllib.request
address = sys.argv[1].removeprefix("--app=")
read = lambda at: urllib.request.urlopen(at).read().decode()
page = read(address)
manifest = json.loads(read(address.partition("?")[0] + "/manifest.webmanifest"))
icon = read(address.partition("?")[0] + "/" + manifest["icons"][0]["src"])
told = {{"arguments": sys.argv[1:], "page": "Solverscope" in page, "manifest": manifest, "icon": icon[:4]}}
open({out!r}, "w").write(json.dumps(told))
sys.exit({status})
"""


def browser(tmp_path: Path, status: int = 0) -> tuple[str, Path]:
    program, out = tmp_path / "browser", tmp_path / "told.json"
    program.write_text(BROWSER.format(python=sys.executable, out=str(out), status=status))
    program.chmod(0o755)
    return str(program), out


@pytest.mark.slow
def test_the_page_is_served_to_the_window_and_the_server_ends_with_it(tmp_path):
    program, out = browser(tmp_path)
    assert main(["open", "story=armijo", "--browser", program]) == 0
    told = json.loads(out.read_text())
    address, profile = told["arguments"][:2]
    assert address.startswith("--app=http://localhost:")
    assert address.endswith("/app?story=armijo")
    assert not Path(profile.removeprefix("--user-data-dir=")).exists(), "it leaves no profile"
    assert told["page"]
    assert told["icon"] == "<svg"
    assert (told["manifest"]["start_url"], told["manifest"]["display"]) == ("../app", "standalone")
    served = [child for child in psutil.Process().children(recursive=True) if "serve" in child.cmdline()]
    assert served == []


@pytest.mark.slow
def test_a_browser_that_fails_is_told_by_its_status(tmp_path):
    program, _ = browser(tmp_path, status=7)
    assert main(["open", "--browser", program]) == 7


def test_a_browser_that_is_not_there_is_one_sentence(capsys, monkeypatch):
    assert main(["open", "--browser", "no-such-browser"]) == 2
    assert "there is no browser 'no-such-browser'" in capsys.readouterr().err
    monkeypatch.setattr(desktop.shutil, "which", lambda name: None)
    assert main(["open"]) == 2
    assert "neither Chromium, Chrome nor Edge is installed" in capsys.readouterr().err


def test_the_first_browser_that_is_installed_is_taken(monkeypatch):
    monkeypatch.setattr(desktop.shutil, "which", lambda name: f"/there/{name}" if "edge" in name else None)
    assert desktop.find_browser() == "/there/microsoft-edge"
