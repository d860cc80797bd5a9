"""A guided story, from first to last step, as a visitor sees it."""

from __future__ import annotations

import pytest

from solverscope.app.stories import stories
from tests.browser.test_axe import wrong

pytestmark = pytest.mark.slow

STORY = stories()["kink"]

RING = """() => {
  const deep = (root) => [...root.querySelectorAll("*")].flatMap((el) =>
    [...(el.matches(".pointed") ? [el] : []), ...(el.shadowRoot ? deep(el.shadowRoot) : [])])
  return deep(document).map((el) => {
    const {top, bottom, width} = el.getBoundingClientRect()
    return {top, bottom, width, ring: getComputedStyle(el).outlineStyle}
  })
}"""

#: Presses a choice once, as soon as it is there.
FIRST = """{{
  const deep = (root) => [...root.querySelectorAll("*")].flatMap((el) =>
    [...(el.matches("input[type=radio][value={choice}]") ? [el] : []),
      ...(el.shadowRoot ? deep(el.shadowRoot) : [])])
  const look = () => {{
    const [choice] = deep(document)
    if (!choice) {{ return setTimeout(look, 5) }}
    window.pressed = Bokeh.documents[0].is_idle ? "late" : "before the page was built"
    choice.click()
  }}
  look()
}}"""


def test_a_guided_story_is_gone_through_with_next_and_left_with_end(visit):
    tab = visit(story=STORY.id)
    page, card = tab.page, tab.page.get_by_role("region", name="Story")
    card.get_by_role("group", name=STORY.ask.text).wait_for()
    assert not card.get_by_text(STORY.look_for[0]).is_visible(), "it would tell the answer"
    tab.button("Skip").click()
    card.get_by_text(STORY.look_for[0]).wait_for()
    tab.button("Guide me through it").click()
    steps = page.get_by_role("group", name="Guided story")
    for k, step in enumerate(STORY.steps):
        steps.get_by_text(f"Step {k + 1} of {len(STORY.steps)}").wait_for()
        steps.get_by_text(step.text).wait_for()
        note = steps.locator(".note")
        tab.wait_until(lambda note=note: note.text_content() == "", f"step {k + 1}: its iterate")

        def seen() -> bool:
            rings = page.evaluate(RING)
            return len(rings) == 1 and all(
                ring["ring"] == "solid" and ring["width"] > 100 and ring["bottom"] > 0 and ring["top"] < 850
                for ring in rings
            )

        tab.wait_until(seen, f"step {k + 1}: one ring, in sight")
        assert tab.button("Back").is_enabled() == (k > 0)
        if k + 1 < len(STORY.steps):
            tab.button("Next").click()
    assert tab.button("Next").is_disabled()
    tab.button("Back").click()
    steps.get_by_text(f"Step {len(STORY.steps) - 1} of").wait_for()
    tab.open_tab("Steps")  # anything may be clicked meanwhile
    tab.button("End").click()
    steps.wait_for(state="hidden")
    tab.wait_until(lambda: page.evaluate(RING) == [], "no ring")
    card.get_by_text(STORY.look_for[0]).wait_for()


def test_bullets_fold_away_and_stay_folded_when_another_story_comes(visit):
    tab = visit()
    page, summary = tab.page, tab.page.get_by_text("What to look for", exact=True)
    first, second = (stories()[id] for id in ("shrinking", "memory"))
    tab.button("Skip").click()
    page.get_by_text(first.look_for[0]).wait_for()
    summary.click()
    page.get_by_text(first.look_for[0]).wait_for(state="hidden")
    tab.choose("Story", second.name)
    tab.wait_until(lambda: tab.query().get("story") == second.id, "the other story")
    page.get_by_text(second.look_for[0]).wait_for(state="attached")
    tab.button("Skip").click()
    tab.button("Skip").wait_for(state="hidden")
    assert not page.get_by_text(second.look_for[0]).is_visible()
    assert summary.is_visible()


def test_settings_that_leave_the_story_are_told_and_one_click_goes_back(visit):
    tab = visit()
    assert not tab.button("reset story").is_visible()
    tab.enter("λ", "7")
    tab.button("reset story").click()
    lam = tab.page.get_by_role("textbox", name="λ", exact=True)
    tab.wait_until(lambda: lam.input_value() == "5", "the story's λ")
    tab.wait_until(lambda: not tab.button("reset story").is_visible(), "nothing is changed")


def test_an_answer_by_keyboard_before_run_and_what_it_was_after_it(visit, axe):
    tab = visit(story=STORY.id, speed="full")
    asked = tab.page.get_by_role("group", name=STORY.ask.text)
    asked.get_by_role("radio", name="inexact", exact=True).press("Space")
    asked.get_by_text("Your answer: inexact").wait_for()
    assert wrong(tab, axe) == []
    tab.button("Run").click()
    tab.page.get_by_text("You said inexact; it was exact.").wait_for()
    tab.page.get_by_text(f"Why: {STORY.ask.why}").wait_for()
    tab.page.get_by_text(STORY.look_for[0]).wait_for()


def test_an_answer_of_the_first_moment_is_taken_while_the_page_is_still_being_built(visit):
    tab = visit(story=STORY.id, init_script=FIRST.format(choice="inexact"))
    tab.page.get_by_role("group", name=STORY.ask.text).get_by_text("Your answer: inexact").wait_for()
    assert tab.page.evaluate("window.pressed") == "before the page was built"


def test_a_step_is_answered_by_a_click_on_phi_on_a_phone(visit, axe):
    tab = visit(story="armijo", speed="full", width=390, height=844)
    picture = tab.page.get_by_role("img", name="φ(t)")
    picture.click(position={"x": 100, "y": 40})
    tab.page.get_by_text("Your answer: t = ").wait_for()
    slider = tab.page.get_by_role("slider", name="step t")
    before = float(slider.input_value())
    assert 0.5 < before < 1.0
    slider.press("ArrowRight")
    tab.wait_until(lambda: float(slider.input_value()) > before, "a larger step")
    assert wrong(tab, axe, ".ask") == []
