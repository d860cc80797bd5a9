"""A lesson: who opens the teacher's short address sees that page live, and can change nothing in it."""

from __future__ import annotations

import pytest

from solverscope.app.page.following.teaching import LOCAL_ONLY
from solverscope.app.serving.classroom import NO_LESSON, own_address
from tests.browser.conftest import Server, Visit

pytestmark = pytest.mark.slow

POINTS = """() => {
  const figures = [...Bokeh.documents[0].all_models].filter((m) => m.type === "Figure")
  return Math.max(0, ...figures.flatMap((f) => f.renderers.map((r) => r.data_source?.length ?? 0)))
}"""


@pytest.fixture
def follower(browser, request):
    """Opens a lesson's address in a browser of its own; nothing may go wrong in it."""
    contexts, wrong = [], []

    def open(address: str):
        contexts.append(browser.new_context(viewport={"width": 1440, "height": 900}))
        page = contexts[-1].new_page()
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(address)
        return page

    yield open
    for context in contexts:
        context.close()
    assert wrong == []


def test_followers_see_the_runs_live_look_around_alone_come_back_and_hear_of_the_end(visit, follower):
    teacher = visit(data="digit-strings", solvers="prox-gd", tol="1e-300", speed="10 a second")
    teacher.button("Teach this").click()
    address = teacher.page.locator("output.address")
    teacher.wait_until(lambda: "teach=" in address.inner_text(), "an address")
    first, second = (follower(address.inner_text()) for _ in range(2))
    for page in (first, second):
        page.get_by_text("The teacher has not started a run yet.").first.wait_for()
    teacher.page.get_by_text("2 followers").wait_for()
    teacher.page.keyboard.press("Escape")
    teacher.button("Run").click()
    for page in (first, second):
        page.wait_for_function(f"() => ({POINTS})() > 3")
        page.locator('.row.run[data-label="prox-gd"]').wait_for()
        assert page.get_by_role("button", name="Run", exact=True).count() == 0
        assert page.get_by_role("button", name="Stop prox-gd").count() == 0

    second.get_by_role("link", name="Explore these runs").click()
    second.get_by_role("link", name="Rejoin the lesson").wait_for()
    second.wait_for_function(f"() => ({POINTS})() > 3")
    before = teacher.iteration("prox-gd")
    teacher.wait_until(lambda: teacher.iteration("prox-gd") > before, "the run to go on")
    second.get_by_role("link", name="Rejoin the lesson").click()
    second.get_by_role("link", name="Explore these runs").wait_for()
    shown = second.evaluate(POINTS)
    second.wait_for_function(f"() => ({POINTS})() > {max(shown, 3)}")

    teacher.button("Teach this").click()
    teacher.button("End").click()
    for page in (first, second):
        page.get_by_text("The lesson is over.").wait_for()
        assert page.evaluate(POINTS) > 3, "what was seen stays"
    teacher.page.keyboard.press("Escape")
    teacher.wait_until(teacher.button("Stop").is_enabled, "a run that can be stopped")
    teacher.button("Stop").click()
    teacher.wait_until(lambda: teacher.states() == ["stopped"], "the run to be stopped")


#: What is called so by its tab's visitors: the value of a slider, and the part of a plot that is shown.
SLIDER = """(label) => [...Bokeh.documents[0].all_models].map((m) => m.data?.attributes ?? {})
  .filter((a) => a.label === label && a.options).map((a) => a.options[a.value])[0]"""
SEEN = """(name) => {
  const figure = [...Bokeh.documents[0].all_models].find((m) => m.type === "Figure" && m.name === name)
  return [figure.x_range.start, figure.x_range.end]
}"""

#: Every message of the page loses this word on its way.
SENDS_ANOTHER_WORD = """(word) => {
  const send = WebSocket.prototype.send
  WebSocket.prototype.send = function (data) { send.call(this, data.replaceAll?.(word, "lost") ?? data) }
}"""


def begun(teacher: Visit) -> str:
    """Begin a lesson and return its address."""
    teacher.button("Teach this").click()
    address = teacher.page.locator("output.address")
    teacher.wait_until(lambda: "teach=" in address.inner_text(), "an address")
    teacher.page.keyboard.press("Escape")
    return address.inner_text()


def test_what_the_teacher_moves_is_moved_for_followers_who_are_offered_to_explore(visit, follower):
    teacher = visit(story="armijo", speed="full")
    page = follower(begun(teacher))
    picture = page.get_by_role("img", name="φ(t)")
    picture.click(position={"x": 60, "y": 20})
    page.get_by_text("your answer is in").wait_for()
    teacher.button("Run").click()
    teacher.page.get_by_text("The class: 1 answer").wait_for()
    page.get_by_text("It was t = 1.").wait_for()

    knob = teacher.page.get_by_role("slider", name="σ")
    knob.focus()
    knob.press("ArrowRight")
    page.wait_for_function(f"() => ({SLIDER})('σ') === '0.001'")
    box = teacher.page.locator(".bk-events").first.bounding_box()
    teacher.page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    teacher.page.mouse.down()
    teacher.page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.7 * box["height"], steps=5)
    teacher.page.mouse.up()
    seen = teacher.page.evaluate(SEEN, "convergence")
    page.wait_for_function(f"(wanted) => ({SEEN})('convergence').join() === wanted.join()", arg=seen)

    before = page.evaluate(SLIDER, "c₁")
    page.get_by_role("slider", name="c₁").click(force=True)
    page.locator("#led").get_by_role("link", name="Explore these runs").wait_for()
    assert page.evaluate(SLIDER, "c₁") == before
    assert page.get_by_role("slider", name="Iteration under the cursor").is_disabled()
    page.get_by_role("button", name="What does this plot show? (convergence)").click()
    page.get_by_role("dialog", name="Distance to f*").wait_for()
    page.keyboard.press("Escape")
    page.locator("#led").get_by_role("link", name="Explore these runs").click()
    page.get_by_role("link", name="Rejoin the lesson").wait_for()


def test_a_poll_says_its_range_and_that_an_answer_is_beyond_it(visit, follower):
    page = follower(begun(visit(story="shrinking")))
    field = page.get_by_role("spinbutton", name="from 0 to 20")
    field.fill("99999")
    field.press("Enter")
    page.get_by_role("alert").filter(has_text="Answer with a number from 0 to 20").wait_for()
    field.fill("480")
    field.press("Enter")
    page.get_by_text("Your answer: 480 weights. Thanks, your answer is in").wait_for()
    assert page.get_by_role("alert").inner_text() == ""


def test_an_answer_that_the_teachers_page_never_had_is_not_called_counted(visit, follower):
    teacher = visit(story="kink", speed="full")
    page = follower(begun(teacher))
    page.evaluate(SENDS_ANOTHER_WORD, "inexact")
    page.get_by_role("radio", name="inexact").click()
    page.get_by_text("Your answer: inexact. It is being sent …").wait_for()
    teacher.button("Run").click()
    page.get_by_text("Your answer: inexact. It was not counted.").wait_for()


def test_an_address_without_a_lesson_says_so(visit, server):
    answer = visit(data="breast-cancer", solvers="prox-gd").page.request.get(server.address(teach="guessed2"))
    assert (answer.status, answer.text()) == (404, f"{NO_LESSON}\n")


def test_a_server_started_as_the_dialog_says_lets_others_in_at_its_own_address(browser, follower, tmp_path):
    _, command = LOCAL_ONLY.split("start the server with: ")
    program, serve, app, *arguments = command.split()
    assert (program, serve, app) == ("panel", "serve", "app")
    server = Server(tmp_path / "log", tmp_path / "home", arguments=arguments)
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    try:
        teacher = Visit(context.new_page(), server).open(data="breast-cancer", solvers="prox-gd")
        teacher.button("Teach this").click()
        address = teacher.page.locator("output.address")
        teacher.wait_until(lambda: "teach=" in address.inner_text(), "an address")
        assert f"http://{own_address() or 'localhost'}:{server.port}/app?teach=" in address.inner_text()
        student = follower(address.inner_text())
        student.get_by_text("The teacher has not started a run yet.").first.wait_for()
        teacher.page.keyboard.press("Escape")
        teacher.button("Run").click()
        student.locator('.row.run[data-label="prox-gd"]').wait_for()
        assert teacher.errors == []
        student.context.close()
    finally:
        context.close()
        server.stop()
