"""Access control: which requests are answered, and what the visitor's page may use.

By default, only visitors on this machine who address it by one of its own names are answered. A public server
answers everybody. A proxy that authenticates its one user acts for that user. The server recognizes the proxy
by its name (``--trusted-proxy``), or by a secret key (``SOLVERSCOPE_PROXY_KEY``).
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
    """The rights of a visitor's page, in addition to the data sets that the server lists.

    Attributes
    ----------
    own : bool
        Whether it may use files that the visitor drops on it, and loops in the visitor's programs.
    no_sweeps : str
        Why it may not run sweeps, on processes of this machine or on Dask; "" if it may.
    schedulers : tuple of str
        URLs of the Dask schedulers that it may use.
    at : str
        The URL at which programs reach the page, if the browser uses that of a proxy; otherwise "".
    """

    own: bool = True
    no_sweeps: str = ""
    schedulers: tuple[str, ...] = ()
    at: str = ""


#: The rights of a visitor of this machine, if no scheduler was named.
LOCAL_RIGHTS = Rights()


def rights(peer: str | None, headers: Mapping[str, str], serving: Serving) -> Rights:
    """Return the rights of the sender of a request that :func:`refusal` has admitted."""
    # of a server with a key whoever was answered has shown it: they need not keep it
    own = bool(serving.key) or from_here(peer, headers) or _by_trusted_proxy(peer, headers, serving)
    no_sweeps = PUBLIC_SWEEPS if serving.public and not serving.key else "" if own else SWEEPS_HERE
    return Rights(own, no_sweeps, () if no_sweeps else serving.schedulers)


def refusal(
    peer: str | None, headers: Mapping[str, str], serving: Serving, *, of_program: bool = False
) -> str | None:
    """Return why a request is refused; return None if it is answered.

    A page of another site can make a browser on this machine send requests here. They are refused because of
    their Host if it is the site's name, and otherwise because of their Origin, if they have one. Another user
    of this machine can send any Host, but does not know the key. If a server has a key, it is checked instead
    of the Host.

    Parameters
    ----------
    peer : str or None
        The IP address of the sender.
    headers : mapping
        The headers: ``Host`` is the name by which the server is addressed, and ``Origin`` the page that sends
        the request.
    serving : Serving
        The options of the server.
    of_program : bool
        Whether the endpoint is for programs, which send the token of an open page and use no proxy.
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
    """Respond with a status and a sentence."""
    handler.set_status(status)
    handler.set_header("Content-Type", "text/plain; charset=utf-8")
    handler.finish(f"{sentence}\n")


def from_here(peer: str | None, headers: Mapping[str, str]) -> bool:
    """Return whether a request comes from this machine, without a proxy."""
    return _is_here(peer) and _calls_directly(headers, PASSED_ON)


def is_direct(headers: Mapping[str, str]) -> bool:
    """Return whether programs on the visitor's machine can use the same URL as the visitor's browser."""
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
    """Return a ``Host`` in lower case, without its port and without a trailing dot."""
    name, colon, port = (host or "").lower().rpartition(":")
    return (name if colon and port.isdigit() else (host or "").lower()).removesuffix(".")
