"""Access control: whose requests are answered, and what their pages may reach.

By default those are visitors of this machine who call it by a name of its own. A server for the public
answers everybody. A proxy that authenticates its one user brings that user. The server knows the proxy by
its name (``--trusted-proxy``) or by a key that nobody else has (``SOLVERSCOPE_PROXY_KEY``).
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tornado.httputil import HTTPHeaders
from tornado.web import RequestHandler

from solverscope.app.serving.serve_options import HOST_FLAG, PROXY_KEY_HEADER, PUBLIC_FLAG, Serving

#: Names of this machine. Another site can make its own name resolve to this machine (DNS rebinding), and so
#: read what is served here. It cannot take one of these names.
OWN_NAMES = ("localhost", "127.0.0.1", "[::1]")
#: Headers in which a proxy names the origin of a request.
PASSED_ON = ("Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via")
#: Header in which jupyter-server-proxy names the path below which it serves a page.
PREFIX = "X-Forwarded-Prefix"
#: The cookie that ``assets/page.html`` writes, for light or dark.
THEME_COOKIE = "solverscope-theme"
#: The headers and cookies of a page's first request that are read later.
HEADERS_READ, COOKIES_READ = ("Host", "User-Agent", PREFIX, *PASSED_ON), (THEME_COOKIE,)
#: Reasons why a visitor can run no sweeps.
PUBLIC_SWEEPS = "a server for the public runs no sweeps: start your own with `solverscope serve`"
SWEEPS_HERE = "sweeps are run by visitors of this machine only: start your own with `solverscope serve`"
#: The answer of a server with a key to requests that do not come by its proxy.
WITHOUT_KEY = (
    "This Solverscope answers only the proxy that started it: open it there, such as by its tile in Jupyter."
)


@dataclass(frozen=True)
class Rights:
    """The rights of a visitor's page besides the data sets that the server lists.

    With ``own``, it may reach files that visitors drop on it and loops of their programs. Unless
    ``no_sweeps`` says why not, it may reach processes of this machine, and the Dask ``schedulers`` named when
    the server was started. If the address in the browser is a proxy's, their programs find the page ``at``
    another one.
    """

    own: bool = True
    no_sweeps: str = ""
    schedulers: tuple[str, ...] = ()
    at: str = ""


#: The rights of a visitor of this machine, if no scheduler was named.
LOCAL_RIGHTS = Rights()


def rights(peer: str | None, headers: Mapping[str, str], serving: Serving) -> Rights:
    """Return the rights of the sender of this request, which :func:`refusal` has let pass."""
    # of a server with a key whoever was answered has shown it: they need not keep it
    own = bool(serving.key) or from_here(peer, headers) or _by_trusted_proxy(peer, headers, serving)
    no_sweeps = PUBLIC_SWEEPS if serving.public and not serving.key else "" if own else SWEEPS_HERE
    return Rights(own, no_sweeps, () if no_sweeps else serving.schedulers)


def refusal(
    peer: str | None, headers: Mapping[str, str], serving: Serving, *, of_program: bool = False
) -> str | None:
    """Return why a request is refused, in a sentence; None if it is answered.

    A page of another site can make a browser of this machine send requests here. Under the site's own name
    they are refused by their Host, under a name of this machine by their Origin, if they have one. Another
    user of this machine can send any Host, but cannot know the key. If a server has a key, it replaces the
    Host.

    Parameters
    ----------
    peer : str or None
        The address that the request comes from.
    headers : mapping
        Its headers: ``Host`` is what it calls this server, and ``Origin`` the page that makes it.
    serving : Serving
        How the server was started.
    of_program : bool
        Whether it is for a program, which has a token of an open page and comes by no proxy.
    """
    headers = HTTPHeaders(headers)
    host, origin = headers.get("Host"), headers.get("Origin")
    keyed = bool(serving.key) and not of_program
    if serving.public and not serving.key:
        return None
    if not _is_here(peer):
        return (
            "This Solverscope serves only the machine it runs on: "
            f"start it with `panel serve app --args {PUBLIC_FLAG}` to let others in."
        )
    if keyed and not hmac.compare_digest(headers.get(PROXY_KEY_HEADER, "").encode(), serving.key.encode()):
        return WITHOUT_KEY
    known = dict.fromkeys((*OWN_NAMES, *serving.hosts, *serving.proxies))
    if not keyed and _name(host) not in known:
        *others, last = known
        return (
            f"This Solverscope answers to {', '.join(others)} and {last} only: "
            f"start it with `panel serve app --args {HOST_FLAG} NAME` to use another name."
        )
    if origin is not None and _name(origin.partition("://")[2]) != _name(host):
        return (
            "This Solverscope answers its own page only, not those of other sites: open it at localhost, and "
            "let a program that passes requests on leave their Host as it is."
        )
    return None


def refuse(handler: RequestHandler, status: int, sentence: str) -> None:
    """Answer with a sentence alone."""
    handler.set_status(status)
    handler.set_header("Content-Type", "text/plain; charset=utf-8")
    handler.finish(f"{sentence}\n")


def from_here(peer: str | None, headers: Mapping[str, str]) -> bool:
    """Return whether a request comes from this machine itself, and by no proxy on it."""
    return _is_here(peer) and _calls_directly(headers, PASSED_ON)


def is_direct(headers: Mapping[str, str]) -> bool:
    """Return whether the address in a visitor's browser is the one that programs of the same machine use."""
    return _calls_directly(headers, (PREFIX, *PASSED_ON))


def _calls_directly(headers: Mapping[str, str], added: Sequence[str]) -> bool:
    headers = HTTPHeaders(headers)
    return _name(headers.get("Host")) in OWN_NAMES and not any(headers.get(name) for name in added)


def _by_trusted_proxy(peer: str | None, headers: Mapping[str, str], serving: Serving) -> bool:
    return _is_here(peer) and _name(HTTPHeaders(headers).get("Host")) in serving.proxies


def _is_here(peer: str | None) -> bool:
    try:
        address = ipaddress.ip_address((peer or "").partition("%")[0])
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _name(host: str | None) -> str:
    """Return a ``Host`` without its port and the dot that ends a full name, in lower case."""
    name, colon, port = (host or "").lower().rpartition(":")
    return (name if colon and port.isdigit() else (host or "").lower()).removesuffix(".")
