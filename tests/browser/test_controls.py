"""Keys, refusals, the slider and the theme, as a visitor meets them."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

SMALL = {"data": "breast-cancer", "solvers": "prox-qn;owl-qn"}
SLOW = SMALL | {"solvers": "prox-gd", "tol": "1e-14", "speed": "5 a second"}
FINISHED = ["finished"] * 2


def paused(tab) -> None:
    """A run with some iterates, paused by the space bar."""
    tab.button("Run").click()
    tab.wait_until(lambda: tab.iteration("prox-gd") >= 4, "some iterates")
    tab.page.keyboard.press(" ")
    tab.wait_until(lambda: tab.states() == ["paused"], "space pauses right after Run was clicked")


def use_keys(tab, where: str) -> None:
    """Move the cursor of a paused run by keys, run on and pause."""
    page, slider = tab.page, tab.page.get_by_label("Iteration under the cursor")
    for key, wanted in {"Home": "0", "ArrowRight": "1", "ArrowLeft": "0"}.items():
        page.keyboard.press(key)
        tab.wait_until(lambda wanted=wanted: slider.input_value() == wanted, f"{key} on {where}")
    page.keyboard.press("End")
    tab.wait_until(lambda: slider.input_value() == slider.get_attribute("max"), f"End on {where}")
    for state in ("running", "paused"):
        page.keyboard.press(" ")
        tab.wait_until(lambda state=state: tab.states() == [state], f"{state} by space on {where}")


def test_each_press_of_an_arrow_moves_one_iterate_also_on_the_cursor_s_slider(visit):
    tab = visit(**SMALL | {"max_iter": "40", "tol": "1e-14"})
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == FINISHED, "both runs")
    slider = tab.page.get_by_label("Iteration under the cursor")
    tab.page.keyboard.press("Home")
    tab.wait_until(lambda: slider.input_value() == "0", "the first iterate")
    slider.focus()
    for _ in range(20):
        tab.page.keyboard.press("ArrowRight")
    tab.wait_until(lambda: slider.input_value() == "20", "twenty iterates")


def test_keys_work_wherever_the_focus_is_and_space_does_one_thing(visit):
    tab = visit(**SLOW)
    page = tab.page
    paused(tab)
    run_name = page.locator(".row.run .label").first
    focused = [
        run_name,
        tab.button("Step"),
        page.get_by_title("One iterate back"),
        page.get_by_role("tab", name="Trajectories"),
        page.locator("summary:visible").first,
    ]
    for place in focused:
        place.click()
        use_keys(tab, str(place))
    tab_clicked = page.get_by_role("tab", name="Trajectories")
    tab.wait_until(lambda: tab_clicked.get_attribute("aria-selected") == "true", "the tab that was clicked")


def test_a_menu_has_the_keys_while_it_is_open_and_where_it_was_reached_by_them(visit):
    tab = visit(**SLOW)
    page, menu = tab.page, tab.page.get_by_role("combobox", name="Scale")
    paused(tab)
    tab.choose("Scale", "linear")
    page.get_by_role("listbox").wait_for(state="detached")
    focused = "(el) => el.getRootNode().activeElement === el"
    tab.wait_until(lambda: menu.evaluate(focused), "the menu to have the focus again")
    use_keys(tab, "a menu after a choice")
    assert page.get_by_role("listbox").count() == 0
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    for key in (" ", "ArrowDown", "Enter"):
        page.keyboard.press(key)
        page.get_by_role("listbox").wait_for()
        page.keyboard.press("Escape")
        page.get_by_role("listbox").wait_for(state="detached")
        tab.wait_until(lambda: menu.evaluate(focused), "the menu to have the focus again")
    page.keyboard.press("Enter")
    page.get_by_role("listbox").wait_for()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    tab.wait_until(lambda: menu.text_content() == "log", "a choice by keys alone")
    assert tab.states() == ["paused"]


def test_keys_are_those_of_a_field_or_a_menu_that_has_the_focus(visit):
    tab = visit(**SLOW)
    page, slider = tab.page, tab.page.get_by_label("Iteration under the cursor")
    paused(tab)
    page.keyboard.press("Home")
    tab.wait_until(lambda: slider.input_value() == "0", "Home")
    lam = page.get_by_role("textbox", name="λ", exact=True)
    lam.click()
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")
    page.keyboard.press(" ")
    box = page.get_by_role("checkbox", name="owl-qn", exact=True)
    box.focus()
    page.keyboard.press(" ")
    tab.wait_until(box.is_checked, "space ticks a box")
    page.keyboard.press("Tab")
    page.get_by_role("combobox", name="Story").focus()
    page.keyboard.press(" ")
    page.get_by_role("listbox").wait_for()
    page.keyboard.press("End")
    page.keyboard.press("Escape")
    tab.ticks()
    assert slider.input_value() == "0"
    assert tab.states() == ["paused"]


def test_run_pressed_with_a_wrong_lambda_says_why_it_does_not_start(visit):
    tab = visit(**SMALL)
    lam = tab.page.get_by_role("textbox", name="λ", exact=True)
    lam.fill("-1")
    tab.button("Run").click(no_wait_after=True)
    notice = tab.page.locator(".notice")
    tab.wait_until(lambda: notice.count() == 1, "the notice")
    assert notice.text_content() == "Run waits: λ must be a number above 0"
    assert notice.is_visible()

    def below() -> float:
        run, said = tab.button("Run").bounding_box(), notice.bounding_box()
        return said["y"] - (run["y"] + run["height"])

    tab.wait_until(lambda: 0 <= below() < 24, "the notice to stand right below the button")
    assert tab.states() == []
    lam.fill("0.01")
    lam.press("Enter")
    tab.wait_until(lambda: notice.count() == 0, "the notice to go")
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == FINISHED, "the end")
    assert tab.page.locator(".row.run .state").all_text_contents() == ["converged", "converged"]
    assert "violation" in tab.page.locator(".row.run .state").first.get_attribute("title")


PAINTED = """(slider) => {
  const {left, width, top, height} = slider.getBoundingClientRect()
  return {left, width, middle: top + height / 2}
}"""


def test_the_rest_of_the_slider_is_light_on_a_light_page_whatever_the_runs_colour(visit, tmp_path):
    from PIL import Image

    tab = visit(**SMALL | {"solvers": "prox-qn;owl-qn;prox-gd"})
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["finished"] * 3, "the end")
    slider = tab.page.get_by_label("Iteration under the cursor")
    who, what = tab.page.locator(".bar .who"), tab.page.locator(".bar .what")
    for label in ("prox-qn", "owl-qn", "prox-gd"):
        tab.page.locator(f'.row.run[data-label="{label}"] .label').click()
        tab.wait_until(lambda label=label: who.text_content() == label, f"{label} under the cursor")
        slider.fill("3")
        tab.wait_until(lambda: what.text_content().startswith("iteration 3 "), "its third iterate")
        tab.page.mouse.move(700, 20)
        tab.frames()
        tab.faded()  # what was lit up below the pointer
        place = slider.evaluate(PAINTED)
        tab.page.screenshot(path=tmp_path / "slider.png")
        picture = Image.open(tmp_path / "slider.png").convert("L")
        shades = [
            picture.getpixel((int(place["left"] + share * place["width"]), int(place["middle"])))
            for share in (0.4, 0.6, 0.8)
        ]
        assert min(shades) > 150, (label, shades)


SHADE = "getComputedStyle(document.body).backgroundColor"
WRONG = """
  window.wrong = []
  const look = (wrong, root = document) => {
    for (const el of root.querySelectorAll("*")) {
      if (el.classList.contains(wrong)) { window.wrong.push(el.tagName) }
      if (el.shadowRoot) { look(wrong, el.shadowRoot) }
    }
  }
  const watch = () => {
    const theme = document.documentElement?.dataset.theme
    if (theme) { look(theme === "dark" ? "mui-light" : "mui-dark") }
    requestAnimationFrame(watch)
  }
  requestAnimationFrame(watch)
"""


@pytest.mark.parametrize("wish", ["dark", "light"])
def test_the_theme_is_as_the_system_wishes_and_a_choice_lasts_without_a_flash(visit, wish):
    other = {"dark": "light", "light": "dark"}
    shade = {"dark": "rgb(18, 20, 22)", "light": "rgb(255, 255, 255)"}
    tab = visit(color_scheme=wish, init_script=WRONG, **SMALL)
    page = tab.page
    tab.wait_until(lambda: page.evaluate(SHADE) == shade[wish], "the system's wish")
    assert page.evaluate("wrong") == []
    tab.button("Toggle theme").click()
    tab.wait_until(lambda: page.evaluate(SHADE) == shade[other[wish]], "the other")
    page.reload()
    tab.wait_until(lambda: tab.button("Run").is_enabled(), "the page again")
    tab.wait_until(lambda: page.evaluate(SHADE) == shade[other[wish]], "the choice")
    assert page.evaluate("wrong") == [], "nothing was ever in the wrong theme"
    page.emulate_media(color_scheme=other[wish])
    page.emulate_media(color_scheme=wish)
    tab.frames()
    assert page.evaluate(SHADE) == shade[other[wish]], "a choice is stronger than the system"


def test_the_theme_follows_the_system_while_the_page_is_open(visit):
    tab = visit(color_scheme="light", **SMALL)
    tab.page.emulate_media(color_scheme="dark")
    tab.wait_until(lambda: tab.page.evaluate(SHADE) == "rgb(18, 20, 22)", "dark")


def test_a_first_visit_that_wishes_dark_loads_the_page_once(visit):
    tab = visit(color_scheme="dark", **SMALL)
    (load,) = tab.page.evaluate("performance.getEntriesByType('navigation').map((one) => one.type)")
    assert load == "navigate", "and not again"
