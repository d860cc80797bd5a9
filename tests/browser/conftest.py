"""One server, started by README's command, for all tests in a real browser."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
import urllib.request
from collections.abc import Callable, Generator
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, BrowserContext, Page

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

#: The judge, fetched when it is first asked for and kept in the user's cache.
AXE = "axe-core@4.14.1"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "solverscope-tests"
#: How many times as long as on a quiet machine whoever waits for the page waits.
PATIENCE = float(os.environ.get("SOLVERSCOPE_PATIENCE", "1"))
#: Seconds for which a quiet machine is waited for, whatever it is that is to come.
WAIT = 30.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if CHROME is None:
                reason = "no Chromium found: install chromium, or name it in CHROMIUM"
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict) -> dict:
    return {**browser_type_launch_args, "executable_path": CHROME, "args": FLAGS}


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    kept = CACHE / f"{AXE.replace('@', '-')}.tgz"
    if not kept.exists():
        if shutil.which("npm") is None:
            pytest.skip(f"{AXE} is not there, and no npm to fetch it")
        CACHE.mkdir(parents=True, exist_ok=True)
        fetch = ["npm", "pack", AXE, "--silent", "--pack-destination", str(CACHE)]
        try:
            subprocess.run(fetch, check=True, capture_output=True, timeout=60, cwd=CACHE)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"{AXE} cannot be fetched: {(error.stderr or b'').decode().strip() or error}")
    with tarfile.open(kept) as package:
        source = package.extractfile("package/axe.min.js")
        assert source is not None
        return source.read().decode()


class Server:
    """A running dashboard and what it has said."""

    def __init__(self, log: Path, home: Path, port: int = 0) -> None:
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind(("127.0.0.1", port))
            self.port = free.getsockname()[1]
        self.log = log
        panel = Path(sys.executable).parent / "panel"
        self._file = log.open("w")
        self.process = subprocess.Popen(
            [str(panel), "serve", "app", "--port", str(self.port)],
            cwd=ROOT,
            stdout=self._file,
            stderr=subprocess.STDOUT,
            env={**os.environ, "SOLVERSCOPE_HOME": str(home), "PYTHONFAULTHANDLER": "1"},
        )
        self._wait()

    def _wait(self) -> None:
        address = f"http://localhost:{self.port}/static/js/bokeh.min.js"
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                urllib.request.urlopen(address, timeout=2).close()
                return
            except OSError:
                assert self.process.poll() is None, self.log.read_text()
                time.sleep(0.2)
        raise AssertionError(f"the server did not answer: {self.log.read_text()}")

    def address(self, **query: str) -> str:
        return f"http://localhost:{self.port}/app" + (f"?{urlencode(query)}" if query else "")

    def computing(self, seconds: float) -> float:
        """CPU seconds that runs take in the time to come: those of all threads but the page's own, which may
        draw, or look for garbage after a visit, meanwhile."""
        before = self.threads()
        time.sleep(seconds)
        after = self.threads()
        return sum(after[name] - before.get(name, 0.0) for name in after if name != self.page_thread)

    @property
    def page_thread(self) -> str:
        """Which of the threads serves the pages."""
        return str(self.process.pid)

    def threads(self) -> dict[str, float]:
        """CPU seconds of every thread that is alive."""
        found = {}
        for stat in Path(f"/proc/{self.process.pid}/task").glob("*/stat"):
            with contextlib.suppress(OSError):  # it has just ended
                fields = stat.read_text().rpartition(")")[2].split()
                found[stat.parent.name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return found

    def memory(self) -> float:
        """Resident MiB of the server process."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * 4096 / 2**20

    def stop(self) -> str:
        self.process.terminate()
        try:
            self.process.wait(10 * PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)  # the log then says what its threads were doing
            self.process.wait(10)
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
        page.set_default_timeout(1000 * WAIT * PATIENCE)
        self.errors: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.errors.append(f"page error: {error.stack}"))
        page.on("request", self._request)

    def _console(self, message) -> None:
        if message.type == "error":
            self.errors.append(f"console: {message.text}")

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
        return -1 if text == "–" else int(text.replace("\u2009", ""))

    def states(self) -> list[str]:
        return self.page.locator(".row.run").evaluate_all("rows => rows.map((row) => row.dataset.state)")

    def rows(self) -> list[str]:
        """What each row of the legend says of its run: its label, how it stands, and why it ended so."""
        code = """rows => rows.map((row) => `${row.dataset.label}: ${row.dataset.state}` +
          (row.title && ` (${row.title})`))"""
        return self.page.locator(".row.run").evaluate_all(code)

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
              const figures = [...Bokeh.documents[0]._all_models.values()].filter((m) =>
                m.type === "Figure" && m.toolbar.tools.some((t) => t.filename === name))
              const renderers = figures.at(-1)?.renderers ?? []
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
        code = "() => [...Bokeh.documents[0]._all_models.values()].filter((m) => m.type === 'Figure')"
        return set(self.page.evaluate(f"({code})().map((m) => m.id)"))

    def points(self, figure: str) -> int:
        """Points in all curves of a figure."""
        return sum(map(len, self.curves(figure).values()))

    def cursor(self, figure: str) -> float | None:
        """Where the cursor's line stands in a figure."""
        return self.page.evaluate(
            """(name) => {
              const figure = [...Bokeh.documents[0]._all_models.values()].filter((m) =>
                m.type === "Figure" && m.toolbar.tools.some((t) => t.filename === name)).at(-1)
              const line = figure?.renderers.find((r) => r.glyph?.type === "VSpan")
              return line?.data_source.data.x[0] ?? null
            }""",
            figure,
        )

    def reach(self, figure: str) -> list[float]:
        """Where the horizontal axis of a figure begins and ends."""
        return self.page.evaluate(
            """(name) => {
              const figure = [...Bokeh.documents[0]._all_models.values()].filter((m) =>
                m.type === "Figure" && m.toolbar.tools.some((t) => t.filename === name)).at(-1)
              return [figure.x_range.start, figure.x_range.end]
            }""",
            figure,
        )

    def query(self) -> dict[str, str]:
        """The address as the page keeps it."""
        return dict(parse_qsl(urlsplit(self.page.url).query))

    def wait_until(self, condition: Callable[[], bool], what: str, seconds: float = WAIT) -> None:
        until = time.monotonic() + seconds * PATIENCE
        while not condition():
            waited = f"waited {seconds:g} s for {what}"
            assert time.monotonic() < until, "; ".join([waited, *self.notices(), *self.rows(), *self.errors])
            self.page.wait_for_timeout(100)


@pytest.fixture
def visit(server: Server, browser: Browser) -> Generator[Callable[..., Visit], None, None]:
    """``visit(width=, height=, color_scheme=, init_script=, **query)`` opens the page in a browser
    context of its own."""
    visits: list[Visit] = []
    contexts: list[BrowserContext] = []

    def open_page(
        width: int = 1440, height: int = 900, color_scheme: str = "light", init_script: str = "", **query: str
    ) -> Visit:
        viewport = {"width": width, "height": height}
        contexts.append(browser.new_context(viewport=viewport, color_scheme=color_scheme))
        contexts[-1].add_init_script(init_script)
        visits.append(Visit(contexts[-1].new_page(), server))
        return visits[-1].open(**query)

    yield open_page
    for context in contexts:
        context.close()
    errors = [error for v in visits for error in v.errors]
    assert errors == [], "\n".join(errors)
