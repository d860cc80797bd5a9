"""Who may look: visitors from this machine, and everybody once the server was started for the public."""

from __future__ import annotations

import ipaddress
import sys

#: Given after ``--args`` to ``panel serve``.
PUBLIC = "--public"


def is_public() -> bool:
    """Whether the server was started for everybody."""
    return PUBLIC in sys.argv


def refusal(peer: str | None, public: bool) -> str | None:
    """The sentence shown to a visitor with address ``peer`` who may not look; None if they may."""
    if public:
        return None
    try:
        address = ipaddress.ip_address((peer or "").partition("%")[0])
    except ValueError:
        address = None
    if address is not None:
        mapped = getattr(address, "ipv4_mapped", None)
        if (mapped or address).is_loopback:
            return None
    return (
        "This Solverscope serves only the machine it runs on: "
        f"start it with `panel serve app --args {PUBLIC}` to let others in."
    )


def plugin_files() -> list[str]:
    """Files named by ``--plugin`` after ``--args``."""
    return [file for flag, file in zip(sys.argv, sys.argv[1:], strict=False) if flag == "--plugin"]
