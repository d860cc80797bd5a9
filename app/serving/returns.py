"""Pages that their browsers leave and come back to, by keys that nobody else knows."""

from __future__ import annotations

from typing import Protocol
from weakref import WeakValueDictionary

from tornado.web import RequestHandler

#: Letters of a key at most.
LONGEST = 100


class Leaving(Protocol):
    """A page that can be left."""

    def leave(self) -> None:
        """Take note that its browser closes it, or loads another one in its place."""


#: As long as they are there.
pages: WeakValueDictionary[str, Leaving] = WeakValueDictionary()


class Left(RequestHandler):
    """The request that a browser sends, with the key of the page, when it closes that."""

    def check_xsrf_cookie(self) -> None:
        """Skip the check: the key proves that it is the page's browser."""

    def post(self) -> None:
        if (page := pages.get(self.request.body[:LONGEST].decode("ascii", "replace"))) is not None:
            page.leave()
        self.set_status(204)
