"""What a page changes reaches its browser in order, and is changed under the lock of the document."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace

import panel as pn
import pytest
from bokeh.document import Document
from bokeh.document.callbacks import invoke_with_curdoc
from bokeh.document.events import DocumentPatchedEvent
from bokeh.events import ButtonClick
from bokeh.io import curdoc
from bokeh.models import ImportedStyleSheet, Title
from bokeh.protocol import Protocol
from bokeh.server.connection import ServerConnection
from bokeh.server.session import ServerSession
from panel.io import document as panel_document
from panel.io.state import set_curdoc, state
from tornado.ioloop import IOLoop

from app.serving.batch import batch
from app.serving.delivery import forget_failed, send_in_order, style_from_here
from tests import loop


class Socket:
    """Notes what is sent: by Bokeh, or at once."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def send_message(self, message: object) -> None:
        self.sent.append(message.content_json)

    def send_at_once(self, events: list[DocumentPatchedEvent]) -> list[asyncio.Future]:
        self.sent.append(Protocol().create("PATCH-DOC", events).content_json)
        return []


class Server:
    """A document with one browser, as a Bokeh server keeps it."""

    def __init__(self) -> None:
        self.document, self.socket = Document(), Socket()
        self.session = ServerSession("a session", self.document, io_loop=IOLoop.current())
        request = SimpleNamespace(arguments={}, headers={}, cookies={}, path="/")
        self.context = SimpleNamespace(session=self.session, id="a session", request=request)
        self.document._session_context = lambda: self.context
        self.session.subscribe(ServerConnection(Protocol(), self.socket, None, self.session))
        state._thread_id_[self.document] = threading.get_ident()
        state._loaded[self.document] = state._connected[self.document] = True

    @property
    def locked(self) -> bool:
        return self.session._pending_writes is not None


def serve(scenario: Callable[[Server], object]) -> None:
    """Run a coroutine on a server."""

    async def act() -> None:
        send_in_order()
        await scenario(Server())

    loop.run(act())


@pytest.fixture(autouse=True)
def socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Panel knows how to write to the socket itself."""
    at_once = lambda connection, events=None, msg=None: connection._socket.send_at_once(events)  # noqa: E731
    monkeypatch.setitem(panel_document.extra_socket_handlers, Socket, at_once)


def test_a_click_while_a_change_waits_is_handled_after_it_and_both_under_the_lock():
    async def scenario(server: Server) -> None:
        seen = []
        field = pn.widgets.Select(options=["a", "b"])
        button = pn.widgets.Button()
        field.param.watch(lambda event: seen.append(("change", server.locked)), "value")
        button.on_click(lambda event: seen.append(("click", server.locked)))
        with set_curdoc(server.document):
            root = pn.Row(field, button).get_root(server.document)
        ref, (_, model) = root.ref["id"], root.children
        field._server_change(server.document, ref, None, "value", "a", "b")
        button._server_event(server.document, ButtonClick(model))
        await loop.until(lambda: len(seen) > 1)
        assert seen == [("change", True), ("click", True)]

    serve(scenario)


def test_what_panel_sends_does_not_overtake_what_bokeh_has_prepared():
    async def scenario(server: Server) -> None:
        title, pane = Title(), pn.pane.Str("")

        def show() -> None:
            server.document.add_root(pane.get_root(server.document))
            server.document.add_root(title)

        def change() -> None:
            title.text = "first"
            pane.object = "second"
            title.text = "third"

        with set_curdoc(server.document):
            await server.session.with_document_locked(show)
            server.socket.sent.clear()
            await server.session.with_document_locked(change)
        await loop.until(lambda: len(server.socket.sent) > 2)
        said = [next(w for w in ("first", "second", "third") if w in text) for text in server.socket.sent]
        assert said == ["first", "second", "third"]

    serve(scenario)


def test_a_text_that_changes_while_it_is_put_on_the_page_asks_no_other_host_for_styles():
    async def scenario(server: Server) -> None:
        server.document.template_variables["dist_url"] = "static/extensions/panel/"
        column, pane = pn.Column(), pn.pane.HTML("at first")

        def put() -> None:
            with batch():
                column.append(pane)
                pane.object = "a moment later"

        with set_curdoc(server.document):
            root = column.get_root(server.document)
            await server.session.with_document_locked(lambda: server.document.add_root(root))
            await server.session.with_document_locked(put)
        sheets = [sheet.url for sheet in server.document.roots[0].select({"type": ImportedStyleSheet})]
        assert sheets
        assert [url for url in sheets if "://" in url] == []

    style_from_here()
    serve(scenario)


def test_a_callback_that_fails_leaves_no_current_document_to_others():
    forget_failed()
    document, before = Document(), curdoc()

    def fail() -> None:
        assert curdoc() is document
        raise OSError("as it happens")

    with pytest.raises(OSError, match="as it happens"):
        invoke_with_curdoc(document, fail)
    assert curdoc() is before
