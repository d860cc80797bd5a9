"""A visitor who presses whatever is there, on a busy machine, while another traces a λ path undisturbed."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from random import Random

import pytest
from playwright.sync_api import Locator
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from app.page.run_controls import DRAWING, PACES
from app.stories import stories
from app.views import TABS
from app.views.convergence import MEASURES
from app.views.plot import SCALES, X_AXES
from tests.browser.conftest import Visit, complaints
from tests.browser.test_path import QUERY, points

#: Seconds of the walk.
SHORT, LONG = 20.0, 120.0
BUTTONS = ("Run", "Resume", "Pause", "Step", "Stop", "Clear", "Toggle theme")
STORIES = [story.name for story in stories().values()]
MENUS = {
    "Story": STORIES,
    "Against": [name for name, _ in X_AXES.values()],
    "Scale": list(SCALES),
    "Show": [name for name, _ in MEASURES.values()],
    "Speed, iterations": list(PACES),
    "Plots": list(DRAWING),
}


@pytest.fixture
def busy_machine() -> Generator[None, None, None]:
    """Two processes that do nothing but compute."""
    spin = [sys.executable, "-c", "while True: pass"]
    spinning = [subprocess.Popen(spin) for _ in range(2)]
    yield
    for process in spinning:
        process.kill()
        process.wait()


class Walker:
    """Takes one step after the other, at random but the same with the same seed, and says which."""

    def __init__(self, tab: Visit, seed: int) -> None:
        self.tab, self.said, self._random = tab, list[str](), Random(seed)
        steps: list[tuple[int, Callable[[], None]]] = [(8, self._press), (4, self._open), (4, self._choose)]
        steps.append((3, lambda: self._pick("Story")))
        self._weights, self._steps = zip(*steps, strict=True)

    def step(self) -> None:
        self._random.choices(self._steps, self._weights)[0]()
        self.tab.page.wait_for_timeout(self._random.choice((0, 50, 300)))

    def _press(self) -> None:
        self._send(self.tab.button(self._random.choice(BUTTONS)), "click")

    def _open(self) -> None:
        view = self._random.choice(list(TABS.values()))
        self._send(self.tab.page.get_by_role("tab", name=view.title, exact=True), "click")

    def _choose(self) -> None:
        self._pick(self._random.choice(list(MENUS)))

    def _pick(self, label: str) -> None:
        option = self._random.choice(MENUS[label])
        place = self.tab.page.get_by_role("combobox", name=label, exact=True).filter(visible=True)
        if not place.count():
            return
        place.first.click(force=True)
        choice = self.tab.page.get_by_role("listbox").get_by_text(option, exact=True)
        try:
            choice.first.wait_for(timeout=3000)
        except PlaywrightTimeout:  # the page has moved below the pointer
            self.tab.page.keyboard.press("Escape")
            return
        self.said.append(f"{label}: {option}")
        choice.first.dispatch_event("click")
        self.tab.page.get_by_role("listbox").wait_for(state="detached")

    def _send(self, place: Locator, event: str) -> None:
        """Straight to the element, if there is one: the pointer's way to it on a page that changes all the
        time would take most of the walk."""
        place = place.filter(visible=True)
        if not place.count():
            return
        with contextlib.suppress(PlaywrightTimeout):  # Resume, say, has just become Run
            place.first.dispatch_event(event, {"button": 0}, timeout=3000)
            self.said.append(f"{event} {place}".partition("selector=")[2])


@pytest.mark.parametrize("seconds", [SHORT, pytest.param(LONG, marks=pytest.mark.bench)])
def test_nothing_breaks_whatever_is_pressed_and_another_visitor_is_not_disturbed(
    visit, server, busy_machine, seconds
):
    before = len(server.log.read_text())
    walker, other = Walker(visit(), seed=10), visit(**QUERY)
    walker.tab.page.set_default_timeout(60_000)
    other.wait_until(lambda: other.button("Trace the path").is_enabled(), "the data", 60)
    other.button("Trace the path").dispatch_event("click")
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        walker.step()
        assert walker.tab.errors == [], walker.said[-5:]
    assert len(walker.said) > seconds / 2
    assert any(said.startswith("Story") for said in walker.said)

    other.page.get_by_text("20 solutions in").wait_for(timeout=120_000)
    for figure in ("path-accuracy", "path-nnz", "path-seconds"):
        other.wait_until(lambda figure=figure: points(other, figure) == [10, 10], f"two paths in {figure}")
    assert other.page.get_by_text("cannot be drawn").count() == 0
    assert other.errors == []

    tab = walker.tab
    tab.page.set_default_timeout(60_000)
    tab.button("Stop").dispatch_event("click")
    tab.choose("Story", STORIES[0])
    tab.choose("Plots", "live")
    tab.choose("Speed, iterations", "full")
    tab.wait_until(lambda: tab.query().get("story") == next(iter(stories())), "the first story", 60)
    tab.wait_until(lambda: tab.button("Run").is_enabled(), "Run to be possible", 60)
    tab.button("Clear").dispatch_event("click")
    tab.wait_until(lambda: tab.states() == [], "an empty legend")
    tab.button("Run").click()
    tab.wait_until(lambda: tab.points("convergence") > 3, "points", 60)
    assert tab.errors == []
    assert complaints(server.log.read_text()[before:]) == []
