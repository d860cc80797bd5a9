"""One server, started by README's command, and one Chromium for all tests in a real browser."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

import psutil
import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, BrowserContext, Error, Page

from solverscope.app.page.tabs.tab_bar import MORE, UNUSED, TabBar, group_of
from solverscope.app.settings.experiment import Experiment
from solverscope.app.stories import stories
from solverscope.app.views import TABS
from tests.waiting import PATIENCE, wait_until

#: What needs a package that the extra `test` has not: JupyterLab, installed by hand.
collect_ignore = [] if find_spec("jupyterlab") and find_spec("ipykernel") else ["test_jupyterlab.py"]

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROME = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

#: Seconds for which whoever waits for a state waits at most, and where many kernels are compiled before it.
DEADLINE, LONG = PATIENCE, 180.0
#: Milliseconds between two looks at a page.
LOOK = 100
#: Frames for which what is at rest stays as it is, and in which what must not happen would.
FRAMES = 20

#: In every page: the newest figure whose file is called so.
FIGURE_OF = """window.figureOf = (name) => [...Bokeh.documents[0].all_models].filter((m) =>
  m.type === "Figure" && m.toolbar.tools.some((t) => t.filename === name)).at(-1)"""
#: The sequence number of the newest update that the server has sent: one a tick while runs are alive.
TICK = "[...Bokeh.documents[0].all_models].find((m) => 'sent' in (m.data?.attributes ?? {})).data.sent"
#: Waits until so many frames have been drawn.
DRAW = """async (count) => {
  for (let k = 0; k < count; k++) { await new Promise(requestAnimationFrame) }
}"""
#: Waits until all that moves or fades has come to its end, in any shadow root.
FADE = """async () => {
  const moving = (root) => [root, ...root.querySelectorAll("*")].flatMap((el) => [
    ...(el === root ? root.getAnimations() : []), ...(el.shadowRoot ? moving(el.shadowRoot) : []),
  ])
  const frame = () => new Promise(requestAnimationFrame)
  // a transition may be cancelled by the one that follows it, or begin a frame later
  for (let still = 0; still < 2; still += 1) {
    const ending = moving(document).filter((one) =>
      one.playState === "running" && Number.isFinite(one.effect?.getComputedTiming().endTime))
    if (ending.length) { still = -1 }
    await Promise.allSettled(ending.map((one) => one.finished))
    await frame()
  }
}"""
Read = TypeVar("Read")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(here):  # of ten thousand items, most of which are not
            item.add_marker(pytest.mark.browser)
            if CHROME is None:
                reason = "no Chromium found: install chromium, or name it in CHROMIUM"
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict) -> dict:
    return {**browser_type_launch_args, "executable_path": CHROME, "args": FLAGS}


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, which judges accessibility."""
    return pytest.importorskip("axe_playwright_python.base").AXE_SCRIPT


class Server:
    """A running dashboard and what it has said."""

    def __init__(
        self,
        log: Path,
        home: Path,
        port: int = 0,
        arguments: Sequence[str] = (),
        program: Sequence[str] = (str(Path(sys.executable).parent / "panel"), "serve", "app"),
        cwd: Path = ROOT,
    ) -> None:
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind(("127.0.0.1", port))
            self.port = free.getsockname()[1]
        self.log = log
        self._file = log.open("w")
        self.process = subprocess.Popen(
            [*program, "--port", str(self.port), *arguments],
            cwd=cwd,
            stdout=self._file,
            stderr=subprocess.STDOUT,
            env={**os.environ, "SOLVERSCOPE_HOME": str(home), "PYTHONFAULTHANDLER": "1"},
        )
        wait_until(self._answers, f"the server, whose log is {log}")

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            urllib.request.urlopen(f"http://localhost:{self.port}/static/js/bokeh.min.js").close()
        except OSError:
            return False
        return True

    def address(self, **query: str) -> str:
        return f"http://localhost:{self.port}/app" + (f"?{urlencode(query)}" if query else "")

    @property
    def page_thread(self) -> str:
        """Which of the threads serves the pages."""
        return str(self.process.pid)

    def threads(self) -> dict[str, float]:
        """CPU seconds of every thread that is alive."""
        threads = psutil.Process(self.process.pid).threads()
        return {str(thread.id): thread.user_time + thread.system_time for thread in threads}

    def memory(self) -> float:
        """Resident MiB of the server process."""
        return psutil.Process(self.process.pid).memory_info().rss / 2**20

    def stop(self) -> str:
        self.process.terminate()
        try:
            self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)  # the log then says what its threads were doing
            self.process.wait(DEADLINE)
            raise AssertionError(f"the server did not end: {self.log.read_text()}") from None
        self._file.close()
        return self.log.read_text()


def complaints(log: str) -> list[str]:
    """Tracebacks in a server's log."""
    return re.findall(r"Traceback \(most recent call last\):\n(?:.*\n)*?\S*(?:Error|Exception)\b.*", log)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, own_home: Path) -> Generator[Server, None, None]:
    server = Server(tmp_path_factory.mktemp("server") / "log", own_home)
    yield server
    log = server.stop()
    assert complaints(log) == [], log


class Visit:
    """One tab: the playwright page, and what went wrong in it."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page, self.server = page, server
        page.set_default_timeout(1000 * DEADLINE)
        page.add_init_script(FIGURE_OF)
        self.errors: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.errors.append(f"page error: {error.stack}"))
        page.on("request", self._request)

    def _console(self, message) -> None:
        # a browser without a graphics card draws WebGL slowly, and says so
        if message.type in ("error", "warning") and "GL Driver Message" not in message.text:
            self.errors.append(f"console: {message.type}: {message.text}")

    def _request(self, request) -> None:
        if not request.url.startswith((f"http://localhost:{self.server.port}/", "data:", "blob:")):
            self.errors.append(f"request to another host: {request.url}")

    def open(self, **query: str) -> Visit:
        self.page.goto(self.server.address(**query))
        self.button("Run").wait_for()
        self.wait_until(lambda: self.button("Run").is_enabled(), "Run to be possible")
        return self

    def button(self, name: str):
        return self.page.get_by_role("button", name=name, exact=True)

    def choose(self, label: str, option: str) -> None:
        """Pick an option of a Material menu."""
        self.page.get_by_role("combobox", name=label).click()
        self.page.get_by_role("listbox").get_by_text(option, exact=True).click()

    def open_tab(self, title: str) -> None:
        """Show the view with this title, whether it stands in its group or under More."""
        view = next(view for view in TABS.values() if view.title == title)
        tab, below = (
            self.page.get_by_role("tab", name=title, exact=True),
            self.page.get_by_role("tablist").nth(1),
        )
        groups = [group_of(view), UNUSED]
        if self.page.get_by_role("tab", name=groups[0], exact=True).count() == 0:
            groups.insert(0, MORE)  # a story opens with its own tabs alone
        for group in groups:
            above = self.page.get_by_role("tab", name=group, exact=True)
            if tab.count() == 0 and above.get_attribute("aria-selected") == "false":
                shown = below.inner_text()
                above.click()
                self.wait_until(lambda shown=shown: below.inner_text() != shown, f"the views of {group}")
        tab.click()
        self.wait_until(lambda: self.query().get("tab") == view.id, f"the tab {title}")

    def enter(self, label: str, text: str, role: str = "textbox") -> None:
        """Write into a field, and leave it by Enter."""
        field = self.page.get_by_role(role, name=label, exact=True)
        field.fill(text)
        field.press("Enter")

    def alert(self, text: str):
        """What is said to be wrong, in a sentence with this text."""
        return self.page.get_by_role("alert").filter(has_text=text)

    def row(self, label: str) -> dict[str, str]:
        """The legend row of a run."""
        row = self.page.locator(f'.row.run[data-label="{label}"]')
        names = ("iteration", "epoch", "objective", "nnz", "working_set", "cpu_seconds")
        texts = {name: row.locator(f".num.{name}").text_content() for name in names}
        return {"state": row.get_attribute("data-state"), **texts}

    def iteration(self, label: str) -> int:
        text = self.row(label)["iteration"]
        return -1 if text == "–" else int(text.replace("\u202f", ""))

    def states(self) -> list[str]:
        return self.page.locator(".row.run").evaluate_all("rows => rows.map((row) => row.dataset.state)")

    def rows(self) -> list[str]:
        """What each row of the legend says of its run: its label, how it stands, and why it ended so."""
        code = """rows => rows.map((row) => `${row.dataset.label}: ${row.dataset.state}` +
          (row.title && ` (${row.title})`))"""
        return self.page.locator(".row.run").evaluate_all(code)

    def account(self) -> str:
        """What the page and its server say at the end of a test."""
        said = []
        with suppress(Error):  # of a page that is closed or gone
            said = [*self.rows(), *self.page.get_by_role("alert").all_inner_texts()]
        return "\n".join([self.page.url, *said, *self.server.log.read_text().splitlines()[-20:]])

    def notices(self) -> list[str]:
        """Why Run waits, if it does."""
        return [text for text in self.page.locator(".legend .notice").all_text_contents() if text]

    def curves(self, figure: str, column: str = "y") -> dict[str, list[float]]:
        """A column of every curve of a figure by its run."""
        return {run: [value for (value,) in rows] for run, rows in self.table(figure, column).items()}

    def table(self, figure: str, *columns: str) -> dict[str, list[tuple[float, ...]]]:
        """Columns of every curve of a figure by its run, read at one moment from the Bokeh document in the
        page: a run that goes on has more points at the next."""
        found = self.page.evaluate(
            """([name, columns]) => {
              const renderers = figureOf(name)?.renderers ?? []
              const lines = renderers.filter((r) => r.glyph?.type === "Line" && r.glyph.y.field === "y")
              const curves = lines.map(({name, data_source: {data}}) => [name, Array.from(
                data[columns[0]], (_, k) => columns.map((column) => data[column][k]))])
              return Object.fromEntries(curves.filter(([, rows]) => rows.length > 0))
            }""",
            [figure, columns],
        )
        return {run: [tuple(row) for row in rows] for run, rows in found.items()}

    def figures(self) -> set[str]:
        """Ids of the figures on the page."""
        code = "() => [...Bokeh.documents[0].all_models].filter((m) => m.type === 'Figure')"
        return set(self.page.evaluate(f"({code})().map((m) => m.id)"))

    def points(self, figure: str) -> int:
        """Points in all curves of a figure."""
        return sum(map(len, self.curves(figure).values()))

    def cursor(self, figure: str) -> float | None:
        """Where the cursor's line stands in a figure."""
        return self.page.evaluate(
            """(name) => {
              const figure = figureOf(name)
              const line = figure?.renderers.find((r) => r.glyph?.type === "VSpan")
              return line?.data_source.data.x[0] ?? null
            }""",
            figure,
        )

    def reach(self, figure: str) -> list[float]:
        """Where the horizontal axis of a figure begins and ends."""
        return self.page.evaluate(
            """(name) => {
              const figure = figureOf(name)
              return [figure.x_range.start, figure.x_range.end]
            }""",
            figure,
        )

    def query(self) -> dict[str, str]:
        """The address as the page keeps it, and what it leaves out since its story has it."""
        said = dict(parse_qsl(urlsplit(self.page.url).query))
        story = stories().get(said.get("story"), next(iter(stories().values())))
        setting, _ = Experiment.from_address(said, story.setting)
        return {"tab": TabBar.chosen, **story.view, **setting.address(), **said}

    def wait_until(self, condition: Callable[[], bool], what: str, seconds: float = DEADLINE) -> None:
        try:
            wait_until(condition, what, seconds, self.page.wait_for_timeout, LOOK)
        except AssertionError as error:
            raise AssertionError(
                "; ".join([str(error), *self.notices(), *self.rows(), *self.errors])
            ) from None

    def frames(self, count: int = FRAMES) -> None:
        """Let the browser draw so many frames."""
        self.page.evaluate(DRAW, count)

    def ticks(self, count: int = 5) -> None:
        """Let the server tick so often, which tells the page of it while runs are alive."""
        wanted = self.page.evaluate(TICK) + count
        self.wait_until(lambda: self.page.evaluate(TICK) >= wanted, f"{count} ticks")

    def faded(self) -> None:
        """Wait until what moves or fades has come to its end."""
        self.page.evaluate(FADE)

    def settled(self, read: Callable[[], Read], what: str, frames: int = FRAMES) -> Read:
        """Return what is read once it has stayed the same for so many frames."""
        found = [read()]

        def still() -> bool:
            self.frames(frames)
            found.append(read())
            return found[-1] == found[-2]

        self.wait_until(still, f"{what} to stay the same")
        return found[-1]


@pytest.fixture
def visit(server: Server, browser: Browser) -> Generator[Callable[..., Visit], None, None]:
    """``visit(width=, height=, touch=, color_scheme=, init_script=, **query)`` opens the page in a browser
    context of its own."""
    visits: list[Visit] = []
    contexts: list[BrowserContext] = []

    def open_page(
        width: int = 1440,
        height: int = 900,
        touch: bool = False,
        color_scheme: str = "light",
        init_script: str = "",
        **query: str,
    ) -> Visit:
        viewport = {"width": width, "height": height}
        contexts.append(browser.new_context(viewport=viewport, color_scheme=color_scheme, has_touch=touch))
        contexts[-1].add_init_script(init_script)
        visits.append(Visit(contexts[-1].new_page(), server))
        return visits[-1].open(**query)

    yield open_page
    for v in visits:
        print(v.account())  # shown of a test that failed
    for context in contexts:
        for page in context.pages:
            page.close()  # says that it is closed: its runs would go on for one that has lost its connection
        context.close()
    errors = [error for v in visits for error in v.errors]
    assert errors == [], "\n".join(errors)
