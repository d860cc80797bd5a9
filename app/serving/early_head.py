"""The head of the page goes out before the page is made, so that the browser reads the scripts meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from bokeh.server.contexts import ApplicationContext
from bokeh.server.session import ServerSession
from panel.io.server import DocHandler

from app.serving.guard import server_of

#: Seconds between the head and the making of the page, in which nothing else is sent: a browser needs them to
#: ask for the scripts and to get them.
SCRIPTS = 0.1
#: Arguments with which there is another page than the usual one, or none.
OTHER = {"follow", "bokeh-token", "bokeh-session-id"}
END = "</head>"
#: What only the head of the page has.
MARK = 'rel="modulepreload"'
#: Instead of a page whose head is another one than was sent.
AGAIN = f"{END}<body><script>location.reload()</script></body></html>"


def install(context: ApplicationContext, kind: Callable[[Mapping[str, str]], str]) -> None:
    """Answer requests for the page that ``context`` serves; ``kind(cookies)`` names the head that they get,
    one of a few."""
    server = server_of(context)
    route = f"{server.prefix}{context.url.rstrip('/')}"
    given = {"application_context": context, "bokeh_websocket_path": f"{route}/ws", "heads": Heads(kind)}
    server.add_handlers(".*", [(f"{route}/?", _Page, given)])


class Heads:
    """The heads that pages had so far, by kind; None is the kind of all that are not the usual page."""

    def __init__(self, kind: Callable[[Mapping[str, str]], str]) -> None:
        self.kind = kind
        self._known: dict[str, str] = {}

    def get(self, kind: str | None) -> str:
        """Return the head that a page of this kind will have; "" if it is not known."""
        return "" if kind is None else self._known.get(kind, "")

    def rest(self, kind: str | None, sent: str, page: str) -> str:
        """Return what is to be sent of a page after ``sent``, and learn its head."""
        if kind is None:
            return page
        if sent and not page.startswith(sent):
            self._known.pop(kind, None)
            return AGAIN
        head, end, _ = page.partition(END)
        if end and MARK in head:
            self._known[kind] = head
        return page[len(sent) :]


class _Page(DocHandler):
    """Panel's handler of pages, which makes the page before it says a word."""

    def initialize(self, heads: Heads, **kwargs: Any) -> None:
        super().initialize(**kwargs)
        other = OTHER & set(self.request.arguments) or "Bokeh-Session-Id" in self.request.headers
        cookies = {name: morsel.value for name, morsel in self.cookies.items()}
        self._heads, self._kind, self._sent = heads, None if other else heads.kind(cookies), ""

    async def get_session(self) -> ServerSession:
        self._sent = self._heads.get(self._kind)
        if self._sent:
            self.set_header("Content-Type", "text/html")
            super().write(self._sent)
            await self.flush()
            await asyncio.sleep(SCRIPTS)
        return await super().get_session()

    def write(self, chunk: str | bytes | dict) -> None:
        super().write(self._heads.rest(self._kind, self._sent, chunk) if isinstance(chunk, str) else chunk)
