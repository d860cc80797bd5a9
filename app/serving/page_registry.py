"""A registry of open pages, by keys that only the server and the pages' browser tabs know."""

from __future__ import annotations

from typing import Protocol
from weakref import WeakValueDictionary

from tornado.web import RequestHandler

#: Bytes of a key that are read, at most.
MAX_KEY_BYTES = 100


class RegisteredPage(Protocol):
    """A page that is notified when its browser closes it."""

    def leave(self) -> None:
        """Record that the browser closes the page, or loads another one instead."""


#: The pages, while something else refers to them.
pages: WeakValueDictionary[str, RegisteredPage] = WeakValueDictionary()


class PageClosedHandler(RequestHandler):
    """The handler of the request with a page's key that a browser sends when it closes the page."""

    def check_xsrf_cookie(self) -> None:
        """Skip the check, because the key proves that the sender is the page's browser."""

    def post(self) -> None:
        key = self.request.body[:MAX_KEY_BYTES].decode("ascii", "replace")
        if (page := pages.get(key)) is not None:
            page.leave()
        self.set_status(204)
