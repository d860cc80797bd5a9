"""The process that owns a run, told from a later process with the same number, and locks on files that end
with the process that holds them."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

import psutil

#: Seconds without a sign of life after which a process is taken for gone where it cannot be looked for.
SILENCE = 30.0


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
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except (OSError, ValueError):
        return ""


def _began(pid: int) -> str:
    """Return when a process was started, in seconds since the machine was; empty if it has ended."""
    try:
        process = psutil.Process(pid)
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return ""
        # setting the clock moves both times alike, and leaves their difference
        return f"{process.create_time() - psutil.boot_time():.2f}"
    except psutil.NoSuchProcess:
        return ""


def hold(file: IO[bytes]) -> bool:
    """Hold a file until it is closed, which the system does at the end of its process, however that comes;
    False where somebody else holds it."""
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            raise
        return False
    return True
