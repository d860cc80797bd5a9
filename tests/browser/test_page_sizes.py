"""What is seen without scrolling, at four sizes of the window: boxes of what stands on the page."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from solverscope.app.stories import stories
from tests.browser.conftest import LONG, Visit

pytestmark = pytest.mark.slow

#: The default story, ended after a moment; the tabs that are looked at, and a problem for that of bundles.
DEFAULT = {"max_seconds": "0.3", "speed": "full"}
TABS = ("Shrinking", "Memory", "Line search", "Trajectories", "Weights", "Sweep", "Summary", "Race")
#: What is there once a tab without figures of its own has something to show.
THERE = {
    "Sweep": ("button", "Run the sweep"),
    "Summary": ("columnheader", "CPU to a gap of 1e−4"),
    "Race": ("columnheader", "order of finish, by CPU seconds"),
}
#: Where all of this is seen without scrolling, and where it is scrolled to.
LARGE, SMALL = [(1440, 900), (1920, 1080)], [(1024, 768), (720, 450)]
BUNDLE = {
    "data": "breast-cancer",
    "loss": "binary-hinge",
    "penalty": "l2",
    "lam": "0.01",
    "solvers": "bmrm;ls-bmrm",
    "max_seconds": "0.3",
    "tab": "bundle",
}
#: Least height of the frame of axes that shows something, in pixels.
FRAME = 36

BOXES = """() => {
  const plots = [], deep = (root, selector) => [...root.querySelectorAll("*")].flatMap((el) =>
    [...(el.matches(selector) ? [el] : []), ...(el.shadowRoot ? deep(el.shadowRoot, selector) : [])])
  const box = (el) => {
    const {left, top, right, bottom} = el.getBoundingClientRect()
    return {left, top, right, bottom}
  }
  const visit = (view) => {
    if (view.canvas_view && view.el.offsetParent !== null) {
      const {width, height} = view.frame.bbox
      const {filename} = view.model.toolbar.tools.find((t) => t.filename)
      plots.push({name: filename, ...box(view.el), width, height})
    }
    view.child_views?.forEach(visit)
  }
  visit(Bokeh.index.roots[0])
  const [content] = deep(document, ".main-content"), foot = deep(document, ".foot").at(-1)
  const seen = (root, selector) => deep(root, selector).filter((el) => el.checkVisibility()).map(box)
  const [sidebar = document.createElement("i")] = deep(document, ".MuiDrawer-paper")
  const [tabs] = deep(document, ".tabs")
  return {
    plots, foot: box(foot), header: box(deep(document, ".MuiAppBar-root")[0]),
    rows: deep(document, ".row.run").map(box), run: box(deep(document, ".MuiButton-contained")[0]),
    tables: seen(document, "table"),
    fields: seen(tabs.shadowRoot, ".MuiButton-root, textarea:not([aria-hidden])"),
    sidebar: box(sidebar), card: seen(sidebar, "section")[0],
    controls: seen(sidebar, "section, .MuiFormControl-root, dl, h2"),
    overflow: content.scrollHeight - content.clientHeight, across: content.scrollWidth - content.clientWidth,
    wide: document.documentElement.scrollWidth,
  }
}"""

TO_THE_END = """() => {
  const deep = (root) => {
    for (const el of root.querySelectorAll("*")) {
      if (el.matches(".main-content")) { el.scrollTop = el.scrollHeight }
      if (el.shadowRoot) { deep(el.shadowRoot) }
    }
  }
  deep(document)
}"""


def boxes(tab: Visit) -> dict:
    """Where everything is, once it stays there."""
    tab.wait_until(
        lambda: all(plot["width"] > 0 for plot in tab.page.evaluate(BOXES)["plots"]), "figures with axes"
    )
    return tab.settled(lambda: tab.page.evaluate(BOXES), "the page")


def ended(tab: Visit) -> Visit:
    tab.button("Run").click()
    alive = {"running", "ready", "compiling", "loading", "queued", "paused"}
    tab.wait_until(lambda: tab.states() and not alive & set(tab.states()), "the end of the runs", LONG)
    return tab


def open_tab(tab: Visit, name: str) -> dict:
    tab.open_tab(name)
    standing = 2
    if name in THERE:
        role, called = THERE[name]
        tab.page.get_by_role(role, name=called).wait_for()
    else:
        tab.wait_until(lambda: len(tab.page.evaluate(BOXES)["plots"]) > standing, f"the figures of {name}")
    return boxes(tab)


def apart(found: dict) -> None:
    """Check that nothing lies on anything else, and that figures have axes with room between them."""
    plots = found["plots"]
    for plot in plots:
        assert plot["width"] > 80, plot
        assert plot["height"] > FRAME, plot
    for k, one in enumerate(plots):
        for other in plots[k + 1 :]:
            assert not overlap(one, other), (one, other)


def overlap(a: dict, b: dict) -> bool:
    """Tell whether two boxes have more than a border in common."""
    across = min(a["right"], b["right"]) - max(a["left"], b["left"])
    up = min(a["bottom"], b["bottom"]) - max(a["top"], b["top"])
    return across > 1 and up > 1


def in_sight(found: dict) -> None:
    """Check that everything is between the header and the cursor bar, without scrolling."""
    top, bottom = found["header"]["bottom"], found["foot"]["top"]
    for part in (found["run"], *found["rows"], *found["plots"], *found["tables"], *found["fields"]):
        assert part["top"] >= top - 1, part
        assert part["bottom"] <= bottom + 1, part
    assert found["overflow"] <= 1


def not_cut(found: dict, width: int) -> None:
    assert found["across"] <= 0
    assert found["wide"] <= width
    for part in (*found["plots"], *found["fields"]):
        assert part["left"] >= 0, part
        assert part["right"] <= width, part


@pytest.fixture
def told(visit: Callable[..., Visit]) -> Callable[[int, int], Visit]:
    """The default story, run to its end, in a window of a size."""
    return lambda width, height, **query: ended(visit(width=width, height=height, **(DEFAULT | query)))


def test_at_1440_by_900_controls_rows_both_plots_and_the_view_of_each_tab_are_seen_together(told):
    tab = told(1440, 900)
    rows = [row["bottom"] - row["top"] for row in tab.page.evaluate(BOXES)["rows"]]
    assert len(rows) == 3
    assert max(rows) <= 25
    for solver in stories()["shrinking"].setting.entrants:
        box = tab.page.get_by_role("checkbox", name=solver.label, exact=True).bounding_box()
        assert box["y"] + box["height"] <= 900, "the chosen solvers are seen without scrolling"
    for name in TABS:
        found = open_tab(tab, name)
        in_sight(found)
        apart(found)
        not_cut(found, 1440)


def test_at_1920_by_1080_the_view_of_the_tab_is_large(told):
    tab = told(1920, 1080)
    bounds_lie_on_no_number_and_f_star_is_beside_run(tab)
    for name in TABS:
        found = open_tab(tab, name)
        in_sight(found)
        apart(found)
        not_cut(found, 1920)
        if name in THERE:
            continue
        standing, view = found["plots"][:2], found["plots"][2:]
        assert max(plot["bottom"] for plot in view) - max(plot["bottom"] for plot in standing) > 500


@pytest.mark.parametrize(("width", "height"), SMALL)
def test_in_a_small_window_and_at_twice_the_size_everything_can_be_scrolled_to(told, width, height):
    tab = told(width, height)
    for name in TABS:
        found = open_tab(tab, name)
        apart(found)
        not_cut(found, width)
        if width == 1024:
            top, bottom = found["header"]["bottom"], found["foot"]["top"]
            for plot in found["plots"][:2]:
                assert top <= plot["top"] < plot["bottom"] <= bottom, "both plots are seen"
    tab.page.evaluate(TO_THE_END)
    found = boxes(tab)
    last = (found["tables"] or found["plots"])[-1]
    assert last["bottom"] <= found["foot"]["top"] + 1, "the end of the page is above the cursor bar"
    if height > 600:
        assert found["rows"][0]["top"] >= found["header"]["bottom"] - 1, "the rows stay"


@pytest.mark.parametrize(("width", "height"), LARGE + SMALL)
def test_the_card_of_a_story_makes_room_when_it_is_folded_and_moves_nothing_but_the_sidebar(
    visit, width, height
):
    tab = visit(width=width, height=height)
    card = tab.page.get_by_text("What to look for", exact=True)
    if not card.is_visible():
        tab.button("Open sidebar").click()
        card.wait_for()
    tab.button("Skip").click()
    tab.page.get_by_text(stories()["shrinking"].look_for[0]).wait_for()
    opened = boxes(tab)
    card.click()
    folded = boxes(tab)
    for found in (opened, folded):
        left, right = (found["sidebar"][side] for side in ("left", "right"))
        controls = found["controls"]
        assert len(controls) > 5
        for k, one in enumerate(controls):
            assert left <= one["left"] < one["right"] <= right, one
            for other in controls[k + 1 :]:
                assert not overlap(one, other), (one, other)
    less = opened["card"]["bottom"] - folded["card"]["bottom"]
    assert less > 100, "its points are folded away"
    before, after = (found["controls"][1]["top"] for found in (opened, folded))
    assert abs(before - after - less) <= 1, "what is below follows"
    for part in ("plots", "foot", "header", "run"):
        assert opened[part] == folded[part]


@pytest.mark.parametrize("query", [BUNDLE, *({"story": id, "speed": "full"} for id in ("kink", "bundle"))])
def test_the_bundle_and_the_playground_are_seen_whole_as_well(visit, query):
    tab = ended(visit(**query))
    tab.wait_until(lambda: len(tab.page.evaluate(BOXES)["plots"]) > 4, "the figures")
    found = boxes(tab)
    in_sight(found)
    apart(found)
    not_cut(found, 1440)


def test_nothing_moves_while_points_come(visit):
    tab = visit(tab="memory", **DEFAULT | {"max_seconds": "60", "speed": "30 a second"})
    tab.button("Run").click()
    tab.wait_until(lambda: len(tab.page.evaluate(BOXES)["plots"]) > 4, "the figures of the memory")
    before = boxes(tab)
    seen = tab.points("convergence")
    tab.wait_until(lambda: tab.points("convergence") > seen + 20, "more points")
    after = tab.page.evaluate(BOXES)
    names = {plot["name"]: plot["top"] for plot in before["plots"]}
    assert {plot["name"]: plot["top"] for plot in after["plots"] if plot["name"] in names} == names
    assert after["rows"] == before["rows"]
    tab.button("Stop").click()


#: Boxes of the rows while the second one waits for the others, and of each text that is seen in it.
WAITING = """(said) => {
  const isLegend = (m) => m.data?.attributes?.rows?.[0]?.bound !== undefined
  const {data} = [...Bokeh.documents[0].all_models].find(isLegend)
  const wait = (row, k) => k === 1 ? {...row, state: "ready", message: said} : row
  data.setv({rows: data.attributes.rows.map(wait)}, {sync: false})
  const deep = (root, selector) => [...root.querySelectorAll("*")].flatMap((el) =>
    [...(el.matches(selector) ? [el] : []), ...(el.shadowRoot ? deep(el.shadowRoot, selector) : [])])
  const box = (el) => {
    const {left, top, right, bottom} = el.getBoundingClientRect()
    return {left, top, right, bottom}
  }
  const rows = deep(document, ".row.run")
  const texts = deep(rows[1], "span:not(:has(*))").filter((el) => el.textContent && el.checkVisibility())
  return {rows: rows.map(box), seen: texts.map((el) => [el.textContent, box(el)])}
}"""


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_a_run_that_waits_for_the_others_says_so_in_its_row_where_numbers_will_be(visit, width, height):
    tab = ended(visit(width=width, height=height, **DEFAULT))
    before, said = boxes(tab)["rows"], "waits for 1 of the others to load or compile"
    found = tab.page.evaluate(WAITING, said)
    assert found["rows"] == before
    seen = dict(found["seen"])
    assert said in seen
    assert len(seen) <= 3, "its label, its state and what it waits for"
    for text, box in seen.items():
        assert box["right"] > box["left"] + 20, text
        assert not any(overlap(box, other) for name, other in seen.items() if name != text)


#: Of each text that a plot paints while it is seen, whether it was cut off when it was painted last.
PAINTED = """
  window.cut = {}
  const {fillText} = CanvasRenderingContext2D.prototype
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
    if (!this.canvas.checkVisibility()) return fillText.call(this, text, x, y, ...more)
    const across = this.measureText(text).width, {width, height} = this.canvas, matrix = this.getTransform()
    const begin = {left: 0, start: 0, center: -across / 2, right: -across, end: -across}[this.textAlign]
    cut[text] = [begin, begin + across].some((along) => {
      const place = matrix.transformPoint({x: x + along, y})
      return place.x < -1 || place.y < -1 || place.x > width + 1 || place.y > height + 1
    })
    return fillText.call(this, text, x, y, ...more)
  }
"""


#: Of each run, where its bound ends, if it is seen, and where the digits of its objective begin.
NUMBERS = """rows => rows.map((row) => {
  const bound = row.querySelector(".bound"), digits = document.createRange()
  digits.selectNodeContents(row.querySelector(".objective"))
  const end = bound.checkVisibility() ? bound.getBoundingClientRect().right : 0
  return [end, digits.getBoundingClientRect().left]
})"""


def bounds_lie_on_no_number_and_f_star_is_beside_run(tab: Visit) -> None:
    rows = tab.page.locator(".row.run")
    tab.wait_until(lambda: "≤" in rows.nth(1).locator(".bound").text_content(), "bounds")
    for end, begin in rows.evaluate_all(NUMBERS):
        assert end < begin
    run, said = tab.button("Run").bounding_box(), tab.page.get_by_text("f* = ").bounding_box()
    assert run["y"] < said["y"] < run["y"] + run["height"]


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_why_each_of_three_runs_stands_still_is_seen_above_a_ghost(visit, width, height):
    tab = visit(width=width, height=height, **DEFAULT | {"max_iter": "5", "break": "iteration > 2"})

    def held() -> bool:
        return tab.states()[:3] == ["paused"] * 3

    tab.button("Run").click()
    tab.wait_until(held, "three runs that are held", LONG)
    tab.button("Resume").click()
    tab.wait_until(lambda: tab.states() == ["finished"] * 3, "the end", LONG)
    tab.button("Pin prox-qn: keep it beside the next runs").click()
    tab.button("Unpin prox-qn").wait_for()
    tab.button("Run").click()
    tab.wait_until(lambda: held() and len(tab.states()) == 4, "three that are held, and a ghost", LONG)
    rows = tab.page.locator(".legend")
    assert tab.page.locator(".legend .message:visible").count() == 3
    assert rows.evaluate("rows => rows.scrollHeight - rows.clientHeight") <= 0
    tab.button("Stop").click()


#: Gives names their full length; where the buttons of a line begin, and where the cells before them end.
MEASURE = """(line) => {
  for (const cell of line.querySelectorAll("td:is(.title, .data, .lam, .solver)")) {
    cell.textContent = "as long as names of runs may be"
  }
  const box = (name) => line.querySelector(name).getBoundingClientRect()
  const ends = ["iterations", "objective", "state"].map((name) => [name, box(`td.${name}`).right])
  return [box(".acts").left, Object.fromEntries(ends)]
}"""


def buttons_of_kept_runs_leave_numbers_to_be_seen(tab: Visit) -> None:
    tab.open_tab("Runs")
    line = tab.page.locator("tr[data-id]").first
    line.wait_for()
    left, ends = line.evaluate(MEASURE)  # at one moment: a run that is kept meanwhile draws the lines anew
    assert ends.keys() == {"iterations", "objective", "state"}
    assert max(ends.values()) <= left + 1, ends


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_no_title_of_an_axis_is_cut_off_and_no_number_lies_under_a_bound_or_a_button(visit, width, height):
    tab = ended(visit(width=width, height=height, init_script=PAINTED, **DEFAULT))
    if width >= 1280:
        bounds_lie_on_no_number_and_f_star_is_beside_run(tab)
    for name in ("Shrinking", "Rows", "Test metric", "Weights"):
        open_tab(tab, name)
        painted = tab.page.evaluate("cut")
        assert len(painted) > 20
        assert [text for text, cut in painted.items() if cut] == [], name
    if width >= 1280:
        buttons_of_kept_runs_leave_numbers_to_be_seen(tab)
