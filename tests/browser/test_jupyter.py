"""The page behind a real jupyter-server: it opens, a run finishes, own files and own loops get to it."""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.jupyter import TOKEN, Jupyter

from .conftest import Server, Visit, complaints
from .test_own_data import GOOD, give
from .test_own_loops import SMALL, line_of, start  # noqa: F401 (a fixture)

pytestmark = pytest.mark.slow

#: A name that browsers take for this machine, and that no server knows as its own.
HUB = "hub.localhost"


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory, own_home: Path) -> Generator[Jupyter, None, None]:
    jupyter = Jupyter(tmp_path_factory.mktemp("jupyter"))
    yield jupyter
    assert jupyter.stop() == [], jupyter.log.read_text()


@pytest.fixture
def tab(jupyter, browser) -> Generator[Visit, None, None]:
    """The tab that the tile opens, of a browser that has logged in."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    visit = Visit(context.new_page(), jupyter)
    visit.page.goto(jupyter.url(f"api/status?token={TOKEN}"))
    visit.errors.clear()  # a page of Jupyter's own may want an icon that it has not
    yield visit.open(**SMALL)
    for page in context.pages:
        page.close()
    context.close()
    assert visit.errors == []


def test_a_run_finishes_the_address_has_the_set_up_and_a_reload_has_the_run(tab, jupyter):
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["finished"], "the run to end")
    tab.open_tab("Record")
    assert tab.page.url.startswith(jupyter.address() + "?")
    assert tab.query()["data"] == "breast-cancer"
    tab.page.reload()
    tab.wait_until(lambda: tab.states() == ["finished"], "the run")


def test_a_file_and_a_loop_of_the_user_come_to_the_page(tab, jupyter, start):  # noqa: F811 (the fixture)
    line = line_of(tab)
    assert f'"http://localhost:{jupyter.own_port()}/app#' in line
    process = start(line)
    tab.wait_until(lambda: tab.rows() != [] and tab.iteration("mine") > 20, "its iterates")
    tab.button("Stop mine").click()
    tab.wait_until(lambda: tab.row("mine")["state"] == "stopped", "the run to be stopped")
    process.communicate(timeout=60)
    large = GOOD * 600  # several pieces
    assert len(large) > 2 << 20
    give(tab, "mine.svm", large.encode())
    menu = tab.page.get_by_role("combobox", name="Data set")
    tab.wait_until(lambda: menu.inner_text() == "mine.svm", "the file to be chosen")


def test_a_server_that_was_started_by_hand_takes_who_comes_by_its_trusted_proxy_for_its_owner(
    jupyter, browser, own_home, tmp_path
):
    command = (sys.executable, "-m", "solverscope", "serve", "--trusted-proxy", HUB)
    server = Server(tmp_path / "log", own_home, program=command)
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    tab = Visit(context.new_page(), server)
    base = jupyter.url("").replace("localhost", HUB)
    tab.page.goto(f"{base}api/status?token={TOKEN}")
    tab.page.goto(f"{base}proxy/{server.port}/app?data=breast-cancer&solvers=prox-qn&lam=0.01")
    tab.wait_until(lambda: tab.button("Run").is_enabled(), "Run to be possible")
    tab.button("Run").click()
    tab.wait_until(lambda: tab.states() == ["finished"], "the run to end")
    assert f'"http://localhost:{server.port}/app#' in line_of(tab)
    tab.button("Drop your own file, or choose one").wait_for()
    tab.page.goto(f"{base}proxy/{server.port}/")
    tab.wait_until(lambda: "/app?" in tab.page.url, "the page below the port")
    context.close()
    assert complaints(server.stop()) == []
    others = ("request to another host: " + base, "console: error: Failed to load resource")
    assert [error for error in tab.errors if not error.startswith(others)] == []
