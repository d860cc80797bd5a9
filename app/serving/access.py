"""Who is answered, and what their pages may reach.

By default those are visitors of this machine who call it by a name of its own. A server for the public
answers everybody. A proxy that authenticates its one user brings that user, either by the name that the
server was given (``--trusted-proxy``) or by a key that nobody else has (``SOLVERSCOPE_PROXY_KEY``).
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tornado.httputil import HTTPHeaders
from tornado.web import RequestHandler

from solverscope.app.serving.serve_options import HOST, KEY_HEADER, PUBLIC, Serving

#: What this machine is called by itself. A page of somebody else's can make its own name mean this machine
#: (DNS rebinding), and so read what is served here, but it cannot take one of these.
OWN_NAMES = ("localhost", "127.0.0.1", "[::1]")
#: What a program that passes requests on says of where they come from.
PASSED_ON = ("Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via")
#: What jupyter-server-proxy says of the path below which it serves a page.
PREFIX = "X-Forwarded-Prefix"
#: The cookie that ``assets/page.html`` writes, for light or dark.
THEME_COOKIE = "solverscope-theme"
#: The headers and cookies of a page's first request that are read later.
HEADERS_READ, COOKIES_READ = ("Host", "User-Agent", PREFIX, *PASSED_ON), (THEME_COOKIE,)
#: Why a visitor can run no sweeps.
PUBLIC_SWEEPS = "a server for the public runs no sweeps: start your own with `solverscope serve`"
SWEEPS_HERE = "sweeps are run by visitors of this machine only: start your own with `solverscope serve`"
#: What is answered to who comes to a server with a key, and not by its proxy.
WITHOUT_KEY = (
    "This Solverscope answers only the proxy that started it: open it there, such as by its tile in Jupyter."
)


@dataclass(frozen=True)
class Rights:
    """What a visitor's page may reach besides the data sets that the server lists: what is their ``own``,
    which are files that they drop on it and loops of their programs, and, unless ``no_sweeps`` says why not,
    processes of this machine and the Dask ``schedulers`` that were named when the server was started. Their
    programs find the page ``at`` an address of its own where the one in the browser is that of a proxy."""

    own: bool = True
    no_sweeps: str = ""
    schedulers: tuple[str, ...] = ()
    at: str = ""


#: Those of whoever is at this machine, where no scheduler was named.
HERE = Rights()


def rights(peer: str | None, headers: Mapping[str, str], serving: Serving) -> Rights:
    """Return what whoever makes this request, which :func:`refusal` lets pass, may reach."""
    # of a server with a key whoever was answered has shown it: they need not keep it
    own = bool(serving.key) or from_here(peer, headers) or _by_trusted_proxy(peer, headers, serving)
    no_sweeps = PUBLIC_SWEEPS if serving.public and not serving.key else "" if own else SWEEPS_HERE
    return Rights(own, no_sweeps, () if no_sweeps else serving.schedulers)


def refusal(
    peer: str | None, headers: Mapping[str, str], serving: Serving, *, of_program: bool = False
) -> str | None:
    """Return the sentence for a request that is not answered; None if it is.

    A page of another site can make a browser of this machine send requests here, but cannot take a name of
    this machine or of a proxy as its own: against it the Host is enough. Another user of this machine can
    send any Host, but cannot know the key: where a server has one, the key replaces the Host.

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
            f"start it with `panel serve app --args {PUBLIC}` to let others in."
        )
    if keyed and not hmac.compare_digest(headers.get(KEY_HEADER, "").encode(), serving.key.encode()):
        return WITHOUT_KEY
    known = dict.fromkeys((*OWN_NAMES, *serving.hosts, *serving.proxies))
    if not keyed and _name(host) not in known:
        *others, last = known
        return (
            f"This Solverscope answers to {', '.join(others)} and {last} only: "
            f"start it with `panel serve app --args {HOST} NAME` to use another name."
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
    """Tell whether a request comes from this machine itself, and not by way of a program on it that passes on
    those of others."""
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
