"""No pane differs from the cursor without saying so, in any frame that is drawn, on a busy machine."""

from __future__ import annotations

from typing import ClassVar

import pytest

from tests.browser.conftest import LONG
from tests.browser.test_random_walk import MENUS, SEED, Walker, busy_machine

__all__ = ["busy_machine"]

#: Steps of the walk: 240 take two minutes and more.
STEPS = 60
#: In every frame, for each view in sight: the iterates that its figures and sentences are of, as they tell
#: themselves, the cursor's, and what the view says of them.
WATCH = r"""
window.watched = {frames: 0, said: 0, untold: [], views: new Set()}
const SENTENCE = new RegExp("(?:^<p>Iteration |</b> at iteration |(?:the step|on the way) to iteration " +
  "|</b>, iterate |model at iterate |steps of iterate )([\\d\\u202f]+)")
const OVER = ["working-set", "shrinking-epochs", "why-left", "trials", "cut-weights", "trajectories"]
const whole = (text) => Number(text.replaceAll("\u202f", ""))
const plain = (text) => new DOMParser().parseFromString(text, "text/html").documentElement.textContent
const hidden = (m) => m.visible === false || m.styles?.visibility === "hidden"
function witnesses(m, found) {
  if (hidden(m)) { return }
  for (const child of Array.isArray(m.children) ? m.children : []) { witnesses(child, found) }
  const told = typeof m.text === "string" ? SENTENCE.exec(plain(m.text)) : null
  if (told) { found.push([told[0], whole(told[1])]) }
  if (m.type !== "Figure") { return }
  for (const line of m.center ?? []) {
    if (line.type === "Span" && OVER.includes(m.name)) { found.push([m.name, Math.floor(line.location)]) }
  }
  if (!/^iteration/.test(m.below?.[0]?.axis_label ?? "")) { return }
  for (const line of m.renderers) {
    if (line.glyph?.type === "VSpan" && line.data_source.data.color?.length === 1) {
      found.push([m.name, line.data_source.data.x[0]])
    }
  }
}
function look() {
  const models = [...(window.Bokeh?.documents[0]?.all_models ?? [])]
  const bar = models.find((m) => "offer" in (m.data?.attributes ?? {}))?.data
  if (!bar?.state?.label) { return }
  const {iteration, head} = bar.state
  watched.frames += 1
  for (const view of models) {
    const stage = view.css_classes?.includes("view") && !hidden(view) ? view.children[1] : null
    const note = stage?.children?.find((m) => m.css_classes?.includes("shown-iterate"))
    if (!note) { continue }
    const says = hidden(note) ? "" : plain(note.text), found = []
    witnesses(stage.children[1], found)
    if (found.length) { watched.views.add(found[0][0].replace(/\d+$/, "")) }
    for (const [what, at] of found) {
      if (Math.min(at, head) === iteration) { continue }
      const named = [...says.matchAll(/iterate ([\d\u202f]+)/g)].some((told) => whole(told[1]) === at)
      if (named) { watched.said += 1 } else { watched.untold.push([what, at, iteration, head, says]) }
    }
  }
}
const frame = () => { look(); requestAnimationFrame(frame) }
requestAnimationFrame(frame)
"""


class Looker(Walker):
    """Runs, pauses, steps, moves the cursor or lets it follow, opens tabs; plots are live, slow or late."""

    weights: ClassVar = {"button": 4, "run": 3, "tab": 4, "menu": 1, "key": 1, "plot": 1}
    buttons = ("Pause", "Step", "follow")
    menus: ClassVar = {"Redraw": MENUS["Redraw"]}


@pytest.mark.slow
@pytest.mark.usefixtures("busy_machine")
def test_every_pane_that_differs_from_the_cursor_says_so_in_the_same_update(visit):
    tab = visit(init_script=WATCH, x="iteration", tab="shrinking", speed="10 a second", tol="1e-12")
    tab.button("Run").click()
    tab.wait_until(lambda: tab.page.evaluate("watched.views.size") > 2, "an open tab with something", LONG)
    tab.choose("Redraw", "at the end")
    tab.wait_until(lambda: tab.page.evaluate("watched.said") > 0, "a cursor that is ahead of the plots", LONG)
    tab.choose("Redraw", "live")
    walker = Looker(tab, SEED)
    for _ in range(STEPS):
        walker.step()
        untold = tab.page.evaluate("watched.untold")
        assert untold == [], (SEED, walker.done[-8:], untold[:8], len(untold))
    frames, said, views = tab.page.evaluate("[watched.frames, watched.said, [...watched.views]]")
    print(f"seed {SEED}: {frames} frames, {said} times said, {views}, {len(walker.done)} things done")
    assert len(views) > 3
