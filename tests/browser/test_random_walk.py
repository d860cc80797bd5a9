"""A visitor who presses whatever is there while another traces a λ path undisturbed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from random import Random

import pytest
from playwright.sync_api import Locator
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from solverscope import solvers
from solverscope.app.page.sidebar.run_controls import DRAWING, PACES
from solverscope.app.page.tabs import tab_bar
from solverscope.app.stories import stories
from solverscope.app.views import TABS, VIEW_GROUPS
from solverscope.app.views.base.plot import AXIS_SCALES, X_AXES
from solverscope.app.views.convergence.convergence import OBJECTIVE_MEASURES
from solverscope.datasets import DATASETS
from tests.browser.conftest import DEADLINE, Server, Visit, complaints
from tests.browser.test_path import QUERY, traced

#: Rounds of the walk, and its seed: another one is another walk. What can be done is a matter of luck, and a
#: busy machine allows little: while something has not been possible it goes on, at most so often as long.
SHORT, LONG = 1, 6
MORE = 3
SEED = int(os.environ.get("SOLVERSCOPE_SEED", "10"))
BUTTONS = ("Run", "Pause", "Step", "Stop", "Clear", "Toggle theme")
STORIES = [story.name for story in stories().values()]
WALKED = ("digits", "toy-abs", "digit-strings", "toy-hull", "breast-cancer", "synthetic-multilabel")
SETS = [DATASETS[id].name for id in WALKED]
PENALTIES = [cls.name for cls in solvers.PENALTIES.values()]
LOSSES = [cls.name for cls in solvers.LOSSES.values()]
MENUS = {
    "Against": [name for name, _ in X_AXES.values()],
    "Scale": list(AXIS_SCALES),
    "Show": [name for name, _ in OBJECTIVE_MEASURES.values()],
    "Speed, iterations": list(PACES),
    "Redraw": list(DRAWING),
}
SIDEBAR = {"Data set": SETS, "Loss": LOSSES, "Penalty": PENALTIES}
TITLES = [view.title for view in TABS.values()]
KEYS = ("Space", "ArrowLeft", "ArrowRight", "Home", "End", "Tab", "Enter", "Escape")
TYPED = ("0.01", "1", "-1", "x", "1e9", "")

#: What a walk of this length has done at its end, by kind; without cards anything of the kind.
WANTED = {
    SHORT: {"button": (), "tab": (), "key": (), "menu": ()},
    LONG: {
        **{"button": BUTTONS, "tab": TITLES, "menu": MENUS, "key": KEYS},
        **{"sidebar": SIDEBAR, "story": (), "field": (), "box": ()},
    },
}

#: The middle of an element, brought into sight; null if it cannot be used, or something lies over it.
WHERE = """(el) => {
  if (el.disabled || el.ariaDisabled === "true") { return null }
  el.scrollIntoView({block: "center", inline: "nearest"})
  const {left, top, width, height} = el.getBoundingClientRect()
  const [x, y] = [left + width / 2, top + height / 2]
  let hit = document.elementFromPoint(x, y)
  while (hit?.shadowRoot?.elementFromPoint(x, y) && hit !== hit.shadowRoot.elementFromPoint(x, y)) {
    hit = hit.shadowRoot.elementFromPoint(x, y)
  }
  for (let node = hit; node; node = node.parentNode ?? node.host) { if (node === el) { return [x, y] } }
  return hit && el.parentElement?.contains(hit) ? [x, y] : null
}"""


@pytest.fixture
def busy_machine() -> Generator[None, None, None]:
    """Two processes that do nothing but compute."""
    spin = [sys.executable, "-c", "while True: pass"]
    spinning = [subprocess.Popen(spin) for _ in range(2)]
    yield
    for process in spinning:
        process.kill()
        process.wait()


class Deck:
    """Gives all of its cards in a random order, then all of them in another, and so on."""

    def __init__(self, cards: Iterable, random: Random) -> None:
        self._cards, self._random, self._left = list(cards), random, []

    def draw(self):
        if not self._left:
            self._left = self._random.sample(self._cards, len(self._cards))
        return self._left.pop()


class Walker:
    """Takes one step after the other, at random but the same with the same seed, and keeps what it did:
    ``done`` has (kind, what) of all that was there to be done, and was. ``weights``: how often it does a step
    of each kind in a round."""

    weights: Mapping[str, int] = {
        **{"button": 5, "run": 2, "tab": 3, "menu": 2, "story": 1, "sidebar": 1, "field": 1, "box": 1},
        **{"key": 2, "row": 2, "plot": 2},
    }
    buttons, menus = BUTTONS, MENUS

    def __init__(self, tab: Visit, seed: int) -> None:
        self.tab, self.done = tab, list[tuple[str, str]]()
        self._menus = tab.page.get_by_role("listbox")
        self._random = Random(seed)
        self._decks: dict[str, Deck] = {}
        steps: dict[str, Callable[[], object]] = {
            "button": self._press_one,
            "run": lambda: self._press("Run"),
            "tab": self._open,
            "menu": lambda: self._pick_from("menu", self.menus),
            "story": lambda: self._pick("story", "Story", self._one("story", STORIES)),
            "sidebar": lambda: self._pick_from("sidebar", SIDEBAR),
            "field": self._type,
            "box": self._tick,
            "key": self._hit,
            "row": self.row,
            "plot": self.plot,
        }
        cards = [steps[kind] for kind, weight in self.weights.items() for _ in range(weight)]
        self._steps, self._round = Deck(cards, self._random), len(cards)
        self.rounds = 0.0

    def step(self) -> None:
        self.rounds += 1 / self._round
        if self._menus.count():  # opened by a key, or after its click was given up: it lies over everything
            self.tab.page.keyboard.press("Escape")
        self._steps.draw()()
        self.tab.frames(self._random.choice((0, 3, 18)))

    def close_menus(self) -> None:
        """Leave none open."""

        def closed() -> bool:
            if self._menus.count():
                self.tab.page.keyboard.press("Escape")
            return self._menus.count() == 0

        self.tab.wait_until(closed, "menus to close", 30)

    def missed(self, wanted: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
        """What has not been done of what is wanted of each kind; where nothing is named anything will do."""
        done: dict[str, set[str]] = {}
        for kind, what in self.done:
            done.setdefault(kind, set()).add(what)
        left = {kind: set(cards) - done.get(kind, set()) for kind, cards in wanted.items()}
        return {kind: some for kind, some in left.items() if some or kind not in done}

    def _one(self, deck: str, cards: Iterable[str]) -> str:
        return self._decks.setdefault(deck, Deck(cards, self._random)).draw()

    def _shuffled(self, kind: str, cards: Collection[str]) -> list[str]:
        """In a random order, what has not been done yet before the rest."""
        left = self.missed({kind: cards}).get(kind, set())
        return sorted(self._random.sample(list(cards), len(cards)), key=lambda card: card not in left)

    def _press_one(self) -> None:
        any(self._press(name) for name in self._shuffled("button", self.buttons))

    def _press(self, name: str) -> bool:
        button = self.tab.button("Resume" if name == "Run" and self.tab.button("Resume").count() else name)
        return self._click("button", name, button)

    def _open(self) -> None:
        there = set(self.tab.page.get_by_role("tab").all_inner_texts())
        cards = self._shuffled("tab", [*TITLES, *VIEW_GROUPS, tab_bar.STORY, tab_bar.UNUSED, tab_bar.MORE])
        if new := self.missed({"tab": TITLES}).get("tab"):  # they may stand in a group that is not open
            cards.sort(key=lambda name: name in TITLES and name not in new)
        title = next(name for name in cards if name in there)
        self._click("tab", title, self.tab.page.get_by_role("tab", name=title, exact=True))

    def _pick_from(self, kind: str, menus: Mapping[str, Sequence[str]]) -> None:
        label = self._shuffled(kind, menus)[0]
        self._pick(kind, label, self._one(label, menus[label]))

    def _pick(self, kind: str, label: str, option: str) -> None:
        page = self.tab.page
        place = page.get_by_role("combobox", name=label)  # Panel fills some names up with characters
        listed = self._menus
        if not self._click("", label, place):
            return
        try:
            listed.wait_for(timeout=3000)
        except PlaywrightTimeout:  # the page has moved below the pointer
            return
        if self._click("", option, listed.get_by_text(option, exact=True)):
            self.done.append((kind, label))
        page.keyboard.press("Escape")
        listed.wait_for(state="detached")

    def _type(self) -> None:
        field = self.tab.page.get_by_role("textbox", name="λ", exact=True)
        if self._click("field", "λ", field):
            self.tab.page.keyboard.press("Control+a")
            self.tab.page.keyboard.type(self._one("typed", TYPED))
            self.tab.page.keyboard.press("Enter")

    def _tick(self) -> None:
        boxes = self.tab.page.locator(".solvers input[type=checkbox]:enabled")
        if count := boxes.count():
            self._click("box", "solver", boxes.nth(self._random.randrange(count)))

    def _hit(self) -> None:
        key = self._shuffled("key", KEYS)[0]
        self.tab.page.keyboard.press(key)
        self.done.append(("key", key))

    def row(self) -> bool:
        """Press a button of a run that is there; False if there is none."""
        buttons = self.tab.page.locator(".row.run button:enabled")
        count = buttons.count()
        return count > 0 and self._click("row", "button", buttons.nth(self._random.randrange(count)))

    def plot(self) -> bool:
        """Click on a plot; False if something lies over all of them, as hints do where there is no run."""
        plots = self.tab.page.locator(".bk-Canvas").filter(visible=True)
        places = list(range(plots.count()))
        self._random.shuffle(places)
        return any(self._click("plot", "click", plots.nth(place)) for place in places)

    def _click(self, kind: str, what: str, place: Locator) -> bool:
        """By the pointer, wherever the element lies at that moment: Playwright's own click waits until
        nothing moves, which on a busy page would take most of the walk. False if it cannot be used."""
        place = place.filter(visible=True)
        try:
            if not place.count():
                return False
            box = place.first.evaluate(WHERE, timeout=3000)
        except PlaywrightTimeout:  # Resume, say, has just become Run
            return False
        if box is None:
            return False
        self.tab.page.mouse.click(*box)
        if kind:
            self.done.append((kind, what))
        return True


@pytest.mark.slow
def test_nothing_breaks_whatever_is_pressed_and_another_visitor_is_not_disturbed(visit, server):
    walk(visit, server, SHORT)


@pytest.mark.bench
@pytest.mark.usefixtures("busy_machine")
def test_nothing_breaks_on_a_long_walk_on_a_busy_machine(visit, server):
    walk(visit, server, LONG)


def walk(visit: Callable[..., Visit], server: Server, rounds: int) -> None:
    before = len(server.log.read_text())
    walker, other = Walker(visit(), SEED), visit(**QUERY)
    other.wait_until(lambda: other.button("Trace the path").is_enabled(), "the data")
    other.button("Trace the path").click()
    wanted = WANTED[rounds]
    while walker.rounds < rounds or (walker.missed(wanted) and walker.rounds < MORE * rounds):
        walker.step()
        assert walker.tab.errors == [], f"{SEED} {walker.done[-8:]} {walker.tab.errors}"
    kinds = Counter(kind for kind, _ in walker.done)
    assert not walker.missed(wanted), (walker.missed(wanted), kinds)
    print(f"seed {SEED}: {len(walker.done)} things done,", dict(kinds))

    traced(other)
    assert other.page.get_by_text("cannot be drawn").count() == 0
    assert other.errors == [], "\n".join(other.errors)

    tab = walker.tab
    walker.close_menus()

    def cleared() -> bool:
        # what is being compiled cannot be stopped, but is forgotten; the walk's last press may be on its way
        tab.button("Clear").dispatch_event("click")
        return tab.states() == []

    tab.wait_until(cleared, "an empty legend")
    tab.choose("Story", STORIES[1])  # the one that is there already is not told again, with its own λ
    tab.choose("Story", STORIES[0])
    tab.choose("Redraw", "live")
    tab.choose("Speed, iterations", "full")
    # on a busy machine a page that was pressed for minutes may have lost its connection, and come back first
    first = next(iter(stories()))
    tab.wait_until(lambda: tab.query().get("story") == first, "the first story", 3.0 * DEADLINE)
    tab.wait_until(lambda: tab.button("Run").is_enabled(), "Run to be possible")
    tab.button("Run").click()
    tab.wait_until(lambda: tab.points("convergence") > 3, "points")
    tab.wait_until(walker.plot, "a plot that can be clicked")
    tab.wait_until(walker.row, "a button of a run")
    assert tab.errors == []
    log = server.log.read_text()[before:]
    assert complaints(log) == [], log
