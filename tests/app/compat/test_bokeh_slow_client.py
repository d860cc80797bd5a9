"""Messages for a browser that reads nothing are bounded in bytes and in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from bokeh.models import Title
from panel.io import document as panel_document
from panel.io.state import set_curdoc

from solverscope.app.compat import bokeh_slow_client, panel_write_order
from solverscope.app.compat.bokeh_slow_client import TOO_MUCH, TOO_SLOW, TRY_AGAIN, bounded, size_of
from tests import loop


class Deaf:
    """A connection that takes nothing."""

    def __init__(self) -> None:
        self.ws_connection: object | None = object()
        self.closed: list[tuple[int, str]] = []
        self.waits = 0

    def close(self, code: int, reason: str) -> None:
        self.ws_connection = None
        self.closed.append((code, reason))

    async def _send(self, message: object) -> None:
        self.waits += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.waits -= 1

    send_message: Callable = bounded(_send)


def message(characters: int) -> SimpleNamespace:
    return SimpleNamespace(content_json="x" * characters, buffers=[])


def test_a_browser_that_takes_nothing_is_closed_once_too_much_waits_for_it(monkeypatch):
    monkeypatch.setattr(bokeh_slow_client, "MOST_BYTES", 100)

    async def scenario() -> None:
        handler = Deaf()
        sent = [asyncio.ensure_future(handler.send_message(message(30))) for _ in range(9)]
        await asyncio.sleep(0)
        assert handler.closed == [(TRY_AGAIN, TOO_MUCH)]
        assert handler.waits == 4, "the message that goes beyond it waits too: a large one must be possible"
        for task in sent:
            task.cancel()

    loop.run(scenario())


def test_a_browser_that_takes_nothing_is_closed_after_a_time_also_with_little_waiting(monkeypatch):
    monkeypatch.setattr(bokeh_slow_client, "SECONDS", 0.0)
    monkeypatch.setattr(bokeh_slow_client, "BYTES_A_SECOND", 1e9)

    async def scenario() -> None:
        handler = Deaf()
        await handler.send_message(message(30))
        assert (handler.closed, handler.waits) == ([(TRY_AGAIN, TOO_SLOW)], 0)

    loop.run(scenario())


def test_who_takes_what_is_sent_is_never_closed(monkeypatch):
    monkeypatch.setattr(bokeh_slow_client, "MOST_BYTES", 100)

    async def scenario() -> None:
        handler, heard = Deaf(), []

        async def send(handler: Deaf, message: SimpleNamespace) -> None:
            heard.append(message)

        for _ in range(50):
            await bounded(send)(handler, message(1000))
        assert (handler.closed, len(heard)) == ([], 50)

    loop.run(scenario())


def test_buffers_count_by_their_bytes():
    buffers = [SimpleNamespace(data=memoryview(np.zeros((10, 10)))), SimpleNamespace(data=b"four")]
    assert size_of(SimpleNamespace(content_json="{}", buffers=buffers)) == 2 + 800 + 4


@pytest.mark.parametrize("shared", [True, False])
def test_a_shared_document_waits_for_nobody(shared, serve):
    """The document of one visitor waits for its browser, so that little is on its way to a slow one."""
    panel_write_order.apply()
    taken = asyncio.Event()

    async def scenario(server) -> None:
        title = Title()
        await server.session.with_document_locked(server.document.add_root, title)
        if shared:
            panel_write_order.share(server.document)

        async def send_message(message: object) -> None:
            await taken.wait()

        server.socket.send_message = send_message

        def change() -> None:
            with panel_document.hold(server.document):
                title.text = "changed"

        with set_curdoc(server.document):
            done = asyncio.ensure_future(server.session.with_document_locked(change))
            for _ in range(20):
                await asyncio.sleep(0)
            assert done.done() is shared
            taken.set()
            await done

    serve(scenario)
