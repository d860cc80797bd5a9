"""A server for everybody, and visitors who mean it harm: what they send is refused or harms their own page
alone, and the server goes on."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Generator

import numpy as np
import psutil
import pytest

from solverscope.app.loops.client import solverscope_run
from solverscope.app.page.sidebar.own_loops import MAX_LOOPS
from tests import loop
from tests.benchmarks.visitor import Visitor

from ..conftest import Served

pytestmark = pytest.mark.slow

#: In place of what a script of the page says.
ODD = ("/etc/passwd", "../../etc/passwd", -1, 10**30, 1e308, None, True, "", "x" * 5000, ["a", ["b"]])
#: Names of what scripts of the page say.
SAID = ("action", "key", "value", "figure", "step", "name", "text", "iteration", "answer", "who")
#: Requests that are begun and not ended.
HALF = 150


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served, None, None]:
    """A server that lets everybody in."""
    server = Served(tmp_path_factory.mktemp("public") / "log", "--args", "--public")
    yield server
    server.stop()


async def still_works(server: Served) -> None:
    """A visitor who comes now can run something."""
    visitor = Visitor(server.port)
    await visitor.open("?data=breast-cancer&solvers=prox-qn&tol=1e-3")
    await visitor.press("Run")
    await visitor.wait_until(lambda: "finished" in visitor.states, "the end of a run")
    await visitor.close()


def test_messages_that_no_script_of_the_page_sends_harm_nobody(public):
    async def attack() -> None:
        attacker = Visitor(public.port)
        await attacker.open()
        components = [name for name in attacker.models if name and name[0].isupper() and " " not in name]
        assert {"StoryCard", "LegendRows", "CursorBar", "Teaching"} <= set(components)
        for component in components:
            for value in ODD:
                await attacker.tell(component, **dict.fromkeys(SAID, value))
        for name in components:
            await attacker.change(attacker.models[name], "name", "/etc/passwd")
            await attacker.change(attacker.models[name], "no_such_property", [1])
        await still_works(public)
        await attacker.close()

    loop.run(attack())


def test_models_of_another_session_and_of_none_are_not_reached(public):
    async def attack() -> None:
        first, second = Visitor(public.port), Visitor(public.port)
        await first.open("?data=breast-cancer&solvers=prox-qn")
        await second.open("?data=breast-cancer&solvers=prox-qn")
        own = set(second.models.values())
        others = [id for id in first.models.values() if id not in own]
        assert len(others) > 5
        for id in [*others, "p0", "", "x" * 1000]:
            await second.press_at(id)
            await second.change(id, "visible", False)
        await first.press("Run")
        await first.wait_until(lambda: "finished" in first.states, "its own run")
        assert len(first.rows) == 1
        await first.close()
        await second.close()
        await still_works(public)

    loop.run(attack())


def test_a_token_of_a_page_lets_in_as_many_loops_as_it_may_show_and_none_with_wrong_weights(public):
    async def attack() -> None:
        heard: list[str] = []
        page = Visitor(public.port, heard)
        await page.open("?data=breast-cancer&solvers=prox-qn")
        await page.tell("OwnLoops", action="open")

        def tokens() -> list[str]:
            frames = (json.loads(frame) for frame in heard if '"token"' in frame)
            events = (event for frame in frames for event in frame.get("events", ()))
            return [event["new"] for event in events if event.get("attr") == "token"]

        await page.wait_until(tokens, "a token")
        [token] = tokens()
        address = f"http://localhost:{public.port}/app#{token}"
        loops = []
        for k in range(MAX_LOOPS):
            loops.append(await asyncio.to_thread(solverscope_run, f"run {k}", address))
        await page.wait_until(lambda: len(page.rows) == MAX_LOOPS, "all loops")
        with pytest.raises(ConnectionError, match=f"shows {MAX_LOOPS} loops"):
            await asyncio.to_thread(solverscope_run, "one more", address)
        size = loops[0].size
        for shape in ((size + 1,), (1,), (0,), (2, size)):
            with pytest.raises(ValueError, match="entries"):
                loops[0].iterate(w=np.zeros(shape))
        guessed = address[:-1] + ("A" if token[-1] != "A" else "B")
        with pytest.raises(ConnectionError, match="No open page has this token"):
            await asyncio.to_thread(solverscope_run, "mine", guessed)
        for one in loops:
            one.close()
        await page.close()
        await still_works(public)

    loop.run(attack())


def test_requests_that_are_begun_and_never_ended_keep_nobody_out(public):
    process = psutil.Process(public.process.pid)
    before = process.num_fds()
    halves = [
        b"GET /app HTTP/1.1\r\nHost: localhost\r\n",
        b"GET /app/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n",
        b"PUT /app/loop HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nContent-Length: 9\r\n\r\nw",
        b"\x16\x03\x01\x02\x00",
        b"",
    ]
    begun = []
    for k in range(HALF):
        begun.append(socket.create_connection(("127.0.0.1", public.port), 30))
        begun[-1].sendall(halves[k % len(halves)])
    loop.run(still_works(public))
    for one in begun:
        one.close()

    async def given_back() -> None:
        await loop.until(lambda: process.num_fds() <= before + 10, 60.0)

    loop.run(given_back())
