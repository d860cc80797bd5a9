"""Who may look, and what their pages may reach: visitors from this machine who call it by its own name, and
everybody once the server was started for the public."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass

from tornado.web import RequestHandler

from solverscope.app.serving.serve_options import HOST, PUBLIC, Serving

#: What this machine is called by itself. A page of somebody else's can make its own name mean this machine
#: (DNS rebinding), and so read what is served here, but it cannot take one of these.
OWN_NAMES = ("localhost", "127.0.0.1", "[::1]")
#: What a program that passes requests on says of where they come from.
PASSED_ON = ("Forwarded", "X-Forwarded-For", "X-Real-IP", "Via")
#: Why a visitor can run no sweeps.
PUBLIC_SWEEPS = "a server for the public runs no sweeps: start your own with `solverscope serve`"
SWEEPS_HERE = "sweeps are run by visitors of this machine only: start your own with `solverscope serve`"


@dataclass(frozen=True)
class Rights:
    """What a visitor's page may reach besides the data sets that the server lists: what is their ``own``,
    which are files that they drop on it and loops of their programs, and, unless ``no_sweeps`` says why not,
    processes of this machine and the Dask ``schedulers`` that were named when the server was started."""

    own: bool = True
    no_sweeps: str = ""
    schedulers: tuple[str, ...] = ()


#: Those of whoever is at this machine, where no scheduler was named.
HERE = Rights()


def rights(peer: str | None, headers: Mapping[str, str], serving: Serving) -> Rights:
    """Return what whoever makes this request may reach."""
    here = from_here(peer, headers)
    no_sweeps = PUBLIC_SWEEPS if serving.public else "" if here else SWEEPS_HERE
    return Rights(here, no_sweeps, () if no_sweeps else serving.schedulers)


def refusal(peer: str | None, host: str | None, serving: Serving, origin: str | None = None) -> str | None:
    """Return the sentence for a request that is not answered; None if it is.

    ``peer`` is the address it comes from, ``host`` what it calls this server (its ``Host``), and ``origin``,
    where it has one, the page that makes it.
    """
    if serving.public:
        return None
    if not _is_here(peer):
        return (
            "This Solverscope serves only the machine it runs on: "
            f"start it with `panel serve app --args {PUBLIC}` to let others in."
        )
    known = {*OWN_NAMES, *serving.hosts}
    if _name(host) not in known:
        return (
            "This Solverscope answers to localhost and 127.0.0.1 only: "
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
    return (
        _is_here(peer)
        and _name(headers.get("Host")) in OWN_NAMES
        and not any(headers.get(name) for name in PASSED_ON)
    )


def _is_here(peer: str | None) -> bool:
    try:
        address = ipaddress.ip_address((peer or "").partition("%")[0])
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _name(host: str | None) -> str:
    """Return a ``Host`` without its port, in lower case."""
    name, colon, port = (host or "").lower().rpartition(":")
    return name if colon and port.isdigit() else (host or "").lower()
