"""Who serves is told of each Bokeh server before it answers anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bokeh.server import server as bokeh_server
from bokeh.server.tornado import DEFAULT_SESSION_TOKEN_EXPIRATION, BokehTornado

from solverscope.app.compat.change import Change

CHANGE = Change(
    name=__name__,
    package="bokeh",
    upstream="An application cannot reach the server that serves it, nor the Tornado application in it: "
    "headers, routes and the life of tokens are arguments of a server that `panel serve` makes (no "
    "issue found).",
    without="Strangers are refused by the page alone, and a page that was cut off for long is reloaded.",
    knows=(
        "bokeh.server.server:BokehTornado.__init__(sign_sessions, secret_key, session_token_expiration)",
        "bokeh.server.tornado:BokehTornado.__init__(sign_sessions, secret_key, session_token_expiration)",
    ),
    digest="7790ce7a84a83b1c",
)


def when_made(install: Callable[[BokehTornado], None], secret_key: bytes, token_life: int) -> None:
    """Call ``install`` with each server of this process that is made from now on. It signs its tokens, with
    ``secret_key`` if it has no key, and they live for ``token_life`` seconds, unless whoever starts it says
    otherwise. A second call replaces the first."""
    if not CHANGE.fits():
        return

    class Told(BokehTornado):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            if not kwargs.get("sign_sessions"):
                kwargs |= {"sign_sessions": True, "secret_key": kwargs.get("secret_key") or secret_key}
            if kwargs.get("session_token_expiration") in (None, DEFAULT_SESSION_TOKEN_EXPIRATION):
                kwargs["session_token_expiration"] = token_life
            super().__init__(*args, **kwargs)
            install(self)

    bokeh_server.BokehTornado = Told
