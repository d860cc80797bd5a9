"""The page in a window of its own: a local server for it, and an installed browser without tabs."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import chain
from subprocess import DEVNULL, Popen, TimeoutExpired
from tempfile import TemporaryDirectory

from .. import plugins
from .options import PLUGIN_OPTION, argument, option

#: Browsers that can open a window without tabs: their commands, and paths at which they may be installed.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
INSTALLED = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
#: Seconds until the server must answer, and between two questions.
MAX_START_SECONDS, ASK_SECONDS = 120.0, 0.1
#: Seconds to wait for the server to end.
END_SECONDS = 5.0


def open_(
    query: str = argument("QUERY", "What follows the ? of the page's address, as story=armijo.", default=""),
    browser: str | None = option(
        "--browser", "PROGRAM", "A Chromium, Chrome or Edge; by default one that is installed."
    ),
    plugin: list[str] = PLUGIN_OPTION,
) -> int:
    """Show the page in a window of its own, with a server that ends when the window is closed."""
    plugins.load_all(plugin)  # here too: what is wrong is said at once
    served = [*chain(*(("--plugin", one) for one in plugin))]
    return open_window(query.lstrip("?"), find_browser(browser), served)


def find_browser(given: str | None = None) -> str:
    """Return the path of the browser ``given``, or of the first that is installed.

    Raises ValueError if there is none.
    """
    if given is not None:
        if (found := shutil.which(given)) is None:
            raise ValueError(f"there is no browser {given!r}: name a program that can be started")
        return found
    for name in (*BROWSERS, *INSTALLED):
        if (found := shutil.which(name)) is not None:
            return found
    raise ValueError("neither Chromium, Chrome nor Edge is installed: name one by --browser, or use `serve`")


def open_window(query: str, browser: str, served: Sequence[str], browser_options: Sequence[str] = ()) -> int:
    """Serve the page on a free port until its window is closed; return the exit status.

    That is the status of the server or the browser if one is not 0.

    Parameters
    ----------
    query : str
        The query string of the page's URL.
    browser : str
        The path of Chromium, Chrome or Edge.
    served, browser_options : sequence of str
        Options of `serve`, and of the browser.
    """
    from ..serving.manifest import MANIFEST_PATH  # the server's libraries take long to import

    at = f"http://localhost:{_free_port()}/app"
    serve = [sys.executable, "-P", "-m", "solverscope", "serve", "--port", at.split(":")[2].split("/")[0]]
    options = ["--no-first-run", "--no-default-browser-check"]
    if getattr(os, "geteuid", lambda: 1)() == 0:  # as root it starts without a sandbox alone
        options.append("--no-sandbox")
    with ExitStack() as ended:
        profile = ended.enter_context(TemporaryDirectory(prefix="window-", ignore_cleanup_errors=True))
        server = ended.enter_context(_ended(Popen([*serve, *served], stdin=DEVNULL)))
        if not _answers(f"{at}{MANIFEST_PATH}", server):
            return server.returncode or 1
        address = f"--app={at}?{query}" if query else f"--app={at}"
        window = ended.enter_context(
            _ended(Popen([browser, address, f"--user-data-dir={profile}", *options, *browser_options]))
        )
        while window.poll() is None and server.poll() is None:
            time.sleep(ASK_SECONDS)
        return window.returncode or server.returncode or 0


def _free_port() -> int:
    with closing(socket.socket()) as bound:
        bound.bind(("localhost", 0))
        return bound.getsockname()[1]


def _answers(address: str, server: Popen) -> bool:
    """Wait until the server answers at a URL; return False if it ends before or takes too long."""
    import urllib.request

    until = time.monotonic() + MAX_START_SECONDS
    while server.poll() is None and time.monotonic() < until:
        try:
            with urllib.request.urlopen(address, timeout=ASK_SECONDS * 50):
                return True
        except OSError:
            time.sleep(ASK_SECONDS)
    return False


@contextmanager
def _ended(process: Popen) -> Iterator[Popen]:
    """End a process at the end of the block."""
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except TimeoutExpired:
                process.kill()
                process.wait()
