"""Pictures of the default story at its start, on its way and at its end, in both themes, and of others at
their end.

With ``SOLVERSCOPE_SCREENSHOTS=1`` they are written to ``assets/``, from where README shows them; otherwise
the runs end earlier and the pictures are thrown away.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.browser.conftest import LONG, Visit
from tests.browser.test_controls import SHADE
from tests.browser.test_page_sizes import BOXES, boxes, ended

pytestmark = pytest.mark.slow

#: Difference of the largest and the smallest channel from which a pixel has a colour of its own.
VIVID = 60
ASSETS = Path(__file__).resolve().parents[2] / "assets"
KEPT = os.environ.get("SOLVERSCOPE_SCREENSHOTS") == "1"


@dataclass(frozen=True)
class Seen:
    """What a picture shows: how light most of it is, and how many pixels of each plot are coloured."""

    background: float
    colored: list[int]

    @classmethod
    def of(cls, path: Path, plots: Sequence[Mapping[str, float]]) -> Seen:
        pixels = np.asarray(Image.open(path).convert("RGB")).astype(int)
        colored = []
        for box in plots:
            left, top, width, height = (int(box[name]) for name in ("x", "y", "width", "height"))
            # inside the axes, left of the tools
            plot = pixels[top + 8 : top + height - 60, left + 70 : left + width - 50]
            colored.append(int((np.ptp(plot, axis=2) > VIVID).sum()))
        return cls(float(np.median(pixels)), colored)


def photographed(tab: Visit, path: Path) -> Seen:
    """Take a picture of the page, once it is drawn."""
    tab.frames()
    tab.faded()
    tab.page.screenshot(path=path)
    places = [plot.bounding_box() for plot in tab.page.locator(".bk-Canvas").all()]
    return Seen.of(path, [place for place in places if place is not None][:2])


@pytest.mark.parametrize("story", ["kink", "together"])
def test_other_stories_are_photographed_at_their_end(visit, tmp_path, story):
    tab = ended(visit(story=story, speed="full"))
    tab.wait_until(lambda: len(tab.page.evaluate(BOXES)["plots"]) > 4, "the figures of the tab")
    boxes(tab)
    tab.page.mouse.move(700, 20)
    seen = photographed(tab, (ASSETS if KEPT else tmp_path) / f"screenshot-{story}.png")
    assert min(seen.colored) > 100, "curves"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_default_story_is_photographed(visit, tmp_path, theme):
    folder, query = (ASSETS, {}) if KEPT else (tmp_path, {"tol": "1e-3"})
    tab = visit(**query)

    def shoot(name: str) -> Seen:
        return photographed(tab, folder / f"screenshot-{theme}{name}.png")

    if theme == "dark":
        tab.button("Toggle theme").click()
        tab.wait_until(lambda: tab.page.evaluate(SHADE) == "rgb(18, 20, 22)", "a dark page")
    tab.page.mouse.move(700, 20)
    seen = [shoot("-start")]
    tab.button("Run").click()
    tab.wait_until(lambda: tab.points("convergence") > 0 and tab.iteration("prox-qn") > 45, "the way", LONG)
    tab.button("Pause").click()
    tab.wait_until(lambda: "paused" in tab.states() and "running" not in tab.states(), "a pause")
    seen.append(shoot(""))
    tab.button("Resume").click()
    tab.wait_until(lambda: tab.row("prox-qn")["state"] == "finished", "the end of prox-qn", LONG)
    tab.button("Stop").click()
    tab.wait_until(lambda: "running" not in tab.states(), "the end")
    seen.append(shoot("-end"))
    for picture in seen:
        assert (picture.background > 200) == (theme == "light")
    start, way, end = (picture.colored for picture in seen)
    for plot in range(2):
        assert start[plot] < 20, "no run yet"
        assert min(way[plot], end[plot]) > 300, "curves"
