"""The page with libraries that are newer than all that is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from solverscope.app.compat.scripts import CHANGES
from tests import loop
from tests.benchmarks.visitor import Visitor

from ..conftest import Served


@pytest.fixture(scope="module")
def newer(tmp_path_factory):
    program = [str(Path(__file__).with_name("newer.py"))]
    server = Served(tmp_path_factory.mktemp("newer") / "log", program=program)
    yield server
    assert "Traceback" not in server.stop()


@pytest.mark.slow
def test_a_page_starts_works_and_the_log_says_what_was_left_out(newer):
    async def run() -> None:
        visitor = Visitor(newer.port)
        await visitor.open()
        await visitor.press("Run")
        await visitor.wait_until(lambda: "finished" in visitor.states, "the end of a run")
        await visitor.close()

    loop.run(run())
    lines = [line for line in newer.log.read_text().splitlines() if "left out" in line]
    names = [line.partition("left out ")[2].partition(":")[0] for line in lines if "is left out" not in line]
    made = ["bokeh_defaults", "panel_event_lock", "panel_write_order", "bokeh_server", "kernel_cache"]
    assert sorted(names) == sorted([*made, *CHANGES]), "and nothing of what is mended in a version before"
    for library in ("bokeh", "panel"):
        assert newer.log.read_text().count(f"{library} 99.0 is not one of the known versions") == 1


@pytest.mark.slow
def test_its_page_has_none_of_the_scripts(newer):
    status, _, page = newer.get("/app")
    assert status == 200
    assert "Bokeh.require" not in page
