"""A visitor without a browser: speaks Bokeh's protocol over a web socket, and keeps what it must look at."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

#: What a message is about that is looked at.
TOLD = ('"rows"', '"disabled"', '"doc"', '"address"', '"token"')
TOKEN = re.compile(r'"token":"([^"]+)"')


class Visitor:
    """One page. ``rows`` are those of the legend as they were last sent: a dictionary a run. All text that
    comes is put into ``heard``, where that is given."""

    def __init__(self, port: int, heard: list[str] | None = None) -> None:
        self._heard = heard
        self._at = f"localhost:{port}"
        self._ids = itertools.count()
        self._socket: WebSocketClientConnection | None = None
        self._reader: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()
        self.models: dict[str, str] = {}  # id of what can be sent an event, by its label or class
        self.labels: dict[str, str] = {}  # labels of buttons and menus, by the id of their data
        self.disabled: dict[str, bool] = {}  # by label
        self.rows: list[dict[str, Any]] = []

    async def token(self, query: str = "") -> str:
        """Load the page as a browser does; return the token by which its socket finds the session."""
        page = await AsyncHTTPClient().fetch(f"http://{self._at}/app{query}", request_timeout=120)
        found = TOKEN.search(page.body.decode())
        assert found is not None, "no session in the page"
        return found.group(1)

    async def open(self, query: str = "", ready: str = "Run", token: str | None = None) -> None:
        """Load the page, or go on with the ``token`` of one, until it has what is ``ready``, and Run can be
        pressed."""
        token = token or await self.token(query)
        request = HTTPRequest(f"ws://{self._at}/app/ws", request_timeout=120)
        self._socket = await websocket_connect(request, subprotocols=["bokeh", token], max_message_size=2**26)
        while '"ACK"' not in await self._socket.read_message():
            pass  # the server listens once it has said so
        self._reader = asyncio.create_task(self._read())
        await self._write("PULL-DOC-REQ", {})
        await self.wait_until(lambda: ready in self.models, "the document")
        await self._event({"type": "event", "name": "document_ready", "values": {"type": "map"}})
        await self.wait_until(lambda: not self.disabled.get(ready), "it to be possible")

    async def close(self) -> None:
        """Leave, as a closed tab does."""
        if self._reader is not None:
            self._reader.cancel()
        if self._socket is not None:
            self._socket.close()

    async def press(self, label: str) -> None:
        """Press a button."""
        await self.press_at(self.models[label])

    async def press_at(self, id: str) -> None:
        """Press what has this id, which may be none of this page's."""
        data = {"type": "map", "entries": []}
        await self._model_event("dom_event", id, node="click", data=data)

    async def change(self, id: str, attr: str, value: Any) -> None:
        """Set a property of a model, as the script of a page does, or whoever writes one."""
        await self._write(
            "PATCH-DOC",
            {"events": [{"kind": "ModelChanged", "model": {"id": id}, "attr": attr, "new": value}]},
        )

    async def tell_legend(self, action: str, run: int) -> None:
        """What a click into a run's row says."""
        await self.tell("LegendRows", action=action, key=run)

    async def teach(self) -> str:
        """Begin a lesson and return what its address adds to the page's."""
        before, self._heard = self._heard, []
        await self.tell("Teaching", action="teach")
        await self.wait_until(lambda: any("teach=" in frame for frame in self._heard), "a lesson's address")
        found, self._heard = next(frame for frame in self._heard if "teach=" in frame), before
        return next(e["new"] for e in json.loads(found)["events"] if e.get("attr") == "address")

    async def tell(self, component: str, **said: Any) -> None:
        """Send a message as the script of a component does."""
        data = {"type": "map", "entries": [[name, value] for name, value in said.items()]}
        await self._model_event("data_event", self.models[component], data=data)

    async def wait_until(self, condition: Callable[[], bool], what: str, seconds: float = 120.0) -> None:
        """Until a message has made it true."""
        try:
            async with asyncio.timeout(seconds), self._news:
                await self._news.wait_for(condition)
        except TimeoutError:
            raise AssertionError(f"waited {seconds:g} s for {what}") from None

    @property
    def chosen(self) -> int | None:
        """The run whose row is the chosen one."""
        return next((row["key"] for row in self.rows if row["chosen"]), None)

    @property
    def states(self) -> list[str]:
        return [row["state"] for row in self.rows]

    @property
    def cpu_seconds(self) -> float:
        """Of all its runs, as the legend shows them."""
        found = [re.fullmatch(r"([\d\u202f.]+)\u202f?\s*s", row["cpu_seconds"]) for row in self.rows]
        return sum(float(m.group(1).replace("\u202f", "")) for m in found if m)

    # messages

    async def _model_event(self, name: str, id: str, **values: Any) -> None:
        entries = [["model", {"id": id}], *([key, value] for key, value in values.items())]
        await self._event({"type": "event", "name": name, "values": {"type": "map", "entries": entries}})

    async def _event(self, event: dict[str, Any]) -> None:
        sent = {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": event}
        await self._write("PATCH-DOC", {"events": [sent]})

    async def _write(self, kind: str, content: dict[str, Any]) -> None:
        header = {"msgid": str(next(self._ids)), "msgtype": kind}
        for part in (header, {}, content):
            await self._socket.write_message(json.dumps(part))

    async def _read(self) -> None:
        while (frame := await self._socket.read_message()) is not None:
            if self._heard is not None and isinstance(frame, str):
                self._heard.append(frame)
            # what is not about the legend or a button is not worth the time on a machine that measures
            if isinstance(frame, str) and any(word in frame for word in TOLD):
                message = json.loads(frame)
                if "doc" in message:
                    self._learn(message["doc"])
                for event in message.get("events", ()):
                    self._follow(event)
                async with self._news:
                    self._news.notify_all()

    def _learn(self, document: dict[str, Any]) -> None:
        for model in _objects(document):
            data = model["attributes"].get("data")
            if not isinstance(data, dict) or "attributes" not in data:
                continue
            own = data["attributes"]
            name = own.get("label") if model.get("name", "").endswith("ReactComponent") else None
            name = name or model["attributes"].get("class_name")
            if name is not None:
                self.models.setdefault(name, model["id"])
                self.labels[data["id"]] = name
                self.disabled[name] = bool(own.get("disabled", False))

    def _follow(self, event: dict[str, Any]) -> None:
        attr = event.get("attr")
        if attr == "rows":
            self.rows = [dict(row["entries"]) for row in event["new"]]
        elif attr == "disabled" and (name := self.labels.get(event["model"]["id"])):
            self.disabled[name] = event["new"]


def text_frame(text: bytes) -> bytes:
    """A short text as a client's websocket sends it (RFC 6455, section 5.2), masked by zeros."""
    assert len(text) < 126
    return bytes([0x81, 0x80 | len(text)]) + bytes(4) + text


async def deaf(port: int, query: str) -> socket.socket:
    """Open a page as a browser does, ask for its document, and read nothing of it, nor what comes later."""
    page = await AsyncHTTPClient().fetch(f"http://localhost:{port}/app{query}", request_timeout=120)
    token = TOKEN.search(page.body.decode())
    assert token is not None, "no session in the page"
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # little that the system keeps for it
    await asyncio.to_thread(opened.connect, ("127.0.0.1", port))
    lines = [
        "GET /app/ws HTTP/1.1",
        f"Host: localhost:{port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Protocol: bokeh, {token.group(1)}",
    ]
    opened.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    heard = b""
    while b'"ACK"' not in heard:  # the server listens once it has said so
        heard += await asyncio.to_thread(opened.recv, 1024)
    for part in ({"msgid": "1", "msgtype": "PULL-DOC-REQ"}, {}, {}):
        opened.sendall(text_frame(json.dumps(part).encode()))
    return opened


async def timed_get(port: int) -> float:
    """Seconds until the server answers a request that costs it nothing."""
    began = time.perf_counter()
    await AsyncHTTPClient().fetch(f"http://localhost:{port}/app/metadata", request_timeout=120)
    return time.perf_counter() - began


def _objects(node: Any) -> Iterator[dict[str, Any]]:
    """All models written out somewhere in a document."""
    if isinstance(node, dict):
        if node.get("type") == "object" and "attributes" in node:
            yield node
        children: Any = node.values()
    elif isinstance(node, list):
        children = node
    else:
        return
    for child in children:
        yield from _objects(child)
