"""How the server was started: what stands after ``--args`` of ``panel serve app``."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import psutil

PUBLIC, HOST, PLUGIN, MEMORY, DATA = "--public", "--host", "--plugin", "--memory", "--data"
SCHEDULER = "--scheduler"

#: Memory a server may use by default: half of what the machine has, and at most so much.
USUAL_MEMORY = 8 << 30
#: How the address of a Dask scheduler is written.
ADDRESS = re.compile(r"(?:tcp|tls|wss?)://[^\s/]+:\d{1,5}")
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class Serving:
    """Whether everybody may look, under which names the server is known besides those of this machine, plugin
    files, bytes of memory it may use, files of data it offers, and Dask schedulers on which its visitors may
    run sweeps."""

    public: bool = False
    hosts: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    memory: int = USUAL_MEMORY
    data: tuple[str, ...] = ()
    schedulers: tuple[str, ...] = ()

    @classmethod
    def from_arguments(cls, arguments: Sequence[str] | None = None) -> Serving:
        """Read the arguments of the server's command line or of its script (default: this process's).

        Raises ValueError, one sentence, where a size of memory or an address cannot be read.
        """
        given = list(sys.argv[1:] if arguments is None else arguments)
        if "--args" in given:
            given = given[given.index("--args") + 1 :]

        def values(flag: str) -> tuple[str, ...]:
            after = (value for name, value in pairwise(given) if name == flag)
            joined = (word.partition("=")[2] for word in given if word.startswith(f"{flag}="))
            return (*after, *joined)

        sizes = values(MEMORY)
        memory = size(sizes[-1]) if sizes else min(USUAL_MEMORY, psutil.virtual_memory().total // 2)
        hosts = tuple(map(str.lower, values(HOST)))
        schedulers = tuple(map(address, values(SCHEDULER)))
        return cls(PUBLIC in given, hosts, values(PLUGIN), memory, values(DATA), schedulers)


def size(text: str) -> int:
    """Parse a number of bytes with K, M, G or T after it; ValueError, one sentence, for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) *([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    amount = float(match[1]) * UNITS[match[2].upper()] if match else 0.0
    if not 64 * UNITS["M"] <= amount <= 1024 * UNITS["T"]:
        raise ValueError(f"{MEMORY} {text!r} is not possible: give a size from 64M on, such as 8G")
    return int(amount)


def address(text: str) -> str:
    """Return the address of a Dask scheduler; ValueError, one sentence, for what is none."""
    if not ADDRESS.fullmatch(text.strip()):
        raise ValueError(
            f"{SCHEDULER} {text!r} is not possible: give an address such as tcp://127.0.0.1:8786"
        )
    return text.strip()
