"""Names of weights of pixels come with a small picture of the pixels, wherever the pointer meets them."""

from __future__ import annotations

import pytest

from tests.browser.test_page import finished

pytestmark = pytest.mark.slow

#: Pictures of pixels that are seen: width and height of each, 0 if it cannot be drawn.
PICTURES = """() => {
  const deep = (root) => [...root.querySelectorAll("*")].flatMap((el) =>
    [...(el.matches("img.pixels") ? [el] : []), ...(el.shadowRoot ? deep(el.shadowRoot) : [])])
  return deep(document).filter((el) => el.complete && el.getClientRects().length)
    .map((el) => [el.naturalWidth, el.naturalHeight])
}"""
#: Squares of a picture that are filled, as the script of the page draws it: row and column of each.
FILLED = """([name, shape]) => {
  const svg = new DOMParser().parseFromString(
    decodeURIComponent(pictureOf(name, shape).split(",").slice(1).join(",")), "image/svg+xml")
  return [...svg.querySelectorAll("rect")].map((el) => [el.y.baseVal.value, el.x.baseVal.value])
}"""
INSIDE = """(name) => {
  const figure = [...Bokeh.documents[0].all_models].find((m) => m.name === name)
  const view = Bokeh.index.find_one(figure), {left, top, width, height} = view.frame.bbox
  const {x, y} = view.el.getBoundingClientRect()
  return {x: x + left + 0.3 * width, y: y + top + 0.4 * height}
}"""


def seen(tab) -> list[list[int]]:
    return tab.page.evaluate(PICTURES)


def test_pixels_are_shown_below_the_pointer_on_the_map_and_on_names_in_sentences(visit):
    tab = visit(data="digit-strings", lam="20", solvers="prox-qn", tol="1e-3", tab="shrinking")
    tab.button("Run").click()
    tab.wait_until(lambda: finished(tab), "the end")
    name = tab.page.locator(".pixel-label").filter(visible=True)
    tab.wait_until(lambda: name.count() == 1, "the weight whose course is told")
    assert seen(tab) == []
    name.hover()
    tab.wait_until(lambda: len(seen(tab)) == 1, "a picture at the name")
    assert seen(tab) == [[65, 65]]
    place = tab.page.evaluate(INSIDE, "working-set")
    tab.page.mouse.move(place["x"] - 3, place["y"])
    tab.page.mouse.move(place["x"], place["y"])
    tab.wait_until(lambda: [65, 65] in seen(tab), "a picture in the tooltip")
    tab.page.mouse.move(700, 20)
    tab.wait_until(lambda: seen(tab) == [], "none once the pointer is elsewhere")


def test_a_picture_has_the_pixels_of_the_name_and_others_have_none(visit):
    tab = visit()
    named = "pixel (3, 6) × pixel (16, 1) for b and 7 more"
    assert tab.page.evaluate(FILLED, [named, [16, 8]]) == [[2, 5], [15, 0]]
    for name, shape in (("word oil", [16, 8]), ("a → b", [16, 8]), (named, None)):
        assert tab.page.evaluate("([name, shape]) => pictureOf(name, shape)", [name, shape]) == ""
