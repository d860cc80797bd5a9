"""A change to Bokeh that calls a hook for each new server before it answers requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bokeh.server import server as bokeh_server
from bokeh.server.tornado import DEFAULT_SESSION_TOKEN_EXPIRATION, BokehTornado

from solverscope.app.compat.change import Change

#: Arguments of a server that are set here.
ARGUMENTS = (
    "sign_sessions, secret_key, session_token_expiration, absolute_url, "
    "include_headers, exclude_headers, include_cookies, exclude_cookies"
)
CHANGE = Change(
    name=__name__,
    package="bokeh",
    upstream="An application cannot reach the server that serves it, nor the Tornado application in it: "
    "headers, routes and the life of tokens are arguments of a server that `panel serve` makes (no "
    "issue found).",
    without="Strangers are refused by the page alone, a page that was cut off for long is reloaded, and a "
    "browser that reads nothing costs 9 MiB in four minutes.",
    knows=(
        f"bokeh.server.server:BokehTornado.__init__({ARGUMENTS})",
        f"bokeh.server.tornado:BokehTornado.__init__({ARGUMENTS})",
    ),
    digests=("1b54204ec59cc4a5",),
)


def when_made(
    install: Callable[[BokehTornado, str], None],
    secret_key: bytes,
    token_life: int,
    headers: Sequence[str],
    cookies: Sequence[str],
) -> None:
    """Call ``install`` with each server that this process creates from now on, and its absolute URL or "".

    Servers sign tokens, with ``secret_key`` unless they have a key, which are valid for ``token_life``
    seconds. Tokens contain only these ``headers`` and ``cookies`` of a page's first request, since the page
    can read them. Explicit options of a server take precedence. A second call replaces the first.
    """
    if not CHANGE.fits():
        return

    class Told(BokehTornado):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            if not kwargs.get("sign_sessions"):
                kwargs |= {"sign_sessions": True, "secret_key": kwargs.get("secret_key") or secret_key}
            if kwargs.get("session_token_expiration") in (None, DEFAULT_SESSION_TOKEN_EXPIRATION):
                kwargs["session_token_expiration"] = token_life
            for kind, read in (("headers", headers), ("cookies", cookies)):
                if not kwargs.get(f"include_{kind}") and not kwargs.get(f"exclude_{kind}"):
                    kwargs[f"include_{kind}"] = list(read)
            super().__init__(*args, **kwargs)
            install(self, kwargs.get("absolute_url") or "")

    # under the name by which servers find it
    bokeh_server.BokehTornado = Told  # pyright: ignore[reportPrivateImportUsage]
