"""What is changed inside BokehJS and Panel's scripts: each change does what it says, and is needed, as a page
without the changes shows."""

from __future__ import annotations

import sys

import pytest

from .conftest import ROOT, Server, Visit, complaints

pytestmark = pytest.mark.slow

NEWER = ROOT / "tests" / "app" / "compat" / "newer.py"

#: Those whose work ``PROBE`` counts.
CHANGES = (
    "bokeh_style_sheets",
    "bokeh_plot_layout",
    "panel_page_layout",
    "bokeh_reconnect",
    "panel_react_state",
)
#: What a page does inside, by the change that it is about.
PROBE = """async () => {
  const root = Bokeh.index.roots[0], plots = []
  const visit = (view) => { if (view.canvas_view) { plots.push(view) } view.child_views?.forEach(visit) }
  visit(root)
  const shown = plots.find((plot) => plot.is_displayed && plot.model.name)
  const calls = (object, name, act) => {
    const own = object[name], inherited = !Object.hasOwn(object, name)
    let count = 0
    object[name] = function (...args) { count += 1; return own.apply(this, args) }
    try { act() } finally { if (inherited) { delete object[name] } else { object[name] = own } }
    return count
  }
  const changes = (element, act) => {
    const seen = new MutationObserver(() => {})
    seen.observe(element, {childList: true, characterData: true, subtree: true})
    act()
    return seen.takeRecords().length
  }
  const {InlineStyleSheet} = Bokeh.require("core/dom")
  const {ClientConnection} = Bokeh.require("client/connection")
  const sheet = new InlineStyleSheet("a {}")
  const component = Bokeh.documents[0].roots()[0]
  let read = 0
  component.watch(null, "name", () => { read += 1 }, true)
  const twice = (act) => () => { act(); act() }
  const frame = () => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))
  await frame()
  const found = {
    bokeh_style_sheets: changes(sheet.el, () => sheet.replace("a {}")),
    bokeh_plot_layout: calls(root, "compute_layout", () => shown.compute_layout()),
    panel_page_layout: calls(root, "after_layout", twice(() => root.compute_layout())),
    bokeh_reconnect: Number(!ClientConnection.prototype.connect.toString().includes("_receiver")),
    panel_react_state: 1 - read,
  }
  await frame()
  const one = Bokeh.documents[0].replace_with_json.length
  return {...found, one}
}"""
#: Asks for a layout twice in each of some frames: how often it was made, and in how many milliseconds.
ASKED = """async (frames) => {
  const root = Bokeh.index.roots[0], began = performance.now()
  let count = 0
  root.after_layout = () => { count += 1 }
  for (let k = 0; k < frames; k++) {
    root.invalidate_layout()
    root.invalidate_layout()
    await new Promise(requestAnimationFrame)
  }
  delete root.after_layout
  return [count, performance.now() - began]
}"""


@pytest.fixture(scope="module")
def without(tmp_path_factory, own_home):
    """A server whose pages have none of the changes."""
    program = [sys.executable, str(NEWER), "serve", "app"]
    server = Server(tmp_path_factory.mktemp("newer") / "log", own_home, program=program)
    yield server
    log = server.stop()
    assert complaints(log) == [], log


def opened(browser, server: Server) -> Visit:
    return Visit(browser.new_context(viewport={"width": 1440, "height": 900}).new_page(), server).open()


def test_each_change_does_what_it_says(server, browser):
    tab = opened(browser, server)
    assert tab.page.evaluate(PROBE) == {**dict.fromkeys(CHANGES, 0), "one": 1}
    count, passed = tab.page.evaluate(ASKED, 20)
    assert 0 < count <= 1 + passed / 100, "ten layouts a second, however many are asked for"
    tab.page.context.close()


def test_each_change_is_needed_and_the_page_works_without_all_of_them(without, browser):
    tab = opened(browser, without)
    found = tab.page.evaluate(PROBE)
    assert [name for name in CHANGES if not found[name]] == [], "not needed any more"
    tab.button("Run").click()
    tab.wait_until(lambda: tab.points("convergence") > 3, "a few points")
    assert [error for error in tab.errors if not error.startswith("console: warning:")] == []
    tab.page.context.close()
