"""Options of the server: arguments after ``--args`` of ``panel serve app``, and the key of its proxy."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import psutil

PUBLIC_FLAG = "--public"
HOST_FLAG = "--host"
PLUGIN_FLAG = "--plugin"
MEMORY_FLAG = "--memory"
DATA_FLAG = "--data"
SCHEDULER_FLAG = "--scheduler"
TRUSTED_PROXY_FLAG = "--trusted-proxy"
#: The variable with the key of the proxy that starts the server, and the header by which the proxy shows it.
PROXY_KEY_VARIABLE, PROXY_KEY_HEADER = "SOLVERSCOPE_PROXY_KEY", "X-Solverscope-Key"

#: Memory a server may use by default: half of what the machine has, and at most so much.
USUAL_MEMORY = 8 << 30
#: How the address of a Dask scheduler is written.
ADDRESS = re.compile(r"(?:tcp|tls|wss?)://[^\s/]+:\d{1,5}")
#: How a host is written without its port.
HOST_NAME = re.compile(r"[^\s/:@\[\]]+|\[[\da-f:.]+\]", re.IGNORECASE)
SIZE_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class Serving:
    """The options with which a server was started.

    Attributes
    ----------
    public : bool
        Whether everybody is admitted.
    hosts : tuple of str
        Names of the server in addition to those of this machine.
    plugins, data : tuple of str
        Files of plug-ins and data.
    memory : int
        Limit on the memory, in bytes.
    schedulers : tuple of str
        URLs of Dask schedulers for visitors' sweeps.
    proxies : tuple of str
        Names of proxies that admit only the user who started the server.
    key : str
        If not empty, only the proxy that has this key is answered.
    """

    public: bool = False
    hosts: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    memory: int = USUAL_MEMORY
    data: tuple[str, ...] = ()
    schedulers: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    key: str = field(default="", repr=False)

    @classmethod
    def from_arguments(cls, arguments: Sequence[str] | None = None) -> Serving:
        """Parse the arguments of the server's command line or script, by default those of this process.

        Raises ValueError if a size of memory, a URL or a name is invalid.
        """
        given = list(sys.argv[1:] if arguments is None else arguments)
        if "--args" in given:
            given = given[given.index("--args") + 1 :]

        def values(flag: str) -> tuple[str, ...]:
            after = (value for word, value in pairwise(given) if word == flag)
            joined = (word.partition("=")[2] for word in given if word.startswith(f"{flag}="))
            return (*after, *joined)

        sizes = values(MEMORY_FLAG)
        memory = size(sizes[-1]) if sizes else min(USUAL_MEMORY, psutil.virtual_memory().total // 2)
        return cls(
            public=PUBLIC_FLAG in given,
            hosts=tuple(name(HOST_FLAG, value) for value in values(HOST_FLAG)),
            plugins=values(PLUGIN_FLAG),
            memory=memory,
            data=values(DATA_FLAG),
            schedulers=tuple(map(address, values(SCHEDULER_FLAG))),
            proxies=tuple(name(TRUSTED_PROXY_FLAG, value) for value in values(TRUSTED_PROXY_FLAG)),
            key=os.environ.get(PROXY_KEY_VARIABLE, "").strip(),
        )


def size(text: str) -> int:
    """Parse a size in bytes, such as 8G. Raises ValueError if it is invalid or too small."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) *([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    amount = float(match[1]) * SIZE_UNITS[match[2].upper()] if match else 0.0
    if not 64 * SIZE_UNITS["M"] <= amount <= 1024 * SIZE_UNITS["T"]:
        raise ValueError(f"{MEMORY_FLAG} {text!r} is not possible: give a size from 64M on, such as 8G")
    return int(amount)


def address(text: str) -> str:
    """Return the URL of a Dask scheduler. Raises ValueError if it is invalid."""
    if not ADDRESS.fullmatch(text.strip()):
        raise ValueError(
            f"{SCHEDULER_FLAG} {text!r} is not possible: give an address such as tcp://127.0.0.1:8786"
        )
    return text.strip()


def name(flag: str, text: str) -> str:
    """Return the name of a host in lower case. Raises ValueError if it contains a port or a path."""
    if not HOST_NAME.fullmatch(text.strip()):
        raise ValueError(
            f"{flag} {text!r} is not possible: give a name alone, such as scope.example, without port or path"
        )
    return text.strip().lower().removesuffix(".")
