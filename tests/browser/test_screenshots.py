"""Pictures of the default story at its start, on its way and at its end, in both themes.

With ``SOLVERSCOPE_SCREENSHOTS=1`` they are written to ``assets/``, from where README shows them; otherwise
the runs end earlier and the pictures are thrown away.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ASSETS = Path(__file__).resolve().parents[2] / "assets"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_default_story_is_photographed(visit, tmp_path, theme):
    kept = os.environ.get("SOLVERSCOPE_SCREENSHOTS") == "1"
    folder, query = (ASSETS, {}) if kept else (tmp_path, {"tol": "1e-3"})
    tab = visit(**query)

    def shoot(name: str) -> int:
        path = folder / f"screenshot-{theme}{name}.png"
        tab.page.wait_for_timeout(800)
        tab.page.screenshot(path=path)
        return path.stat().st_size

    if theme == "dark":
        tab.button("Toggle theme").click()
    tab.page.mouse.move(700, 20)
    sizes = [shoot("-start")]
    tab.button("Run").click()
    tab.wait_until(lambda: tab.points("convergence") > 0 and tab.iteration("prox-qn") > 45, "the way", 120)
    tab.button("Pause").click()
    tab.wait_until(lambda: "paused" in tab.states() and "running" not in tab.states(), "a pause")
    sizes.append(shoot(""))
    tab.button("Resume").click()
    tab.wait_until(lambda: tab.row("prox-qn")["state"] == "finished", "the end of prox-qn", 180)
    tab.button("Stop").click()
    tab.wait_until(lambda: "running" not in tab.states(), "the end")
    sizes.append(shoot("-end"))
    assert min(sizes) > 30_000, "an empty page is smaller"
