"""Whose run it is: a process, told from a later one with the same number, and whether it is still there."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

#: Seconds without a sign of life after which a process is taken for gone where it cannot be looked for.
SILENCE = 30.0
_PROC = Path("/proc")


@dataclass(frozen=True)
class Owner:
    """A process: its number, the machine since its start (``place``; empty where that is not known), and
    when it was started there."""

    pid: int
    place: str
    began: str

    def gone(self, silent: float) -> bool:
        """Tell whether the process has ended, ``silent`` seconds after its last sign of life. Where it is one
        of this machine's the system knows; elsewhere silence tells."""
        if self.place and self.place == this().place:
            return _began(self.pid) != self.began
        return silent > SILENCE


@cache
def _this(pid: int) -> Owner:
    return Owner(pid, _place(), _began(pid))


def this() -> Owner:
    """Return the process that asks, also after a fork."""
    return _this(os.getpid())


def _place() -> str:
    """Name the machine since it was started, and the part of it whose processes can be seen from here; empty
    where the system does not tell."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink(_PROC / 'self/ns/pid')}"
    except (OSError, ValueError):
        return ""


def _began(pid: int) -> str:
    """Return when a process was started, in the system's own count; empty where there is none."""
    try:
        about = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # the name of the program, in parentheses, may hold anything
    fields = re.sub(r".*\)", "", about, flags=re.DOTALL).split()
    return "" if fields[0] in "ZX" else fields[19]
