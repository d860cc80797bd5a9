"""The page in a real browser: cursor, set-up, address, sessions, sizes, themes."""

from __future__ import annotations

import pytest

from solverscope import solvers
from solverscope.app.views import TABS
from tests.browser.test_page_sizes import boxes as at_rest

TAB_IDS = {view.title: id for id, view in TABS.items()}

#: A problem of fractions of a second, and how fast it is shown.
SMALL = {"data": "breast-cancer", "solvers": "prox-qn;owl-qn", "tol": "1e-7"}
SLOW = SMALL | {"solvers": "prox-gd;owl-qn", "tol": "1e-14", "speed": "2 a second"}


def finished(tab) -> bool:
    states = tab.states()
    return bool(states) and set(states) == {"finished"}


@pytest.mark.slow
def test_the_cursor_moved_in_one_plot_is_followed_by_the_other_the_bar_and_the_tab(visit):
    tab = visit(x="iteration", tab="line-search", **SMALL | {"solvers": "prox-qn"})
    tab.button("Run").click()
    tab.wait_until(lambda: finished(tab), "the end")
    tab.wait_until(lambda: tab.cursor("convergence") is not None, "a cursor")
    canvas = tab.page.locator(".bk-Canvas").nth(1)
    box = canvas.bounding_box()
    tab.page.mouse.click(box["x"] + 0.45 * box["width"], box["y"] + 0.4 * box["height"])
    slider = tab.page.get_by_role("slider", name="Iteration under the cursor")
    last = max(tab.curves("sparsity", "x")["prox-qn"])
    tab.wait_until(lambda: 0 < (tab.cursor("sparsity") or 0) < last, "the cursor in the plot clicked")
    at = tab.cursor("sparsity")
    tab.wait_until(lambda: tab.cursor("convergence") == at, "the cursor in the other plot")
    tab.wait_until(lambda: float(slider.input_value()) == at, "the slider to follow")
    tab.wait_until(lambda: tab.page.get_by_text(f"the step to iteration {at:g}").count() == 1, "the tab")

    tab.page.mouse.click(1250, 20)  # somewhere without a field
    tab.page.keyboard.press("ArrowLeft")
    tab.wait_until(lambda: tab.cursor("convergence") == at - 1, "left arrow")
    tab.page.keyboard.press("ArrowRight")
    tab.wait_until(lambda: tab.cursor("sparsity") == at, "right arrow")
    slider.fill("2")
    tab.wait_until(lambda: tab.cursor("convergence") == 2, "the slider")
    tab.button("follow").click()
    tab.wait_until(lambda: tab.cursor("convergence") == float(slider.get_attribute("max")), "the head")

    names = ["Shrinking", "Line search", "Steps", "Record", "Test metric", "Summary"]
    for name in [*names, *names]:
        tab.open_tab(name)
    tab.page.get_by_role("columnheader", name="CPU to a gap of 1e−4").wait_for()


def zoom(tab) -> list[float]:
    """Zoom in on a part of the first plot, and return where its axis begins and ends then."""
    canvas = tab.page.locator(".bk-Canvas").first
    canvas.hover()
    box = canvas.bounding_box()
    tab.page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.2 * box["height"])
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.6 * box["height"], steps=4)
    tab.page.mouse.up()
    longest = max(tab.curves("convergence", "x")["owl-qn"])
    tab.wait_until(lambda: tab.reach("convergence")[1] < longest, "the zoom")
    return tab.reach("convergence")


@pytest.mark.slow
def test_a_zoom_ends_with_what_it_was_for(visit):
    tab = visit(**SMALL | {"x": "iteration"})

    def all_is_shown() -> bool:
        (begin, end), runs = tab.reach("convergence"), tab.curves("convergence", "x").values()
        return bool(runs) and begin <= 0.0 and end >= max(map(max, runs))

    def run() -> None:
        tab.button("Run").click()
        tab.wait_until(lambda: set(tab.states()) == {"finished"}, "the end")

    run()
    tab.wait_until(all_is_shown, "all of the runs")
    zoomed = zoom(tab)
    tab.enter("relative violation ε", "1e-5")
    run()
    tab.frames()
    assert tab.reach("convergence") == zoomed, "the same problem is seen as before"
    tab.enter("λ", "0.07")
    run()
    tab.wait_until(all_is_shown, "all of the runs on another problem")
    zoomed = zoom(tab)
    tab.choose("Story", "How much memory is enough?")
    tab.wait_until(lambda: tab.reach("convergence") != zoomed, "the zoom to end with a change of story")


@pytest.mark.slow
def test_both_plots_are_zoomed_together_stay_so_while_points_come_and_follow_again_after_reset(visit):
    tab = visit(**SLOW | {"x": "iteration", "speed": "10 a second"})
    tab.button("Run").click()
    tab.wait_until(lambda: tab.points("convergence") > 20, "points")
    before = zoom(tab)
    assert tab.reach("sparsity") == before
    seen = tab.points("convergence")
    tab.wait_until(lambda: tab.points("convergence") > seen + 10, "more points")
    assert tab.reach("convergence") == tab.reach("sparsity") == before
    assert before[1] < max(tab.curves("convergence", "x")["owl-qn"])
    tab.page.locator(".bk-Canvas").first.hover()
    tab.page.get_by_title("Reset").first.click()
    tab.wait_until(lambda: tab.reach("sparsity")[1] > before[1], "everything in sight")
    tab.wait_until(lambda: tab.reach("sparsity")[1] >= max(tab.curves("sparsity", "x")["owl-qn"]), "the head")


@pytest.mark.slow
def test_one_run_is_paused_hidden_and_stopped_by_its_row_and_space_works_for_all(visit):
    tab = visit(**SLOW)
    tab.button("Run").click()
    tab.wait_until(lambda: tab.points("convergence") > 4, "points")
    tab.button("Pause prox-gd").click()
    tab.wait_until(lambda: tab.states() == ["paused", "running"], "one paused")
    held = tab.iteration("prox-gd")
    tab.button("One iteration of prox-gd").click()
    tab.wait_until(lambda: tab.iteration("prox-gd") == held + 1, "one step of one run")
    tab.button("Hide owl-qn").click()
    tab.wait_until(lambda: len(tab.curves("convergence")) == 1, "one curve")
    tab.button("Show owl-qn").click()
    tab.wait_until(lambda: len(tab.curves("convergence")) == 2, "both curves")
    tab.button("Stop owl-qn").click()
    tab.wait_until(lambda: tab.states() == ["paused", "stopped"], "one stopped")
    tab.page.mouse.click(1250, 20)
    tab.page.keyboard.press(" ")
    tab.wait_until(lambda: tab.states()[0] == "running", "space resumes")
    tab.page.keyboard.press(" ")
    tab.wait_until(lambda: tab.states()[0] == "paused", "space pauses")
    tab.button("Clear").click()
    tab.wait_until(lambda: tab.states() == [], "an empty legend")


@pytest.mark.slow
def test_settings_of_a_solver_and_a_copy_of_it_and_lambda_are_in_the_address_and_survive_a_reload(visit):
    tab = visit(**SMALL)
    tab.button("Settings of prox-qn").click()
    tab.enter("pairs kept m", "0")
    alert = tab.alert("pairs kept m must be a whole number from 1 to 1000")
    alert.wait_for()
    tab.enter("pairs kept m", "3")
    alert.wait_for(state="detached")
    tab.button("Race a copy of prox-qn with other settings").click()
    tab.enter("λ", "none")
    tab.page.get_by_text("λ must be a number above 0", exact=True).wait_for()
    tab.enter("λ", "0.0625")
    tab.wait_until(lambda: tab.query().get("lam") == "0.0625", "λ in the address")
    wanted = "prox-qn,memory=3;prox-qn-2=prox-qn,memory=3;owl-qn"
    tab.wait_until(lambda: tab.query()["solvers"] == wanted, "the solvers in the address")
    before = tab.query()
    tab.page.reload()
    tab.wait_until(lambda: tab.button("Run").is_enabled(), "the page again")
    tab.wait_until(lambda: tab.query() == before, "the same address")
    lam = tab.page.get_by_role("textbox", name="λ", exact=True)
    tab.wait_until(lambda: lam.input_value() == "0.0625", "λ in its field")
    tab.button("Run").click()
    tab.wait_until(lambda: finished(tab), "the end")
    assert [tab.row(label)["state"] for label in ("prox-qn", "prox-qn-2", "owl-qn")] == ["finished"] * 3


@pytest.mark.slow
def test_a_bad_address_gives_notices_and_the_default_set_up(visit):
    tab = visit(data="svmlight:/etc/passwd", lam="-1", tab="<img src=x>", seed="x")
    alerts = tab.alert("was left out")
    tab.wait_until(lambda: alerts.count() == 4, "four notices")
    sentence = tab.page.get_by_text("there is no data set 'svmlight:/etc/passwd'")
    tab.wait_until(lambda: sentence.count() == 1 and sentence.is_visible(), "the sentence")
    tab.wait_until(lambda: tab.query()["data"] == "digit-strings", "the address of what is shown")
    assert tab.query()["lam"] == "5"
    assert tab.page.locator("img").count() == 0, "nothing in an address becomes part of the page"


def unfit() -> tuple[str, str, str]:
    """A penalty, a solver that cannot take it with logistic loss, and why."""
    for penalty in solvers.PENALTIES:
        for solver in solvers.SOLVERS:
            if reason := solvers.why_not_solver(solver, "logistic", penalty):
                return penalty, solver, reason
    pytest.fail("every solver takes every penalty: there is nothing to show")


@pytest.mark.slow
def test_solvers_that_do_not_fit_are_folded_and_each_is_disabled_with_its_reason(visit):
    penalty, solver, reason = unfit()
    tab = visit(data="breast-cancer", penalty=penalty)
    box = tab.page.get_by_role("checkbox", name=solver, exact=True)
    assert box.count() == 0, "it is folded away"
    tab.page.get_by_text("do not fit: why").click()
    assert box.is_disabled()
    tab.page.get_by_text(reason, exact=True).first.wait_for()


@pytest.mark.slow
def test_two_tabs_do_not_see_each_others_runs_and_closing_one_ends_its_runs(visit):
    busy, idle = visit(solvers="prox-gd", tol="1e-300", max_seconds="600"), visit(**SMALL, tab="runs")
    alive = idle.page.locator(".runs tbody tr.alive", has_text="prox-gd")
    busy.button("Run").click()
    busy.wait_until(lambda: busy.iteration("prox-gd") > 2, "a run")
    idle.wait_until(lambda: alive.count() == 1, "the run in the list of all runs")
    before = busy.iteration("prox-gd")
    busy.wait_until(lambda: busy.iteration("prox-gd") > before, "the run to go on")
    busy.ticks()
    assert idle.states() == []
    assert busy.states() == ["running"]
    busy.page.close()
    idle.wait_until(lambda: alive.count() == 0, "the run to be over")


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 720), (820, 1180)])
def test_nothing_is_cut_off_or_on_top_of_another_at(visit, width, height):
    tab = visit(width=width, height=height, **SMALL)
    tab.button("Run").click()
    tab.wait_until(lambda: finished(tab) and tab.points("sparsity") > 0, "the end")
    at_rest(tab)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = {
        "run": tab.button("Run"),
        "legend": tab.page.locator(".legend"),
        "convergence": tab.page.locator(".bk-Canvas").nth(0),
        "sparsity": tab.page.locator(".bk-Canvas").nth(1),
        "tabs": tab.page.get_by_role("tab").first,
    }
    for locator in boxes.values():
        locator.wait_for()
    found = {name: locator.bounding_box() for name, locator in boxes.items()}
    for name, box in found.items():
        assert box["x"] >= 0, name
        assert box["x"] + box["width"] <= width, name
    names = list(found)
    for k, one in enumerate(names):
        for other in names[k + 1 :]:
            assert not overlap(found[one], found[other]), (one, other)
    row = tab.page.locator(".row.run").first
    stop = row.get_by_role("button", name="Remove prox-qn").bounding_box()
    assert stop["x"] + stop["width"] <= found["legend"]["x"] + found["legend"]["width"] + 1
    assert tab.page.locator(".bar").bounding_box()["y"] < height, "the cursor's bar is always in sight"


def overlap(a: dict, b: dict) -> bool:
    return (
        a["x"] < b["x"] + b["width"] - 1
        and b["x"] < a["x"] + a["width"] - 1
        and a["y"] < b["y"] + b["height"] - 1
        and b["y"] < a["y"] + a["height"] - 1
    )


@pytest.mark.slow
def test_the_dark_theme_recolours_page_and_plots(visit):
    tab = visit(**SMALL)
    tab.button("Run").click()
    tab.wait_until(lambda: finished(tab), "the end")
    axis = """() => [...Bokeh.documents[0].all_models]
      .find((m) => m.type === "Figure").below[0].axis_label_text_color"""
    background = "getComputedStyle(document.body).backgroundColor"
    light = tab.page.evaluate(axis)
    tab.button("Toggle theme").click()
    tab.wait_until(lambda: tab.page.evaluate(axis) != light, "other colours in the plots")
    label = tab.page.locator(".row.run .label").first
    shade = "e => getComputedStyle(e).color"
    tab.wait_until(lambda: brightness(label.evaluate(shade)) > 180, "light letters")
    tab.wait_until(lambda: brightness(tab.page.evaluate(background)) < 60, "a dark page")


def brightness(color: str) -> float:
    numbers = [float(part) for part in color[color.index("(") + 1 : color.index(")")].split(",")[:3]]
    return sum(numbers) / 3


@pytest.mark.slow
def test_every_control_can_be_reached_and_has_a_name(visit):
    tab = visit(**SMALL)
    unnamed = tab.page.evaluate(
        """() => {
          const out = []
          const walk = (root) => {
            for (const el of root.querySelectorAll("*")) {
              const control = "button, input:not([aria-hidden]), select, [role=combobox]"
              if (el.matches(control) && el.offsetParent !== null) {
                const labels = [...(el.labels ?? [])].map((label) => label.textContent).join("")
                const name = el.getAttribute("aria-label") || el.textContent.trim() || el.title || labels ||
                  el.getAttribute("aria-labelledby")
                if (!name) { out.push(el.outerHTML.slice(0, 200)) }
              }
              if (el.shadowRoot) { walk(el.shadowRoot) }
            }
          }
          walk(document)
          return out
        }"""
    )
    assert unnamed == []
