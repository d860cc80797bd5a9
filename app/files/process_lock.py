"""Identities of processes, which stay unique if a process id is reused, and file locks released at process
exit."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

import psutil

#: Seconds without a sign of life after which a process on another machine is considered to have ended.
SILENCE_SECONDS = 30.0


@dataclass(frozen=True)
class ProcessIdentity:
    """A process: its process id, the boot of its machine (``place``; empty if unknown), and its
    start time."""

    pid: int
    place: str
    began: str

    def gone(self, silent: float) -> bool:
        """Return whether the process has ended, ``silent`` seconds after its last sign of life.

        On this machine, the operating system is asked. On another machine, it has ended if it was silent for
        long.
        """
        if self.place and self.place == current_process().place:
            return _began(self.pid) != self.began
        return silent > SILENCE_SECONDS


@cache
def _this(pid: int) -> ProcessIdentity:
    return ProcessIdentity(pid, _place(), _began(pid))


def current_process() -> ProcessIdentity:
    """Return the identity of this process, which differs after a fork."""
    return _this(os.getpid())


def _place() -> str:
    """Return ids of the machine's boot and of the process namespace; empty if they are unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except (OSError, ValueError):
        return ""


def _began(pid: int) -> str:
    """Return the start time of a process in seconds since boot; empty if it has ended."""
    try:
        process = psutil.Process(pid)
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return ""
        # setting the clock moves both times alike, and leaves their difference
        return f"{process.create_time() - psutil.boot_time():.2f}"
    except psutil.NoSuchProcess:
        return ""


def try_lock(file: IO[bytes]) -> bool:
    """Lock a file until it is closed; return False if another process has locked it.

    The operating system releases the lock at the end of this process, even after a crash.
    """
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
